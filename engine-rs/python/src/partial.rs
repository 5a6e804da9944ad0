//! Results between partitions and the merge, and results of the merge: Arrow IPC streams.
//!
//! Columns: `seq` (final results only), `at`, `open`, `close` of the first window, `windows` with the bounds of all
//! windows as JSON, `sign`, then a text column per variable, in N-Triples syntax. A result without rows is one row with
//! sign 0.

use std::sync::Arc;

use arrow_array::builder::{Int8Builder, Int64Builder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int8Type, Int64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{IpcWriteOptions, StreamWriter};
use arrow_schema::{DataType, Field, Schema};
use whorl_engine::{EngineError, Reported, ReportedRow, ScaledQuery, Timestamp, WindowBounds, windows_json};

use crate::ipc;

/// Whose results they are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Columns {
    Partial,
    Final,
}

const COMPRESSED_BYTES_MAX: usize = 256 << 20;

/// Columns before those of the variables.
const FIXED: [&str; 5] = ["at", "open", "close", "windows", "sign"];

pub fn write_answers(query: &ScaledQuery, reported: &[Reported], columns: Columns) -> Result<Vec<u8>, String> {
    let variables = match columns {
        Columns::Partial => query.partial_variables(),
        Columns::Final => query.variables(),
    };
    let batch = batch_of(query, reported, variables, columns).map_err(|error| error.to_string())?;
    let mut bytes = Vec::new();
    // The rows of one report are similar, so they compress well. Very large bodies are not compressed, because the
    // reader would refuse them (`ipc.rs`).
    let is_compressed = batch.get_array_memory_size() <= COMPRESSED_BYTES_MAX;
    let mut write = || {
        let compression = is_compressed.then_some(CompressionType::LZ4_FRAME);
        let options = IpcWriteOptions::default().try_with_compression(compression)?;
        let mut writer = StreamWriter::try_new_with_options(&mut bytes, batch.schema_ref(), options)?;
        writer.write(&batch)?;
        writer.finish()
    };
    write().map_err(|error: arrow_schema::ArrowError| error.to_string())?;
    Ok(bytes)
}

fn batch_of(
    query: &ScaledQuery,
    reported: &[Reported],
    variables: &[String],
    columns: Columns,
) -> Result<RecordBatch, arrow_schema::ArrowError> {
    let names: Vec<&str> = query.windows().collect();
    let nothing = [ReportedRow { sign: 0, cells: vec![None; variables.len()] }];
    let (mut seqs, mut ats, mut opens, mut closes) =
        (Int64Builder::new(), Int64Builder::new(), Int64Builder::new(), Int64Builder::new());
    let (mut windows, mut signs) = (StringBuilder::new(), Int8Builder::new());
    let mut cells: Vec<StringBuilder> = variables.iter().map(|_| StringBuilder::new()).collect();
    for answer in reported {
        let bounds = windows_json(&names, &answer.windows);
        let first = answer.windows.first();
        let rows = if answer.rows.is_empty() { nothing.as_slice() } else { &answer.rows };
        for row in rows {
            seqs.append_value(i64::try_from(answer.seq).unwrap_or(i64::MAX));
            ats.append_value(answer.at.as_millis());
            opens.append_option(known(first.map(|window| window.open), Timestamp::MIN));
            closes.append_option(known(first.map(|window| window.close), Timestamp::MAX));
            windows.append_value(&bounds);
            signs.append_value(row.sign);
            cells.iter_mut().zip(&row.cells).for_each(|(column, cell)| column.append_option(cell.as_deref()));
        }
    }
    let mut fields = Vec::new();
    let mut arrays: Vec<ArrayRef> = Vec::new();
    let mut add = |name: &str, array: ArrayRef, nullable: bool| {
        fields.push(Field::new(name, array.data_type().clone(), nullable));
        arrays.push(array);
    };
    if columns == Columns::Final {
        add("seq", Arc::new(seqs.finish()), false);
    }
    add("at", Arc::new(ats.finish()), false);
    add("open", Arc::new(opens.finish()), true);
    add("close", Arc::new(closes.finish()), true);
    add("windows", Arc::new(windows.finish()), false);
    add("sign", Arc::new(signs.finish()), false);
    for (variable, mut column) in variables.iter().zip(cells) {
        add(variable, Arc::new(column.finish()), true);
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
}

/// The start or end of a window, if it has one.
fn known(at: Option<Timestamp>, unbounded: Timestamp) -> Option<i64> {
    at.filter(|at| *at != unbounded).map(Timestamp::as_millis)
}

/// The results that a partition drained.
pub fn read_answers(bytes: &[u8], query: &ScaledQuery) -> Result<Vec<Reported>, EngineError> {
    let mut reported: Vec<Reported> = Vec::new();
    ipc::each_batch(bytes, |batch| read_batch(batch, query, &mut reported))?;
    Ok(reported)
}

fn read_batch(batch: &RecordBatch, query: &ScaledQuery, reported: &mut Vec<Reported>) -> Result<(), EngineError> {
    check_schema(batch, query)?;
    let [ats, signs] = [0, 4].map(|at| batch.column(at));
    let (ats, signs) = (ats.as_primitive::<Int64Type>(), signs.as_primitive::<Int8Type>());
    let windows = batch.column(3).as_string::<i32>();
    let cells: Vec<_> = batch.columns()[FIXED.len()..].iter().map(|column| column.as_string::<i32>()).collect();
    let mut last: Option<&str> = None;
    for row in 0..batch.num_rows() {
        let (at, bounds, sign) = (Timestamp::from_millis(ats.value(row)), windows.value(row), signs.value(row));
        if reported.last().is_none_or(|answer| answer.at != at) || last != Some(bounds) {
            let bounds = read_windows(bounds)?;
            reported.push(Reported { seq: 0, at, windows: bounds, rows: vec![] });
            last = Some(windows.value(row));
        }
        if sign != 0
            && let Some(answer) = reported.last_mut()
        {
            let cell = |column: &&arrow_array::StringArray| column.is_valid(row).then(|| column.value(row).to_owned());
            answer.rows.push(ReportedRow { sign, cells: cells.iter().map(cell).collect() });
        }
    }
    Ok(())
}

fn check_schema(batch: &RecordBatch, query: &ScaledQuery) -> Result<(), EngineError> {
    let fixed = [DataType::Int64, DataType::Int64, DataType::Int64, DataType::Utf8, DataType::Int8];
    let wanted: Vec<(&str, &DataType)> = FIXED
        .iter()
        .copied()
        .zip(&fixed)
        .chain(query.partial_variables().iter().map(|variable| (variable.as_str(), &DataType::Utf8)))
        .collect();
    let schema = batch.schema_ref();
    let given: Vec<(&str, &DataType)> =
        schema.fields().iter().map(|field| (field.name().as_str(), field.data_type())).collect();
    if given == wanted {
        return Ok(());
    }
    let names: Vec<&str> = given.iter().map(|(name, _)| *name).collect();
    Err(EngineError::PartialUnreadable { reason: format!("its columns are {}", names.join(", ")) })
}

fn read_windows(text: &str) -> Result<Vec<WindowBounds>, EngineError> {
    whorl_engine::read_windows_json(text)
        .ok_or_else(|| EngineError::PartialUnreadable { reason: format!("'{text}' says no bounds of windows") })
}
