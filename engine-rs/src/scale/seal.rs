//! The header of a snapshot of one part: identifies the part and detects damage.
//!
//! ```text
//!   magic · format · release · fingerprint · part · length · checksum · payload
//! ```

use super::query::{FORMAT, ScaledQuery};
use crate::codec::{Damaged, Reader, Writer, checksum, ensure};
use crate::error::EngineError;

const MAGIC: u64 = u64::from_le_bytes(*b"WHORLPRT");
const RELEASE: &str = env!("CARGO_PKG_VERSION");

/// The part of a query that a snapshot contains.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Owner {
    Partition(u32),
    Merge,
}

impl Owner {
    fn number(self) -> u64 {
        match self {
            Self::Partition(partition) => u64::from(partition),
            Self::Merge => u64::MAX,
        }
    }

    fn name(number: u64) -> String {
        if number == u64::MAX { String::from("the merge") } else { format!("partition {number}") }
    }
}

pub(super) fn sealed(query: &ScaledQuery, owner: Owner, payload: &[u8]) -> Vec<u8> {
    let mut to = Writer::default();
    to.u64(MAGIC);
    to.u32(FORMAT);
    to.text(RELEASE);
    to.text(&query.fingerprint());
    to.u64(owner.number());
    to.u64(checksum(payload));
    to.blob(payload);
    to.into_bytes()
}

pub(super) fn opened<'a>(query: &ScaledQuery, owner: Owner, bytes: &'a [u8]) -> Result<&'a [u8], EngineError> {
    let mut from = Reader::new(bytes);
    ensure(from.u64()? == MAGIC, "it does not start like a snapshot of a partition")?;
    let format = from.u32()?;
    if format != FORMAT {
        let reason = format!("its format is {format}, and this release reads {FORMAT}");
        return Err(EngineError::SnapshotVersion { reason });
    }
    let release = from.text()?;
    if release != RELEASE {
        let reason = format!("release {release} wrote it, and this is release {RELEASE}");
        return Err(EngineError::SnapshotVersion { reason });
    }
    let (fingerprint, number) = (from.text()?, from.u64()?);
    if fingerprint != query.fingerprint() {
        let reason = String::from("the query, its options, its streams or the number of partitions have changed");
        return Err(EngineError::SnapshotQuery { reason });
    }
    if number != owner.number() {
        let reason = format!("it belongs to {}, not to {}", Owner::name(number), Owner::name(owner.number()));
        return Err(EngineError::SnapshotQuery { reason });
    }
    let sum = from.u64()?;
    let payload = from.blob()?;
    from.end()?;
    if checksum(payload) != sum {
        return Err(Damaged { what: "its checksum is wrong" }.into());
    }
    Ok(payload)
}
