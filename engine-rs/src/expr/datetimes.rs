//! Parts of dateTimes, dates and times of day.

use super::builtin::Builtin;
use super::numbers::Number;
use super::temporal::{self, Part, Temporal};
use super::text::Text;
use super::value::Value;
use crate::time::Timestamp;
use oxsdatatypes::DateTime;
use spargebra::algebra::Function;

pub(super) fn builtin(function: &Function) -> Option<Builtin> {
    Some(match function {
        Function::Year => Builtin::Unary(|value| temporal::part(&value, Part::Year)),
        Function::Month => Builtin::Unary(|value| temporal::part(&value, Part::Month)),
        Function::Day => Builtin::Unary(|value| temporal::part(&value, Part::Day)),
        Function::Hours => Builtin::Unary(|value| temporal::part(&value, Part::Hours)),
        Function::Minutes => Builtin::Unary(|value| temporal::part(&value, Part::Minutes)),
        Function::Seconds => {
            Builtin::Unary(|value| temporal::seconds(&value).map(|seconds| Value::Number(Number::Decimal(seconds))))
        }
        Function::Adjust => Builtin::Binary(temporal::adjust),
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

fn timezone(value: Value<'_>) -> Option<Value<'_>> {
    let offset = temporal::zone(&value)??;
    Some(Value::Temporal(Temporal::DayTime(offset.into())))
}

fn tz(value: Value<'_>) -> Option<Value<'_>> {
    let offset = temporal::zone(&value)?;
    Some(Value::String(Text::Owned(offset.map_or_else(String::new, |offset| offset.to_string()))))
}
