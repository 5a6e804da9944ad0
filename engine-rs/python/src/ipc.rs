//! Arrow IPC stream bytes → record batches.
//!
//! The bytes come from outside: before the library's reader sees them, all lengths that they state are compared with
//! the size of the body, so that a damaged or hostile body cannot request memory out of proportion. Panics of the
//! library become errors and do not end the process.

use std::io::Cursor;
use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use arrow_ipc::{CompressionType, Field, Message, MessageHeader, root_as_message};
use arrow_schema::ArrowError;
use whorl_engine::EngineError;

use crate::lz4;

/// Limits on the uncompressed size of buffers: a fixed amount for any body, and more for each of its bytes.
const EXPANDED_FREE: u64 = 32 << 20;
const EXPANDED_PER_BYTE: u64 = 16;
/// The maximum number of rows in a body: a row costs the engine hundreds of bytes, however well it is compressed.
const ROWS_FREE: u64 = 65_536;
const ROWS_PER_BYTE: u64 = 1;
/// The maximum number of values in all columns, including nested ones: a null column has no bytes.
const VALUES_FREE: u64 = 1 << 20;
const VALUES_PER_BYTE: u64 = 8;
/// The maximum number of columns, including all fields inside them.
const FIELDS_MAX: usize = 1024;
/// The maximum nesting of fields.
const FIELD_DEPTH_MAX: usize = 16;
const CONTINUATION: [u8; 4] = [0xFF; 4];
const FILE_MAGIC: &[u8] = b"ARROW1";

/// Reads all batches, and passes each on.
pub fn each_batch(
    body: &[u8],
    mut take: impl FnMut(&RecordBatch) -> Result<(), EngineError>,
) -> Result<(), EngineError> {
    check(body)?;
    let read = AssertUnwindSafe(|| -> Result<Result<(), EngineError>, ArrowError> {
        for batch in StreamReader::try_new(Cursor::new(body), None)? {
            if let Err(error) = take(&batch?) {
                return Ok(Err(error));
            }
        }
        Ok(Ok(()))
    });
    match catch_unwind(read) {
        Ok(Ok(taken)) => taken,
        Ok(Err(error)) => Err(unreadable(error.to_string())),
        Err(_) => Err(unreadable(String::from("the reader of Arrow data failed on it"))),
    }
}

fn unreadable(reason: String) -> EngineError {
    EngineError::BadColumns { reason: format!("the body is not an Arrow IPC stream: {reason}") }
}

/// Why a body is refused.
enum Refusal {
    /// It is not an Arrow stream.
    Unreadable(String),
    /// It is a stream that exceeds a limit.
    TooMuch(String),
}

impl From<String> for Refusal {
    fn from(reason: String) -> Self {
        Self::Unreadable(reason)
    }
}

impl From<Refusal> for EngineError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Unreadable(reason) => unreadable(reason),
            Refusal::TooMuch(reason) => Self::BadColumns { reason },
        }
    }
}

/// Walks over the messages of a stream up to its end marker.
fn check(body: &[u8]) -> Result<(), Refusal> {
    if body.starts_with(FILE_MAGIC) {
        let reason = "it is an Arrow file; write the stream format (pyarrow.ipc.new_stream)";
        return Err(Refusal::Unreadable(reason.to_owned()));
    }
    let (mut rest, mut claims) = (body, Claims::default());
    while let Some((message, content, after)) = next_message(rest)? {
        check_message(message, content, &mut claims)?;
        claims.check(body.len() as u64)?;
        rest = after;
    }
    Ok(())
}

/// The totals that the messages so far state. Sums saturate, because a stated size may be any number.
#[derive(Default)]
struct Claims {
    expanded: u64,
    rows: u64,
    values: u64,
    fields: u64,
}

impl Claims {
    /// Compares them with the limits of a body of this size.
    fn check(&self, bytes: u64) -> Result<(), Refusal> {
        let most = |free: u64, per_byte: u64| free.saturating_add(per_byte.saturating_mul(bytes));
        let unfolded_max = most(EXPANDED_FREE, EXPANDED_PER_BYTE);
        if self.expanded > unfolded_max {
            let reason = format!("the body expands to more than {} MiB; send smaller bodies", unfolded_max >> 20);
            return Err(Refusal::TooMuch(reason));
        }
        let counts = [
            ("rows", self.rows, most(ROWS_FREE, ROWS_PER_BYTE)),
            ("values", self.values, most(VALUES_FREE, VALUES_PER_BYTE)),
        ];
        match counts.into_iter().find(|(_, claimed, most)| claimed > most) {
            Some((what, claimed, most)) => Err(Refusal::TooMuch(format!(
                "the body has {claimed} {what} in {bytes} bytes; send at most {most} in a body of that size"
            ))),
            None => Ok(()),
        }
    }
}

type Parts<'a> = (&'a [u8], &'a [u8], &'a [u8]);

/// The metadata and the body of the next message, and the rest; `None` at the end marker.
fn next_message(bytes: &[u8]) -> Result<Option<Parts<'_>>, String> {
    let short = || String::from("it ends too early, or a length in it is wrong");
    let bytes = bytes.strip_prefix(&CONTINUATION).unwrap_or(bytes);
    let (length, rest) = bytes.split_first_chunk::<4>().ok_or_else(short)?;
    let length = u32::from_le_bytes(*length) as usize;
    if length == 0 {
        return Ok(None);
    }
    let (metadata, rest) = rest.split_at_checked(length).ok_or_else(short)?;
    let message = root_as_message(metadata).map_err(|error| format!("its metadata cannot be read ({error})"))?;
    let body_length = usize::try_from(message.bodyLength()).map_err(|_| short())?;
    let (content, rest) = rest.split_at_checked(body_length).ok_or_else(short)?;
    Ok(Some((metadata, content, rest)))
}

fn check_message(metadata: &[u8], content: &[u8], claims: &mut Claims) -> Result<(), Refusal> {
    let message = root_as_message(metadata).map_err(|error| error.to_string())?;
    let batch = match message.header_type() {
        MessageHeader::RecordBatch => message.header_as_record_batch(),
        MessageHeader::DictionaryBatch => message.header_as_dictionary_batch().and_then(|batch| batch.data()),
        MessageHeader::Schema => return check_schema(&message, claims),
        _ => return Err(String::from("it has a message that is neither schema nor data").into()),
    };
    let Some(batch) = batch else { return Err(String::from("a message has no content").into()) };
    let mut unfolded = content.len() as u64;
    for buffer in batch.buffers().into_iter().flatten() {
        let start = usize::try_from(buffer.offset()).ok();
        let end = usize::try_from(buffer.length()).ok().and_then(|length| start?.checked_add(length));
        let bytes = start.zip(end).and_then(|(start, end)| content.get(start..end));
        let bytes = bytes.ok_or_else(|| String::from("a buffer lies outside of its message"))?;
        if let Some(compression) = batch.compression() {
            unfolded = unfolded.saturating_add(unfolded_length(bytes, compression.codec()));
        }
    }
    // A null column has no bytes; in any other column, a row takes at least a bit.
    let rows = u64::try_from(batch.length()).unwrap_or(u64::MAX);
    if rows > unfolded.saturating_mul(8) {
        return Err(String::from("it claims more rows than it has data").into());
    }
    claims.rows = claims.rows.saturating_add(rows);
    claims.values = claims.values.saturating_add(rows.saturating_mul(claims.fields));
    claims.expanded = claims.expanded.saturating_add(unfolded);
    Ok(())
}

/// Counts the fields of a schema, level by level.
fn check_schema(message: &Message<'_>, claims: &mut Claims) -> Result<(), Refusal> {
    let schema = message.header_as_schema().ok_or_else(|| String::from("a message has no content"))?;
    let mut level: Vec<Field<'_>> = schema.fields().into_iter().flatten().collect();
    let (mut fields, mut depth) = (level.len(), 0);
    while !level.is_empty() && fields <= FIELDS_MAX && depth <= FIELD_DEPTH_MAX {
        level = level.iter().filter_map(Field::children).flatten().collect();
        (fields, depth) = (fields + level.len(), depth + 1);
    }
    if fields > FIELDS_MAX || depth > FIELD_DEPTH_MAX {
        let reason = format!(
            "the schema has more than {FIELDS_MAX} columns and fields, or nests them more than {FIELD_DEPTH_MAX} deep"
        );
        return Err(Refusal::TooMuch(reason));
    }
    claims.fields = claims.fields.max(fields as u64);
    Ok(())
}

/// The uncompressed size that a compressed buffer states. The library limits zstd to the stated length, but
/// decompresses lz4 to its end.
fn unfolded_length(bytes: &[u8], codec: CompressionType) -> u64 {
    let stated = stated_length(bytes);
    if codec == CompressionType::LZ4_FRAME && stated != 0 {
        return stated.max(lz4::unfolds_to(bytes.get(8..).unwrap_or_default()));
    }
    stated
}

/// A compressed buffer begins with its uncompressed length; −1 means that it is not compressed.
fn stated_length(bytes: &[u8]) -> u64 {
    let stated = bytes.first_chunk::<8>().map_or(0, |length| i64::from_le_bytes(*length));
    u64::try_from(stated).unwrap_or(if stated == -1 { 0 } else { u64::MAX })
}
