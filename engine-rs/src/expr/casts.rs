//! Functions called by IRI: the XSD casts, and the place where later ones are added.

use super::builtin::Builtin;
use super::numbers::Number;
use super::terms;
use super::value::Value;
use oxrdf::NamedNodeRef;
use oxrdf::vocab::xsd;
use oxsdatatypes::{Boolean, DateTime, Decimal, Double, Float, Integer};
use std::str::FromStr;

/// The functions with an IRI. A new one is a line here and a function of values.
const FUNCTIONS: [(NamedNodeRef<'static>, Builtin); 7] = [
    (xsd::STRING, Builtin::Unary(terms::str)),
    (xsd::BOOLEAN, Builtin::Unary(to_boolean)),
    (xsd::INTEGER, Builtin::Unary(to_integer)),
    (xsd::DECIMAL, Builtin::Unary(to_decimal)),
    (xsd::FLOAT, Builtin::Unary(to_float)),
    (xsd::DOUBLE, Builtin::Unary(to_double)),
    (xsd::DATE_TIME, Builtin::Unary(to_date_time)),
];

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
        Value::String(text) => DateTime::from_str(text.as_str()).ok()?,
        _ => return None,
    }))
}
