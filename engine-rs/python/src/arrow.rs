//! Arrow output: one batch per drained queue. `columns.rs` reads Arrow input.

use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, Float64Builder, Int64Builder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::TimestampMillisecondType;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_cast::cast;
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use oxrdf::Term;
use oxrdf::vocab::xsd;

/// One row of a drained result.
pub struct OutRow<'a> {
    pub seq: u64,
    pub at: i64,
    pub sign: i64,
    pub values: &'a [Option<Term>],
}

/// Builds one batch of all rows: `@seq`, `@t`, `@sign`, which cannot be names of variables, then a column per variable.
pub fn write_batch(variables: &[String], rows: &[OutRow<'_>], typed: bool) -> Result<RecordBatch, String> {
    let numbers = |pick: fn(&OutRow<'_>) -> i64| -> ArrayRef {
        Arc::new(rows.iter().map(|row| Some(pick(row))).collect::<arrow_array::Int64Array>())
    };
    let mut fields = vec![
        Field::new("@seq", DataType::Int64, false),
        Field::new("@t", DataType::Int64, false),
        Field::new("@sign", DataType::Int64, false),
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
