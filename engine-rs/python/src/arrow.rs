//! Arrow in and out.
//!
//! In: record batches with the columns `s`, `p`, `o`, and `datatype`, `lang`, `t`, `event` where there are any. `s`,
//! `p` and `o` hold IRIs, `_:labels` or terms in N-Triples syntax; `o` is a literal where `datatype` or `lang` has a
//! value, and where its column is of a number, boolean or time type. Out: one batch per drained queue.

use std::str::FromStr;
use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, Float64Builder, Int64Builder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, TimestampMillisecondType};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_cast::cast;
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use oxrdf::vocab::xsd;
use oxrdf::{Literal, NamedNode, NamedOrBlankNode, Term, Triple};

/// Rows that arrive together: their time, if the data says it, and their triples.
pub struct ArrowEvent {
    pub at: Option<i64>,
    pub triples: Vec<Triple>,
}

/// A column that is missing, or a row that makes no sense.
pub type Refusal = String;

/// Reads the events of a batch. Without a column `t` the batch is one event.
pub fn read_batch(batch: &RecordBatch) -> Result<Vec<ArrowEvent>, Refusal> {
    let columns = Columns::of(batch)?;
    let mut events: Vec<ArrowEvent> = Vec::new();
    let mut last_key = None;
    for row in 0..batch.num_rows() {
        let triple = columns.triple(row).map_err(|reason| format!("row {row}: {reason}"))?;
        let key = columns.event_key(row)?;
        match events.last_mut() {
            Some(event) if key.joins(last_key.as_ref()) => event.triples.push(triple),
            _ => events.push(ArrowEvent { at: key.at, triples: vec![triple] }),
        }
        last_key = Some(key);
    }
    Ok(events)
}

struct Columns {
    subject: ArrayRef,
    predicate: ArrayRef,
    object: Object,
    datatype: Option<ArrayRef>,
    language: Option<ArrayRef>,
    at: Option<ArrayRef>,
    event: Option<ArrayRef>,
}

/// A column of text, or of values whose type says which literals they are.
enum Object {
    Text(ArrayRef),
    Typed(ArrayRef, NamedNode),
}

/// Which event a row belongs to.
struct EventKey {
    at: Option<i64>,
    event: Option<String>,
}

impl EventKey {
    /// Rows without a time are one event; rows with one are, where a column says so.
    fn joins(&self, last: Option<&Self>) -> bool {
        let same = last.is_some_and(|last| self.at == last.at && self.event == last.event);
        same && (self.at.is_none() || self.event.is_some())
    }
}

impl Columns {
    fn of(batch: &RecordBatch) -> Result<Self, Refusal> {
        let needed = |name: &str| {
            let column = batch.column_by_name(name);
            column.ok_or_else(|| format!("Arrow data needs the columns s, p and o; '{name}' is missing"))
        };
        let optional = |name: &str| batch.column_by_name(name).map(text).transpose();
        let at = batch.column_by_name("t").map(|column| {
            let unit = DataType::Timestamp(TimeUnit::Millisecond, None);
            let times = if matches!(column.data_type(), DataType::Timestamp(..)) {
                as_type(column, &unit)?
            } else {
                column.clone()
            };
            as_type(&times, &DataType::Int64)
        });
        Ok(Self {
            subject: text(needed("s")?)?,
            predicate: text(needed("p")?)?,
            object: Object::of(needed("o")?)?,
            datatype: optional("datatype")?,
            language: optional("lang")?,
            at: at.transpose()?,
            event: optional("event")?,
        })
    }

    fn triple(&self, row: usize) -> Result<Triple, Refusal> {
        let subject = match name(present(&self.subject, row, "s")?)? {
            Term::NamedNode(node) => NamedOrBlankNode::NamedNode(node),
            Term::BlankNode(node) => NamedOrBlankNode::BlankNode(node),
            other => return Err(format!("a subject is an IRI or a blank node, not {other}")),
        };
        let Term::NamedNode(predicate) = name(present(&self.predicate, row, "p")?)? else {
            return Err(String::from("a predicate is an IRI"));
        };
        Ok(Triple::new(subject, predicate, self.object(row)?))
    }

    fn object(&self, row: usize) -> Result<Term, Refusal> {
        let language = self.language.as_ref().and_then(|column| value(column, row));
        let datatype = self.datatype.as_ref().and_then(|column| value(column, row));
        let lexical = match &self.object {
            Object::Text(column) => present(column, row, "o")?,
            Object::Typed(column, own) => {
                let datatype = datatype.map_or_else(|| Ok(own.clone()), iri)?;
                return Ok(
                    Literal::new_typed_literal(lexical_form(present(column, row, "o")?, &datatype), datatype).into()
                );
            }
        };
        match (language, datatype) {
            (Some(tag), _) => {
                let literal = Literal::new_language_tagged_literal(lexical, tag);
                Ok(literal.map_err(|_| format!("'{tag}' is not a language tag"))?.into())
            }
            (None, Some(datatype)) => Ok(Literal::new_typed_literal(lexical, iri(datatype)?).into()),
            (None, None) => name(lexical),
        }
    }

    fn event_key(&self, row: usize) -> Result<EventKey, Refusal> {
        let at = match &self.at {
            Some(column) if column.is_null(row) => return Err(format!("row {row}: column 't' is empty")),
            Some(column) => Some(column.as_primitive::<Int64Type>().value(row)),
            None => None,
        };
        let event = self.event.as_ref().and_then(|column| value(column, row)).map(str::to_owned);
        Ok(EventKey { at, event })
    }
}

impl Object {
    fn of(column: &ArrayRef) -> Result<Self, Refusal> {
        let datatype = match column.data_type() {
            kind if kind.is_integer() => xsd::INTEGER,
            kind if kind.is_floating() => xsd::DOUBLE,
            DataType::Decimal128(..) | DataType::Decimal256(..) => xsd::DECIMAL,
            DataType::Boolean => xsd::BOOLEAN,
            DataType::Timestamp(..) => xsd::DATE_TIME,
            DataType::Date32 | DataType::Date64 => xsd::DATE,
            _ => return Ok(Self::Text(text(column)?)),
        };
        Ok(Self::Typed(text(column)?, datatype.into_owned()))
    }
}

/// Arrow prints doubles as Rust does; XSD spells the infinities otherwise.
fn lexical_form(text: &str, datatype: &NamedNode) -> String {
    match text {
        "inf" if *datatype == xsd::DOUBLE => String::from("INF"),
        "-inf" if *datatype == xsd::DOUBLE => String::from("-INF"),
        _ => text.to_owned(),
    }
}

fn text(column: &ArrayRef) -> Result<ArrayRef, Refusal> {
    as_type(column, &DataType::Utf8)
}

fn as_type(column: &ArrayRef, wanted: &DataType) -> Result<ArrayRef, Refusal> {
    if column.data_type() == wanted {
        return Ok(column.clone());
    }
    cast(column, wanted).map_err(|error| format!("a column of type {} cannot be read: {error}", column.data_type()))
}

fn value(column: &ArrayRef, row: usize) -> Option<&str> {
    column.is_valid(row).then(|| column.as_string::<i32>().value(row))
}

fn present<'a>(column: &'a ArrayRef, row: usize, name: &str) -> Result<&'a str, Refusal> {
    value(column, row).ok_or_else(|| format!("column '{name}' is empty"))
}

/// An IRI, `_:label`, or a term in N-Triples syntax.
fn name(text: &str) -> Result<Term, Refusal> {
    if text.starts_with(['<', '"', '_']) {
        return Term::from_str(text).map_err(|error| format!("'{text}' is not a term: {error}"));
    }
    Ok(iri(text)?.into())
}

fn iri(text: &str) -> Result<NamedNode, Refusal> {
    NamedNode::new(text).map_err(|_| format!("'{text}' is not an absolute IRI"))
}

/// One row of a drained answer.
pub struct OutRow<'a> {
    pub seq: u64,
    pub at: i64,
    pub sign: i64,
    pub values: &'a [Option<Term>],
}

/// Makes one batch of all rows: `seq`, `t`, `sign`, then a column per variable.
pub fn write_batch(variables: &[String], rows: &[OutRow<'_>], typed: bool) -> Result<RecordBatch, Refusal> {
    let numbers = |pick: fn(&OutRow<'_>) -> i64| -> ArrayRef {
        Arc::new(rows.iter().map(|row| Some(pick(row))).collect::<arrow_array::Int64Array>())
    };
    let mut fields = vec![
        Field::new("seq", DataType::Int64, false),
        Field::new("t", DataType::Int64, false),
        Field::new("sign", DataType::Int64, false),
    ];
    let mut columns =
        vec![numbers(|row| i64::try_from(row.seq).unwrap_or(i64::MAX)), numbers(|row| row.at), numbers(|row| row.sign)];
    for (slot, variable) in variables.iter().enumerate() {
        let values: Vec<Option<&Term>> = rows.iter().map(|row| row.values.get(slot).and_then(Option::as_ref)).collect();
        let column = write_column(&values, typed);
        fields.push(Field::new(variable, column.data_type().clone(), true));
        columns.push(column);
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).map_err(|error| error.to_string())
}

/// The narrowest type that holds every value, tried in order; text holds all.
fn write_column(values: &[Option<&Term>], typed: bool) -> ArrayRef {
    if !typed || values.iter().all(Option::is_none) {
        return text_column(values);
    }
    integer_column(values)
        .or_else(|| double_column(values))
        .or_else(|| boolean_column(values))
        .or_else(|| time_column(values))
        .unwrap_or_else(|| text_column(values))
}

fn text_column(values: &[Option<&Term>]) -> ArrayRef {
    let mut builder = StringBuilder::new();
    for value in values {
        match value {
            Some(Term::NamedNode(node)) => builder.append_value(node.as_str()),
            Some(Term::Literal(literal)) => builder.append_value(literal.value()),
            Some(other) => builder.append_value(other.to_string()),
            None => builder.append_null(),
        }
    }
    Arc::new(builder.finish())
}

/// The lexical form if the term is a literal of one of these types.
fn lexical<'a>(term: &'a Term, wanted: &[oxrdf::NamedNodeRef<'_>]) -> Option<&'a str> {
    match term {
        Term::Literal(literal) if wanted.contains(&literal.datatype()) => Some(literal.value()),
        _ => None,
    }
}

fn integer_column(values: &[Option<&Term>]) -> Option<ArrayRef> {
    let mut builder = Int64Builder::with_capacity(values.len());
    for value in values {
        builder.append_option(match value {
            Some(term) => Some(lexical(term, &[xsd::INTEGER])?.parse().ok()?),
            None => None,
        });
    }
    Some(Arc::new(builder.finish()))
}

fn double_column(values: &[Option<&Term>]) -> Option<ArrayRef> {
    let wanted = [xsd::INTEGER, xsd::DECIMAL, xsd::FLOAT, xsd::DOUBLE];
    let mut builder = Float64Builder::with_capacity(values.len());
    for value in values {
        builder.append_option(match value {
            Some(term) => Some(lexical(term, &wanted)?.replace("INF", "inf").parse().ok()?),
            None => None,
        });
    }
    Some(Arc::new(builder.finish()))
}

fn boolean_column(values: &[Option<&Term>]) -> Option<ArrayRef> {
    let mut builder = BooleanBuilder::with_capacity(values.len());
    for value in values {
        builder.append_option(match value {
            Some(term) => Some(match lexical(term, &[xsd::BOOLEAN])? {
                "true" | "1" => true,
                "false" | "0" => false,
                _ => return None,
            }),
            None => None,
        });
    }
    Some(Arc::new(builder.finish()))
}

/// Times with a zone, to the millisecond, in UTC.
fn time_column(values: &[Option<&Term>]) -> Option<ArrayRef> {
    let texts = values.iter().map(|value| match value {
        Some(term) => lexical(term, &[xsd::DATE_TIME]).filter(|text| has_zone(text)).map(Some),
        None => Some(None),
    });
    let texts: Option<Vec<Option<&str>>> = texts.collect();
    let texts: ArrayRef = Arc::new(arrow_array::StringArray::from(texts?));
    let times = cast(&texts, &DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into()))).ok()?;
    (times.as_primitive::<TimestampMillisecondType>().null_count() == texts.null_count()).then_some(times)
}

fn has_zone(text: &str) -> bool {
    let time = text.find('T').map_or("", |at| &text[at..]);
    time.ends_with('Z') || time.contains(['+', '-'])
}
