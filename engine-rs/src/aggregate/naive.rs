//! Naive implementations of the aggregates beyond SPARQL, for the reference evaluator of the tests.

use super::{AggregateKind, AggregateSpec, Fraction, custom_aggregate, statistics};
use crate::encode::Dictionary;
use crate::expr::{Number, Value, compare_terms};
use oxrdf::{NamedNode, Term};
use spareval::{AggregateFunctionAccumulator, QueryEvaluator};
use std::collections::HashSet;

/// Registers those of the named aggregates that SPARQL lacks with the reference evaluator.
pub(super) fn register_custom_aggregates(mut evaluator: QueryEvaluator, names: &[NamedNode]) -> QueryEvaluator {
    for name in names {
        if let Some(AggregateSpec { kind, distinct }) = custom_aggregate(name.as_ref()) {
            evaluator = evaluator.with_custom_aggregate_function(name.clone(), move || {
                Box::new(Naive { kind: kind.clone(), seen: distinct.then(HashSet::new), terms: Vec::new() })
            });
        }
    }
    evaluator
}

/// Collects all values and computes the aggregate at the end.
struct Naive {
    kind: AggregateKind,
    /// With DISTINCT, the terms so far.
    seen: Option<HashSet<Term>>,
    terms: Vec<Term>,
}

impl AggregateFunctionAccumulator for Naive {
    fn accumulate(&mut self, element: Term) {
        if self.seen.as_mut().is_none_or(|seen| seen.insert(element.clone())) {
            self.terms.push(element);
        }
    }

    fn finish(&mut self) -> Option<Term> {
        let numbers = self.sorted_numbers()?;
        let counted: Vec<(f64, i64)> = numbers.iter().map(|number| (number.to_double().into(), 1)).collect();
        let variance = |sample| statistics::variance(&counted, sample);
        let result = match self.kind {
            AggregateKind::Median => at_fraction(Fraction::HALF, &numbers),
            AggregateKind::Percentile(fraction) => at_fraction(fraction, &numbers),
            AggregateKind::Variance { sample } => variance(sample).map(|value| Number::Double(value.into())),
            AggregateKind::StdDev { sample } => variance(sample).map(|value| Number::Double(value.sqrt().into())),
            _ => None,
        };
        result.map(|number| number.to_literal().into())
    }
}

impl Naive {
    /// `None` if one of the terms is not a number.
    fn sorted_numbers(&self) -> Option<Vec<Number>> {
        let mut dictionary = Dictionary::new(0);
        let mut ids: Vec<_> = self.terms.iter().map(|term| dictionary.intern(term.as_ref())).collect();
        ids.sort_by(|a, b| compare_terms(*a, *b, &dictionary));
        ids.iter().map(|id| Value::of(*id, &dictionary).as_number()).collect()
    }
}

fn at_fraction(fraction: Fraction, sorted: &[Number]) -> Option<Number> {
    let nth = |rank: i64| usize::try_from(rank).ok().and_then(|rank| sorted.get(rank)).copied();
    statistics::quantile(fraction, i64::try_from(sorted.len()).ok()?, nth)
}
