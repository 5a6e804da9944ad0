//! Functions called by IRI: the XSD casts, and the place where later ones are added.
//!
//! Calling an unknown function is an error, compiling one is not: `COALESCE(<f>(?x), 0)` is 0.

use super::builtin::Builtin;
use super::numbers::Number;
use super::temporal::Temporal;
use super::terms;
use super::value::Value;
use oxrdf::vocab::xsd;
use oxrdf::{Literal, NamedNodeRef};
use oxsdatatypes::{Boolean, DateTime, Decimal, Double, Float, Integer};
use std::str::FromStr;

/// The functions with an IRI. A new one is a line here and a function of values.
const FUNCTIONS: [(NamedNodeRef<'static>, Builtin); 12] = [
    (xsd::STRING, Builtin::Unary(terms::str)),
    (xsd::BOOLEAN, Builtin::Unary(to_boolean)),
    (xsd::INTEGER, Builtin::Unary(to_integer)),
    (xsd::DECIMAL, Builtin::Unary(to_decimal)),
    (xsd::FLOAT, Builtin::Unary(to_float)),
    (xsd::DOUBLE, Builtin::Unary(to_double)),
    (xsd::DATE_TIME, Builtin::Unary(to_date_time)),
    (xsd::DATE, Builtin::Unary(|value| to_date(value).map(Value::Temporal))),
    (xsd::TIME, Builtin::Unary(|value| to_time(value).map(Value::Temporal))),
    (xsd::DURATION, Builtin::Unary(|value| to_duration(value).map(Value::Temporal))),
    (xsd::YEAR_MONTH_DURATION, Builtin::Unary(|value| to_year_month(value).map(Value::Temporal))),
    (xsd::DAY_TIME_DURATION, Builtin::Unary(|value| to_day_time(value).map(Value::Temporal))),
];

/// A type derived from `xsd:integer`: its values are integers within bounds, its terms have its own datatype.
#[derive(Clone, Copy, Debug)]
pub(super) struct DerivedInteger {
    pub datatype: NamedNodeRef<'static>,
    least: i64,
    greatest: i64,
}

const fn derived(datatype: NamedNodeRef<'static>, least: i64, greatest: i64) -> DerivedInteger {
    DerivedInteger { datatype, least, greatest }
}

const DERIVED: [DerivedInteger; 12] = [
    derived(xsd::LONG, i64::MIN, i64::MAX),
    derived(xsd::INT, i32::MIN as i64, i32::MAX as i64),
    derived(xsd::SHORT, i16::MIN as i64, i16::MAX as i64),
    derived(xsd::BYTE, i8::MIN as i64, i8::MAX as i64),
    derived(xsd::NON_NEGATIVE_INTEGER, 0, i64::MAX),
    derived(xsd::POSITIVE_INTEGER, 1, i64::MAX),
    derived(xsd::NON_POSITIVE_INTEGER, i64::MIN, 0),
    derived(xsd::NEGATIVE_INTEGER, i64::MIN, -1),
    derived(xsd::UNSIGNED_LONG, 0, i64::MAX),
    derived(xsd::UNSIGNED_INT, 0, u32::MAX as i64),
    derived(xsd::UNSIGNED_SHORT, 0, u16::MAX as i64),
    derived(xsd::UNSIGNED_BYTE, 0, u8::MAX as i64),
];

pub(super) fn lookup_derived(iri: NamedNodeRef<'_>) -> Option<DerivedInteger> {
    DERIVED.iter().find(|derived| derived.datatype == iri).copied()
}

/// Whether a function of this IRI can be called.
pub(crate) fn is_known(iri: NamedNodeRef<'_>) -> bool {
    lookup(iri).is_some() || lookup_derived(iri).is_some()
}

impl DerivedInteger {
    /// The integer, if it is one of this type.
    pub(super) fn cast(self, value: Value<'_>) -> Option<i64> {
        let integer = to_integer(value)?.as_number()?.to_integer()?.into();
        (self.least..=self.greatest).contains(&integer).then_some(integer)
    }

    pub(super) fn literal(self, value: i64) -> Literal {
        Literal::new_typed_literal(value.to_string(), self.datatype)
    }
}

pub(super) fn lookup(iri: NamedNodeRef<'_>) -> Option<Builtin> {
    FUNCTIONS.iter().find(|(name, _)| *name == iri).map(|(_, function)| *function)
}

fn to_boolean(value: Value<'_>) -> Option<Value<'_>> {
    Some(Value::Boolean(match value {
        Value::Boolean(value) => value,
        Value::Number(number) => number.is_truthy(),
        Value::String(text) => Boolean::from_str(text.as_str()).ok()?.into(),
        _ => return None,
    }))
}

fn to_integer(value: Value<'_>) -> Option<Value<'_>> {
    Some(Value::Number(Number::Integer(match value {
        Value::Number(number) => number.to_integer()?,
        Value::Boolean(value) => value.into(),
        Value::String(text) => Integer::from_str(text.as_str()).ok()?,
        _ => return None,
    })))
}

fn to_decimal(value: Value<'_>) -> Option<Value<'_>> {
    Some(Value::Number(Number::Decimal(match value {
        Value::Number(number) => number.to_decimal()?,
        Value::Boolean(value) => value.into(),
        Value::String(text) => Decimal::from_str(text.as_str()).ok()?,
        _ => return None,
    })))
}

fn to_float(value: Value<'_>) -> Option<Value<'_>> {
    Some(Value::Number(Number::Float(match value {
        Value::Number(number) => number.to_float(),
        Value::Boolean(value) => Boolean::from(value).into(),
        Value::String(text) => Float::from_str(text.as_str()).ok()?,
        _ => return None,
    })))
}

fn to_double(value: Value<'_>) -> Option<Value<'_>> {
    Some(Value::Number(Number::Double(match value {
        Value::Number(number) => number.to_double(),
        Value::Boolean(value) => Boolean::from(value).into(),
        Value::String(text) => Double::from_str(text.as_str()).ok()?,
        _ => return None,
    })))
}

fn to_date_time(value: Value<'_>) -> Option<Value<'_>> {
    Some(Value::DateTime(match value {
        Value::DateTime(at) => at,
        Value::Temporal(Temporal::Date(date)) => date.try_into().ok()?,
        Value::String(text) => DateTime::from_str(text.as_str()).ok()?,
        _ => return None,
    }))
}

fn to_date(value: Value<'_>) -> Option<Temporal> {
    match value {
        Value::Temporal(date @ Temporal::Date(_)) => Some(date),
        Value::DateTime(at) => at.try_into().ok().map(Temporal::Date),
        other => parsed(other, "date"),
    }
}

fn to_time(value: Value<'_>) -> Option<Temporal> {
    match value {
        Value::Temporal(time @ Temporal::Time(_)) => Some(time),
        Value::DateTime(at) => Some(Temporal::Time(at.into())),
        other => parsed(other, "time"),
    }
}

fn to_duration(value: Value<'_>) -> Option<Temporal> {
    match value {
        Value::Temporal(duration) => duration.as_duration().map(Temporal::Duration),
        other => parsed(other, "duration"),
    }
}

fn to_year_month(value: Value<'_>) -> Option<Temporal> {
    match value {
        Value::Temporal(months @ Temporal::YearMonth(_)) => Some(months),
        Value::Temporal(Temporal::Duration(duration)) => duration.try_into().ok().map(Temporal::YearMonth),
        other => parsed(other, "yearMonthDuration"),
    }
}

fn to_day_time(value: Value<'_>) -> Option<Temporal> {
    match value {
        Value::Temporal(time @ Temporal::DayTime(_)) => Some(time),
        Value::Temporal(Temporal::Duration(duration)) => duration.try_into().ok().map(Temporal::DayTime),
        other => parsed(other, "dayTimeDuration"),
    }
}

/// What the text of an `xsd:string` says.
fn parsed(value: Value<'_>, name: &str) -> Option<Temporal> {
    Temporal::parse(value.into_string()?.as_str(), name)
}
