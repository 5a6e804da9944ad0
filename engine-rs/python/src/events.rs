//! Record batches → events: triples in the columns `s`, `p`, `o`, or rows of a mapping.
//!
//! A body is read completely before any of it is pushed. With a mapping, each row is an event. With triples, each row
//! with a time is an event, unless the column `event` groups neighbouring rows; without a column of times, all rows are
//! one event.

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use whorl_engine::{AssumedZone, EngineError, EventBatch, RowMapper, RowMapping, TermId, Timestamp};

use crate::columns::{Column, Refusal, Times, names, objects, text_at, text_column, values};

/// Whether the data contains triples as they are.
pub fn has_triples(schema: &Schema) -> bool {
    ["s", "p", "o"].iter().all(|name| schema.column_with_name(name).is_some())
}

/// Collects the events of triples.
pub struct TripleReader {
    batch: EventBatch,
    /// The time of the data as a whole, which is then one event.
    at: Option<Timestamp>,
    zone: Option<AssumedZone>,
    /// The event being read: its number, its time and its name.
    current: Option<(u64, Option<Timestamp>, Option<String>)>,
    is_new_body: bool,
    /// The triple of the previous row.
    last: [TermId; 3],
}

impl TripleReader {
    pub fn new(at: Option<Timestamp>, zone: Option<AssumedZone>) -> Self {
        Self { batch: EventBatch::new(), at, zone, current: None, is_new_body: false, last: [TermId::UNBOUND; 3] }
    }

    pub fn add(&mut self, data: &RecordBatch) -> Result<(), EngineError> {
        let columns = Columns::of(data, self.at.is_some(), self.zone.as_ref(), &mut self.batch).map_err(unreadable)?;
        for row in 0..data.num_rows() {
            self.add_row(&columns, row);
        }
        Ok(())
    }

    /// Starts another body: its first row begins an event.
    pub fn begin_body(&mut self) {
        self.batch.begin_body();
        self.is_new_body = true;
    }

    pub fn finish(self) -> EventBatch {
        self.batch
    }

    fn add_row(&mut self, columns: &Columns, row: usize) {
        let at = columns.times.as_ref().map(|times| times.get(row)).transpose();
        let event = columns.events.as_ref().and_then(|column| text_at(column, row));
        let (time, begins) = match &at {
            Ok(time) => (*time, std::mem::take(&mut self.is_new_body) || self.begins(*time, event)),
            Err(_) => (None, true),
        };
        let index = match &self.current {
            Some((index, ..)) => index + u64::from(begins),
            None => 0,
        };
        let first = begins || self.current.is_none();
        if first {
            self.current = Some((index, time, event.map(str::to_owned)));
        }
        if self.batch.is_refused(index) {
            return;
        }
        match at.and_then(|_| columns.triple(row, self.last, &self.batch)) {
            Ok(triple) => {
                self.last = triple;
                if first {
                    self.batch.begin(time.or(self.at), index);
                }
                self.batch.push(triple);
            }
            Err(reason) => self.batch.refuse(index, EngineError::BadRow { row: row as u64, reason }),
        }
    }

    /// Rows without a time are one event; rows with times are one event if a column groups them.
    fn begins(&self, time: Option<Timestamp>, event: Option<&str>) -> bool {
        let Some((_, last_time, last_event)) = &self.current else { return true };
        let same = time == *last_time && event == last_event.as_deref();
        !(same && (time.is_none() || event.is_some()))
    }
}

struct Columns {
    subjects: Column,
    predicates: Column,
    objects: Column,
    times: Option<Times>,
    events: Option<arrow_array::ArrayRef>,
}

impl Columns {
    fn of(
        data: &RecordBatch,
        whole: bool,
        zone: Option<&AssumedZone>,
        batch: &mut EventBatch,
    ) -> Result<Self, Refusal> {
        let needed = |name: &str| {
            let column = data.column_by_name(name);
            column.ok_or_else(|| format!("Arrow data needs the columns s, p and o; '{name}' is missing"))
        };
        needed("o")?;
        let times = data.column_by_name("t").filter(|_| !whole);
        let times = times.map(|column| Times::of("t", column, zone)).transpose()?;
        Ok(Self {
            subjects: names(needed("s")?, batch)?,
            predicates: names(needed("p")?, batch)?,
            objects: objects(data, batch)?,
            times,
            events: if whole { None } else { text_column(data, "event")? },
        })
    }

    /// `last` is the previous triple: a term that it has in the same position needs no check.
    fn triple(&self, row: usize, last: [TermId; 3], batch: &EventBatch) -> Result<[TermId; 3], Refusal> {
        let present = |column: &Column, name: &str| column.get(row)?.ok_or_else(|| format!("column '{name}' is empty"));
        let subject = present(&self.subjects, "s")?;
        if subject != last[0] && !batch.is_subject(subject) {
            return Err(format!("a subject is an IRI or a blank node, not {}", batch.written(subject)));
        }
        let predicate = present(&self.predicates, "p")?;
        if predicate != last[1] && !batch.is_predicate(predicate) {
            return Err(String::from("a predicate is an IRI"));
        }
        Ok([subject, predicate, present(&self.objects, "o")?])
    }
}

/// Collects the events of mapped rows.
pub struct RowReader {
    mapping: RowMapping,
    mapper: RowMapper,
    time_column: String,
    /// The time of rows if there is no such column.
    at: Option<Timestamp>,
    zone: Option<AssumedZone>,
    rows: u64,
}

impl RowReader {
    pub fn new(mapping: RowMapping, mapper: RowMapper, time_column: String, at: Option<Timestamp>) -> Self {
        Self { mapping, mapper, time_column, at, zone: None, rows: 0 }
    }

    /// The zone of times without one.
    pub fn in_zone(self, zone: Option<AssumedZone>) -> Self {
        Self { zone, ..self }
    }

    pub fn add(&mut self, data: &RecordBatch) -> Result<(), EngineError> {
        let schema = data.schema();
        let given: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        self.mapping.check_columns(&given)?;
        let times = data.column_by_name(&self.time_column);
        let zone = self.zone.as_ref();
        let times = times.map(|column| Times::of(&self.time_column, column, zone)).transpose().map_err(unreadable)?;
        let columns = self.columns(data).map_err(unreadable)?;
        let mut ids = vec![TermId::UNBOUND; columns.len()];
        for row in 0..data.num_rows() {
            self.add_row(row, &columns, times.as_ref(), &mut ids);
            self.rows += 1;
        }
        Ok(())
    }

    /// Starts another body.
    pub fn begin_body(&mut self) {
        self.mapper.batch_mut().begin_body();
    }

    pub fn finish(self) -> EventBatch {
        self.mapper.into_batch()
    }

    /// Columns that only VALUES mentions may be missing.
    fn columns(&mut self, data: &RecordBatch) -> Result<Vec<Option<Column>>, Refusal> {
        let batch = self.mapper.batch_mut();
        let read = |name: &str| match data.column_by_name(name) {
            Some(column) => values(column, batch).map(Some).map_err(|reason| format!("column '{name}': {reason}")),
            None => Ok(None),
        };
        self.mapping.columns().map(read).collect()
    }

    fn add_row(&mut self, row: usize, columns: &[Option<Column>], times: Option<&Times>, ids: &mut [TermId]) {
        match fill(row, columns, times, ids) {
            Ok(at) => self.mapper.add_row(self.rows, at.or(self.at), ids),
            Err(reason) => {
                let error = EngineError::BadRow { row: self.rows, reason };
                self.mapper.batch_mut().refuse(self.rows, error);
            }
        }
    }
}

fn fill(
    row: usize,
    columns: &[Option<Column>],
    times: Option<&Times>,
    ids: &mut [TermId],
) -> Result<Option<Timestamp>, Refusal> {
    for (id, column) in ids.iter_mut().zip(columns) {
        *id = column.as_ref().map_or(Ok(None), |column| column.get(row))?.unwrap_or(TermId::UNBOUND);
    }
    times.map(|times| times.get(row)).transpose()
}

fn unreadable(reason: Refusal) -> EngineError {
    EngineError::BadColumns { reason }
}
