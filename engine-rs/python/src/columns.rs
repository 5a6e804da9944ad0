//! Columns of Arrow data → ids of terms in a batch of events.
//!
//! A repeated value is read and checked once: dictionary-encoded columns by their dictionary, IRIs and literals by that
//! of the batch, terms in N-Triples syntax by a cache. An invalid value refuses only its row; a column of a type that
//! cannot hold terms refuses the data.

use std::collections::HashMap;
use std::str::FromStr;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float64Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_cast::cast;
use arrow_schema::{DataType, TimeUnit};
use foldhash::fast::RandomState;
use oxrdf::vocab::xsd;
use oxrdf::{Literal, NamedNode, NamedNodeRef, Term};
use whorl_engine::{AssumedZone, EventBatch, TermId, Timestamp, read_time};

/// Why a column or a value cannot be read.
pub type Refusal = String;

/// A column as ids; unbound where it is null.
pub struct Column {
    ids: Vec<TermId>,
    wrong: HashMap<usize, Refusal>,
}

impl Column {
    /// The id in a row; `None` if the column is null there.
    pub fn get(&self, row: usize) -> Result<Option<TermId>, Refusal> {
        let id = self.ids[row];
        match self.wrong.get(&row) {
            Some(refusal) if !id.is_bound() => Err(refusal.clone()),
            _ => Ok(Some(id).filter(|id| id.is_bound())),
        }
    }

    fn of(ids: Vec<TermId>) -> Self {
        Self { ids, wrong: HashMap::new() }
    }

    /// A column as the ids of its distinct values, with the index of each row's value.
    fn spread(&self, keys: &[usize], column: &dyn Array) -> Self {
        let mut spread = Self::of(Vec::with_capacity(keys.len()));
        for (row, key) in keys.iter().enumerate() {
            let id = if column.is_null(row) { TermId::UNBOUND } else { self.ids[*key] };
            if !id.is_bound()
                && column.is_valid(row)
                && let Some(refusal) = self.wrong.get(key)
            {
                spread.wrong.insert(row, refusal.clone());
            }
            spread.ids.push(id);
        }
        spread
    }
}

/// IRIs, `_:labels` and terms in N-Triples syntax.
pub fn names(column: &ArrayRef, batch: &mut EventBatch) -> Result<Column, Refusal> {
    let mut seen: HashMap<String, TermId, RandomState> = HashMap::default();
    each_text(column, |text| {
        if !text.starts_with(['<', '"', '_']) {
            return batch.iri(text).ok_or_else(|| no_iri(text));
        }
        if let Some(id) = seen.get(text) {
            return Ok(*id);
        }
        let id = batch.term(&name(text)?);
        seen.insert(text.to_owned(), id);
        Ok(id)
    })
}

/// Values as literals of the type of their column.
pub fn values(column: &ArrayRef, batch: &mut EventBatch) -> Result<Column, Refusal> {
    match column.data_type() {
        DataType::Dictionary(..) => {
            let dictionary = column.as_any_dictionary();
            let distinct = values(dictionary.values(), batch)?;
            Ok(distinct.spread(&keys_of(column), column))
        }
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => each_text(column, |text| Ok(batch.string(text))),
        DataType::UInt64 => literals(column, xsd::INTEGER, batch),
        kind if kind.is_integer() => {
            let numbers = as_type(column, &DataType::Int64)?;
            let numbers = numbers.as_primitive::<Int64Type>();
            Ok(Column::of(numbers.iter().map(|value| or_unbound(value, |value| batch.integer(value))).collect()))
        }
        DataType::Float64 => {
            let numbers = column.as_primitive::<Float64Type>();
            Ok(Column::of(numbers.iter().map(|value| or_unbound(value, |value| batch.double(value))).collect()))
        }
        // A narrow number stands for its shortest text: 0.1 and not 0.10000000149011612.
        kind if kind.is_floating() => each_text(column, |text| {
            text.parse().map(|value: f64| batch.double(value)).map_err(|_| format!("'{text}' is not a number"))
        }),
        DataType::Boolean => {
            let truths = column.as_boolean().iter();
            Ok(Column::of(truths.map(|value| value.map_or(TermId::UNBOUND, |value| batch.boolean(value))).collect()))
        }
        DataType::Decimal32(..) | DataType::Decimal64(..) | DataType::Decimal128(..) | DataType::Decimal256(..) => {
            literals(column, xsd::DECIMAL, batch)
        }
        DataType::Timestamp(..) => date_times(column, batch),
        DataType::Date32 => literals(column, xsd::DATE, batch),
        DataType::Date64 => literals(&as_type(column, &DataType::Date32)?, xsd::DATE, batch),
        DataType::Time32(_) | DataType::Time64(_) => literals(column, xsd::TIME, batch),
        DataType::Null => Ok(Column::of(vec![TermId::UNBOUND; column.len()])),
        other => Err(format!("a column of type {other} holds no terms")),
    }
}

/// A literal in three columns: text, datatype, language.
type Written<'a> = (&'a str, Option<&'a str>, Option<&'a str>);

/// Objects: IRIs if the column is text, literals if it is typed or if a datatype or language is given.
pub fn objects(data: &RecordBatch, batch: &mut EventBatch) -> Result<Column, Refusal> {
    let column = data.column_by_name("o").ok_or_else(|| String::from("column 'o' is missing"))?;
    let (datatypes, languages) = (text_column(data, "datatype")?, text_column(data, "lang")?);
    let own = if is_text(column.data_type()) { names(column, batch)? } else { values(column, batch)? };
    if datatypes.is_none() && languages.is_none() {
        return Ok(own);
    }
    let lexical = as_type(column, &DataType::Utf8)?;
    let mut found = Column::of(Vec::with_capacity(column.len()));
    let mut seen: HashMap<Written<'_>, Result<TermId, Refusal>, RandomState> = HashMap::default();
    for row in 0..column.len() {
        let (datatype, language) = (
            datatypes.as_ref().and_then(|column| text_at(column, row)),
            languages.as_ref().and_then(|column| text_at(column, row)),
        );
        let id = match text_at(&lexical, row) {
            Some(text) if datatype.is_some() || language.is_some() => {
                let key = (text, datatype, language);
                seen.entry(key)
                    .or_insert_with(|| literal(text, datatype, language).map(|term| batch.term(&term)))
                    .clone()
            }
            _ => own.get(row).map(|id| id.unwrap_or(TermId::UNBOUND)),
        };
        found.ids.push(*id.as_ref().unwrap_or(&TermId::UNBOUND));
        if let Err(refusal) = id {
            found.wrong.insert(row, refusal);
        }
    }
    Ok(found)
}

/// Times: integer milliseconds, timestamps of any unit, or dateTimes with a zone or an assumed one.
pub struct Times {
    millis: Vec<Option<i64>>,
    wrong: HashMap<usize, Refusal>,
    name: String,
}

impl Times {
    pub fn of(name: &str, column: &ArrayRef, zone: Option<&AssumedZone>) -> Result<Self, Refusal> {
        let mut times = Self { millis: Vec::with_capacity(column.len()), wrong: HashMap::new(), name: name.to_owned() };
        match column.data_type() {
            DataType::Timestamp(unit, written) => {
                times.millis = instants(column, *unit);
                // Timestamps without a zone are local times if a zone is assumed, and instants otherwise.
                if let (None, Some(zone)) = (written, zone) {
                    times.millis.iter_mut().for_each(|time| *time = time.and_then(|local| zone.epoch_ms(local)));
                }
            }
            kind if kind.is_integer() => {
                let numbers = as_type(column, &DataType::Int64)?;
                times.millis = numbers.as_primitive::<Int64Type>().iter().collect();
            }
            kind if is_text(kind) => times.read_texts(column, zone)?,
            other => {
                return Err(format!(
                    "column '{name}' of type {other} holds no times; use integer milliseconds, timestamps or dateTimes"
                ));
            }
        }
        Ok(times)
    }

    fn read_texts(&mut self, column: &ArrayRef, zone: Option<&AssumedZone>) -> Result<(), Refusal> {
        let texts = as_type(column, &DataType::Utf8)?;
        for row in 0..texts.len() {
            let text = text_at(&texts, row);
            let time = text.and_then(|text| read_time(text, zone));
            if let (Some(text), None) = (text, time) {
                self.wrong.insert(row, format!("'{text}' in column '{}' is not a dateTime with a zone", self.name));
            }
            self.millis.push(time.map(Timestamp::as_millis));
        }
        Ok(())
    }

    pub fn get(&self, row: usize) -> Result<Timestamp, Refusal> {
        let millis = self.millis[row].map(Timestamp::from_millis);
        millis.ok_or_else(|| {
            let empty = || format!("column '{}' is empty", self.name);
            self.wrong.get(&row).cloned().unwrap_or_else(empty)
        })
    }
}

pub fn text_column(data: &RecordBatch, name: &str) -> Result<Option<ArrayRef>, Refusal> {
    data.column_by_name(name).map(|column| as_type(column, &DataType::Utf8)).transpose()
}

pub fn text_at(column: &ArrayRef, row: usize) -> Option<&str> {
    column.is_valid(row).then(|| column.as_string::<i32>().value(row))
}

fn is_text(kind: &DataType) -> bool {
    match kind {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Dictionary(_, values) => is_text(values),
        _ => false,
    }
}

fn as_type(column: &ArrayRef, wanted: &DataType) -> Result<ArrayRef, Refusal> {
    if column.data_type() == wanted {
        return Ok(column.clone());
    }
    cast(column, wanted).map_err(|error| format!("a column of type {} cannot be read: {error}", column.data_type()))
}

/// For each row, the index of its value in the dictionary; meaningless if the row is null.
fn keys_of(column: &ArrayRef) -> Vec<usize> {
    column.as_any_dictionary().normalized_keys()
}

/// Reads the texts of a column; those of a dictionary once.
fn each_text(column: &ArrayRef, mut read: impl FnMut(&str) -> Result<TermId, Refusal>) -> Result<Column, Refusal> {
    if let DataType::Dictionary(_, kind) = column.data_type()
        && is_text(kind)
    {
        let distinct = each_text(column.as_any_dictionary().values(), read)?;
        return Ok(distinct.spread(&keys_of(column), column));
    }
    let texts = as_type(column, &DataType::Utf8)?;
    let texts = texts.as_string::<i32>();
    let mut found = Column::of(Vec::with_capacity(texts.len()));
    for (row, text) in texts.iter().enumerate() {
        let id = text.map_or(Ok(TermId::UNBOUND), &mut read).unwrap_or_else(|refusal| {
            found.wrong.insert(row, refusal);
            TermId::UNBOUND
        });
        found.ids.push(id);
    }
    Ok(found)
}

fn or_unbound<T>(value: Option<T>, id: impl FnOnce(T) -> TermId) -> TermId {
    value.map_or(TermId::UNBOUND, id)
}

fn literals(column: &ArrayRef, datatype: NamedNodeRef<'_>, batch: &mut EventBatch) -> Result<Column, Refusal> {
    each_text(column, |text| Ok(batch.literal(text, datatype)))
}

/// Timestamps with a zone are instants and are written in UTC; those without keep their wall-clock time.
fn date_times(column: &ArrayRef, batch: &mut EventBatch) -> Result<Column, Refusal> {
    let DataType::Timestamp(unit, zone) = column.data_type() else { return literals(column, xsd::DATE_TIME, batch) };
    if zone.is_none() {
        return literals(column, xsd::DATE_TIME, batch);
    }
    let in_utc = as_type(column, &DataType::Timestamp(*unit, Some("+00:00".into())))?;
    if !is_whole_millis(&in_utc, *unit) {
        return literals(&in_utc, xsd::DATE_TIME, batch);
    }
    let ids = instants(&in_utc, *unit).into_iter().map(|ms| or_unbound(ms, |ms| batch.instant(ms)));
    Ok(Column::of(ids.collect()))
}

fn is_whole_millis(column: &ArrayRef, unit: TimeUnit) -> bool {
    match unit {
        TimeUnit::Second | TimeUnit::Millisecond => true,
        TimeUnit::Microsecond => {
            column.as_primitive::<TimestampMicrosecondType>().iter().flatten().all(|value| value % 1_000 == 0)
        }
        TimeUnit::Nanosecond => {
            column.as_primitive::<TimestampNanosecondType>().iter().flatten().all(|value| value % 1_000_000 == 0)
        }
    }
}

/// Milliseconds since the epoch, rounded down.
fn instants(column: &ArrayRef, unit: TimeUnit) -> Vec<Option<i64>> {
    match unit {
        TimeUnit::Second => {
            let seconds = column.as_primitive::<TimestampSecondType>().iter();
            seconds.map(|value| value.map(|value| value.saturating_mul(1_000))).collect()
        }
        TimeUnit::Millisecond => column.as_primitive::<TimestampMillisecondType>().iter().collect(),
        TimeUnit::Microsecond => {
            let micros = column.as_primitive::<TimestampMicrosecondType>().iter();
            micros.map(|value| value.map(|value| value.div_euclid(1_000))).collect()
        }
        TimeUnit::Nanosecond => {
            let nanos = column.as_primitive::<TimestampNanosecondType>().iter();
            nanos.map(|value| value.map(|value| value.div_euclid(1_000_000))).collect()
        }
    }
}

fn literal(text: &str, datatype: Option<&str>, language: Option<&str>) -> Result<Term, Refusal> {
    match (language, datatype) {
        (Some(tag), _) => {
            let literal = Literal::new_language_tagged_literal(text, tag);
            Ok(literal.map_err(|_| format!("'{tag}' is not a language tag"))?.into())
        }
        (None, Some(datatype)) => Ok(Literal::new_typed_literal(text, iri(datatype)?).into()),
        (None, None) => name(text),
    }
}

/// An IRI, `_:label`, or a term in N-Triples syntax.
fn name(text: &str) -> Result<Term, Refusal> {
    if text.starts_with(['<', '"', '_']) {
        return Term::from_str(text).map_err(|error| format!("'{text}' is not a term: {error}"));
    }
    Ok(iri(text)?.into())
}

fn iri(text: &str) -> Result<NamedNode, Refusal> {
    NamedNode::new(text).map_err(|_| no_iri(text))
}

fn no_iri(text: &str) -> Refusal {
    format!("'{text}' is not an absolute IRI")
}
