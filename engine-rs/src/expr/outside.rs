//! Functions that make texts grow, for an evaluator that is not ours and knows no limits: on terms, within a budget.

use super::casts::{self, DerivedInteger};
use super::numbers::Operator;
use super::regexes::{self, RegexCache};
use super::strings::{Concat, encode_for_uri};
use super::temporal;
use super::value::Value;
use crate::limits::{Budget, Limits};
use oxrdf::{NamedNode, Term};
use spargebra::algebra::Function;
use std::sync::{Mutex, PoisonError};

/// `CONCAT`, `REPLACE` or `ENCODE_FOR_URI`, as our own expressions compute them.
pub(crate) struct GrowingFunction {
    function: Function,
    limits: Limits,
    /// Behind a lock because the evaluator asks for it; nobody ever waits.
    regexes: Mutex<RegexCache>,
}

impl GrowingFunction {
    pub(crate) fn new(function: Function, limits: Limits) -> Self {
        Self { function, limits, regexes: Mutex::default() }
    }

    /// Whether the text such a function makes can be much longer than what it is given.
    pub(crate) fn is(function: &Function) -> bool {
        matches!(function, Function::Concat | Function::Replace | Function::EncodeForUri)
    }

    /// The value; unwinds when it is longer than the limit.
    pub(crate) fn call(&self, arguments: &[Term]) -> Option<Term> {
        // Only lengths are limited here: work is counted where texts come and go.
        let budget = &mut Budget::new(Limits { work: None, ..self.limits });
        let mut values = arguments.iter().map(|term| Value::of_term(term.as_ref()));
        let value = match self.function {
            Function::Concat => {
                let mut result = Concat::default();
                values.try_for_each(|value| result.push(value, budget))?;
                result.finish()
            }
            Function::EncodeForUri => encode_for_uri(values.next()?)?,
            Function::Replace => {
                let (text, pattern, replacement) = (values.next()?, values.next()?, values.next()?);
                let flags = values.next().map(Value::into_string);
                let flags = flags.as_ref().map_or(Some(""), |flags| flags.as_ref().map(|flags| flags.as_str()))?;
                let mut cache = self.regexes.lock().unwrap_or_else(PoisonError::into_inner);
                let regex = cache.get(pattern.into_string()?.as_str(), flags)?;
                drop(cache);
                regexes::replace(text, &regex, replacement, budget)?
            }
            _ => return None,
        };
        budget.admits_literal(value.made_bytes()).then(|| value.into_term())
    }
}

/// `+` for an evaluator that takes the sides of an addition in any order, also where they are of different types.
pub(crate) fn add(arguments: &[Term]) -> Option<Term> {
    let [a, b] = arguments else { return None };
    match (Value::of_term(a.as_ref()), Value::of_term(b.as_ref())) {
        (Value::Number(a), Value::Number(b)) => a.apply(Operator::Add, b).map(|sum| sum.to_literal().into()),
        (a, b) => temporal::apply(Operator::Add, &a, &b).map(Value::into_term),
    }
}

/// A function that the other evaluator does not know by its IRI: a cast to a type derived from `xsd:integer`, or one
/// that nobody knows, which is an error when it is called.
pub(crate) struct OutsideFunction(Option<DerivedInteger>);

impl OutsideFunction {
    /// `None` for functions the other evaluator knows.
    pub(crate) fn of(iri: &NamedNode) -> Option<Self> {
        let derived = casts::lookup_derived(iri.as_ref());
        (derived.is_some() || !casts::is_known(iri.as_ref())).then_some(Self(derived))
    }

    pub(crate) fn call(&self, arguments: &[Term]) -> Option<Term> {
        let (derived, [argument]) = (self.0?, arguments) else { return None };
        derived.cast(Value::of_term(argument.as_ref())).map(|value| derived.literal(value).into())
    }
}
