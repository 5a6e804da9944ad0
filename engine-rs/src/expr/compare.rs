//! `=` and `<` on values, with SPARQL's errors for values that cannot be compared.

use super::value::{TripleValue, Value};
use crate::encode::{Dictionary, Inline};
use crate::model::TermId;
use oxrdf::TermRef;
use oxrdf::vocab::xsd;
use std::cmp::Ordering;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Comparison {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparison {
    /// Whether the comparison holds for this ordering. With NaN there is no ordering, and no comparison holds.
    pub(super) fn accepts(self, ordering: Option<Ordering>) -> bool {
        ordering.is_some_and(|ordering| match self {
            Self::Less => ordering.is_lt(),
            Self::LessOrEqual => ordering.is_le(),
            Self::Greater => ordering.is_gt(),
            Self::GreaterOrEqual => ordering.is_ge(),
        })
    }
}

/// The operator `=`. Two different literals, one of them of an unknown datatype, yield an error: their values may still
/// be equal.
pub(super) fn equals(a: &Value<'_>, b: &Value<'_>) -> Option<bool> {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => Some(a.equals(*b)),
        (Value::Triple(a), Value::Triple(b)) => triple_equals(a, b),
        (Value::Temporal(a), Value::Temporal(b)) => a.equals(*b),
        (Value::Other { .. }, Value::Other { .. }) => a.is_identical(b).then_some(true),
        (Value::Other { .. }, other) | (other, Value::Other { .. }) if is_typed_literal(other) => None,
        _ => Some(a.is_identical(b)),
    }
}

fn triple_equals(a: &TripleValue<'_>, b: &TripleValue<'_>) -> Option<bool> {
    if !a.subject.is_identical(&b.subject) || a.predicate != b.predicate {
        return Some(false);
    }
    equals(&a.object, &b.object)
}

fn is_typed_literal(value: &Value<'_>) -> bool {
    matches!(value, Value::String(_) | Value::Boolean(_) | Value::Number(_) | Value::DateTime(_) | Value::Temporal(_))
}

/// `=` decided on the ids alone, without reading the values; `None` when that is not possible.
pub(super) fn equals_by_id(a: TermId, b: TermId, dictionary: &Dictionary) -> Option<bool> {
    if a == b {
        return is_equal_to_itself(a, dictionary).then_some(true);
    }
    if let Some(ordering) = compare_instants(a, b) {
        return Some(ordering.is_eq());
    }
    (is_resource(a, dictionary) || is_resource(b, dictionary)).then_some(false)
}

/// The order of two inlined dateTimes, both with a zone or both without one.
pub(super) fn compare_instants(a: TermId, b: TermId) -> Option<Ordering> {
    let (Some(Inline::DateTime(a)), Some(Inline::DateTime(b))) = (a.inline_value(), b.inline_value()) else {
        return None;
    };
    match (a.epoch_ms(), b.epoch_ms()) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        (None, None) => Some(a.local_ms.cmp(&b.local_ms)),
        _ => None,
    }
}

/// False for NaN and for what may contain it.
fn is_equal_to_itself(id: TermId, dictionary: &Dictionary) -> bool {
    match id.inline_value() {
        Some(Inline::Double(value)) => !value.is_nan(),
        Some(Inline::Float(value)) => !value.is_nan(),
        Some(_) => true,
        None => match dictionary.stored(id) {
            TermRef::Literal(literal) => literal.datatype() != xsd::DOUBLE && literal.datatype() != xsd::FLOAT,
            TermRef::Triple(_) => false,
            TermRef::NamedNode(_) | TermRef::BlankNode(_) => true,
        },
    }
}

fn is_resource(id: TermId, dictionary: &Dictionary) -> bool {
    match id.inline_value() {
        Some(inline) => matches!(inline, Inline::Blank(_)),
        None => matches!(dictionary.stored(id), TermRef::NamedNode(_) | TermRef::BlankNode(_)),
    }
}

/// The ordering behind `<`, `<=`, `>` and `>=`. `None` is an error: SPARQL does not order IRIs, blank nodes and
/// literals of unknown datatypes, not even relative to themselves. `Some(None)` means numbers without an order.
pub(super) fn compare(a: &Value<'_>, b: &Value<'_>) -> Option<Option<Ordering>> {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => Some(a.compare(*b)),
        (Value::String(a), Value::String(b)) => Some(Some(a.as_str().cmp(b.as_str()))),
        (Value::LangString(a, la), Value::LangString(b, lb)) if la == lb => Some(Some(a.as_str().cmp(b.as_str()))),
        (Value::Boolean(a), Value::Boolean(b)) => Some(Some(a.cmp(b))),
        (Value::DateTime(a), Value::DateTime(b)) => a.partial_cmp(b).map(Some),
        (Value::Triple(a), Value::Triple(b)) => compare_triples(a, b),
        (Value::Temporal(a), Value::Temporal(b)) => a.compare(*b).map(Some),
        _ => None,
    }
}

fn compare_triples(a: &TripleValue<'_>, b: &TripleValue<'_>) -> Option<Option<Ordering>> {
    if !a.subject.is_identical(&b.subject) || a.predicate != b.predicate {
        return None;
    }
    compare(&a.object, &b.object)
}
