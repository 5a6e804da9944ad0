//! Parts of an `xsd:dateTime`.

use super::builtin::Builtin;
use super::numbers::Number;
use super::text::Text;
use super::value::Value;
use crate::time::Timestamp;
use oxrdf::vocab::xsd;
use oxsdatatypes::DateTime;
use spargebra::algebra::Function;

pub(super) fn builtin(function: &Function) -> Option<Builtin> {
    Some(match function {
        Function::Year => Builtin::Unary(|value| part(value, DateTime::year)),
        Function::Month => Builtin::Unary(|value| part(value, |at| at.month().into())),
        Function::Day => Builtin::Unary(|value| part(value, |at| at.day().into())),
        Function::Hours => Builtin::Unary(|value| part(value, |at| at.hour().into())),
        Function::Minutes => Builtin::Unary(|value| part(value, |at| at.minute().into())),
        Function::Seconds => {
            Builtin::Unary(|value| date_time(&value).map(|at| Value::Number(Number::Decimal(at.second()))))
        }
        Function::Timezone => Builtin::Unary(timezone),
        Function::Tz => Builtin::Unary(tz),
        _ => return None,
    })
}

/// `NOW()`: the instant of the evaluation, in UTC.
pub(super) fn at_instant(now: Timestamp) -> Value<'static> {
    const EPOCH_MS: i128 = 62_135_596_800_000;
    let ms = i128::from(now.as_millis()) + EPOCH_MS;
    let mut bytes = [0; 18];
    bytes[..16].copy_from_slice(&(ms * 1_000_000_000_000_000).to_be_bytes());
    Value::DateTime(DateTime::from_be_bytes(bytes))
}

fn date_time(value: &Value<'_>) -> Option<DateTime> {
    match value {
        Value::DateTime(at) => Some(*at),
        _ => None,
    }
}

fn part<'d>(value: Value<'d>, read: fn(DateTime) -> i64) -> Option<Value<'d>> {
    date_time(&value).map(|at| Value::integer(read(at)))
}

fn timezone(value: Value<'_>) -> Option<Value<'_>> {
    let offset = date_time(&value)?.timezone()?;
    Some(Value::Other {
        text: Text::Owned(offset.to_string()),
        datatype: Text::Borrowed(xsd::DAY_TIME_DURATION.as_str()),
    })
}

fn tz(value: Value<'_>) -> Option<Value<'_>> {
    let offset = date_time(&value)?.timezone_offset();
    Some(Value::String(Text::Owned(offset.map_or_else(String::new, |offset| offset.to_string()))))
}
