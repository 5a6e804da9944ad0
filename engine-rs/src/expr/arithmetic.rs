//! Functions on numbers, and `isNumeric`.

use super::builtin::Builtin;
use super::numbers::Number;
use super::value::Value;
use spargebra::algebra::Function;

pub(super) fn builtin(function: &Function) -> Option<Builtin> {
    Some(match function {
        Function::Abs => Builtin::Unary(|value| on_number(value, Number::abs)),
        Function::Ceil => Builtin::Unary(|value| on_number(value, Number::ceil)),
        Function::Floor => Builtin::Unary(|value| on_number(value, Number::floor)),
        Function::Round => Builtin::Unary(|value| on_number(value, Number::round)),
        Function::IsNumeric => Builtin::Unary(|value| Some(Value::Boolean(matches!(value, Value::Number(_))))),
        _ => return None,
    })
}

fn on_number<'d>(value: Value<'d>, apply: fn(Number) -> Option<Number>) -> Option<Value<'d>> {
    value.as_number().and_then(apply).map(Value::Number)
}
