//! The shape of a built-in function, and the one place that asks every family for it.

use super::value::Value;
use super::{arithmetic, datetimes, hashes, strings, terms};
use spargebra::algebra::Function;

/// A function of values that needs nothing else. Functions that read the clock, the base IRI or the scratch space, or
/// take a variable number of arguments, are nodes of their own (see `node.rs`).
#[derive(Clone, Copy)]
pub(super) enum Builtin {
    Unary(for<'d> fn(Value<'d>) -> Option<Value<'d>>),
    Binary(for<'d> fn(Value<'d>, Value<'d>) -> Option<Value<'d>>),
    Ternary(for<'d> fn(Value<'d>, Value<'d>, Value<'d>) -> Option<Value<'d>>),
}

pub(super) fn lookup(function: &Function) -> Option<Builtin> {
    strings::builtin(function)
        .or_else(|| arithmetic::builtin(function))
        .or_else(|| datetimes::builtin(function))
        .or_else(|| hashes::builtin(function))
        .or_else(|| terms::builtin(function))
}
