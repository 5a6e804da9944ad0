//! Property paths without closure are joins and unions; the others are re-evaluated.

use oxrdf::Variable;
use spargebra::algebra::{Expression, GraphPattern, PropertyPathExpression};
use spargebra::term::{NamedNodePattern, TermPattern, TriplePattern};

/// Makes variables the user cannot have written.
#[derive(Debug, Default)]
pub(super) struct FreshVariables {
    made: u32,
}

impl FreshVariables {
    pub(super) fn next(&mut self, purpose: &str) -> Variable {
        self.made += 1;
        Variable::new_unchecked(format!("_whorl_{purpose}_{}", self.made))
    }
}

/// The same path as triple patterns, joins and unions; `None` when it has a closure.
pub(super) fn unfold(
    subject: &TermPattern,
    path: &PropertyPathExpression,
    object: &TermPattern,
    fresh: &mut FreshVariables,
) -> Option<GraphPattern> {
    use PropertyPathExpression as P;
    match path {
        P::NamedNode(predicate) => Some(step(subject, predicate.clone().into(), object)),
        P::Reverse(inner) => unfold(object, inner, subject, fresh),
        P::Sequence(first, second) => {
            let middle = TermPattern::Variable(fresh.next("path"));
            let left = unfold(subject, first, &middle, fresh)?;
            let right = unfold(&middle, second, object, fresh)?;
            Some(GraphPattern::Join { left: left.into(), right: right.into() })
        }
        P::Alternative(one, other) => {
            let left = unfold(subject, one, object, fresh)?;
            let right = unfold(subject, other, object, fresh)?;
            Some(GraphPattern::Union { left: left.into(), right: right.into() })
        }
        P::NegatedPropertySet(predicates) => {
            let predicate = fresh.next("path");
            let listed = predicates.iter().map(|p| Expression::NamedNode(p.clone())).collect();
            let is_listed = Expression::In(Expression::Variable(predicate.clone()).into(), listed);
            let inner = step(subject, predicate.into(), object);
            Some(GraphPattern::Filter { expr: Expression::Not(is_listed.into()), inner: inner.into() })
        }
        P::ZeroOrMore(_) | P::OneOrMore(_) | P::ZeroOrOne(_) => None,
    }
}

fn step(subject: &TermPattern, predicate: NamedNodePattern, object: &TermPattern) -> GraphPattern {
    let pattern = TriplePattern { subject: subject.clone(), predicate, object: object.clone() };
    GraphPattern::Bgp { patterns: vec![pattern] }
}
