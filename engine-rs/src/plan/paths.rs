//! Rewrites property paths without closure to joins, unions and DISTINCT; closures are re-evaluated.

use super::blanks::open_blank;
use super::spelling::Meanings;
use super::translate::single_value;
use crate::algebra;
use oxrdf::Variable;
use spargebra::algebra::{Expression, GraphPattern, PropertyPathExpression};
use spargebra::term::{GroundTerm, NamedNodePattern, TermPattern, TriplePattern};

/// Creates variables that the user cannot have written.
#[derive(Debug, Default)]
pub(super) struct FreshVariables {
    made: u32,
    pub meanings: Meanings,
}

impl FreshVariables {
    pub(super) fn next(&mut self, purpose: &str) -> Variable {
        self.made += 1;
        Variable::new_unchecked(format!("_whorl_{purpose}_{}", self.made))
    }

    /// A variable that plans print as what it stands for.
    pub(super) fn standing_for(&mut self, purpose: &str, meaning: String) -> Variable {
        let variable = self.next(purpose);
        self.meanings.insert(variable.clone(), meaning);
        variable
    }
}

/// Whether [`unfold`] would rewrite this path.
pub(super) fn unfolds(subject: &TermPattern, path: &PropertyPathExpression, object: &TermPattern) -> bool {
    use PropertyPathExpression as P;
    let closed = closed(path);
    match &closed {
        _ if closed != *path => true,
        P::OneOrMore(_) => false,
        P::ZeroOrMore(_) => !is_open(subject) || !is_open(object),
        P::Reverse(inner) => unfolds(object, inner, subject) || !matches!(**inner, P::OneOrMore(_) | P::ZeroOrMore(_)),
        _ => true,
    }
}

/// Rewrites all paths of a pattern, because the evaluator treats alternatives as sets. Paths inside EXISTS stay whole:
/// their ends may be substituted, and a substituted term need not occur in the graph.
pub(super) fn unfold_paths(pattern: &GraphPattern, fresh: &mut FreshVariables) -> GraphPattern {
    let mut pattern = pattern.clone();
    if let GraphPattern::Path { subject, path, object } = &pattern
        && let Some(unfolded) = unfold(subject, path, object, fresh)
    {
        return unfolded;
    }
    for expression in algebra::expressions_mut(&mut pattern) {
        algebra::exists_mut(expression).into_iter().for_each(close_paths);
    }
    for child in algebra::children_mut(&mut pattern) {
        *child = unfold_paths(child, fresh);
    }
    pattern
}

/// [`unfold_paths`] for a pattern that is evaluated on its own.
pub(crate) fn evaluable(pattern: &GraphPattern) -> GraphPattern {
    unfold_paths(pattern, &mut FreshVariables::default())
}

fn close_paths(pattern: &mut GraphPattern) {
    if let GraphPattern::Path { path, .. } = pattern {
        *path = closed(path);
    }
    for expression in algebra::expressions_mut(pattern) {
        algebra::exists_mut(expression).into_iter().for_each(close_paths);
    }
    algebra::children_mut(pattern).into_iter().for_each(close_paths);
}

/// An equivalent path without a closure over a nullable path: `(p*)+` becomes `p*`, which starts at any term.
fn closed(path: &PropertyPathExpression) -> PropertyPathExpression {
    use PropertyPathExpression as P;
    let again = |path: &P| Box::new(closed(path));
    match path {
        P::NamedNode(_) | P::NegatedPropertySet(_) => path.clone(),
        P::Reverse(inner) => P::Reverse(again(inner)),
        P::Sequence(a, b) => P::Sequence(again(a), again(b)),
        P::Alternative(a, b) => P::Alternative(again(a), again(b)),
        P::ZeroOrOne(inner) => P::ZeroOrOne(again(inner)),
        P::ZeroOrMore(inner) => P::ZeroOrMore(Box::new(not_empty(&closed(inner)))),
        P::OneOrMore(inner) if is_nullable(inner) => P::ZeroOrMore(Box::new(not_empty(&closed(inner)))),
        P::OneOrMore(inner) => P::OneOrMore(again(inner)),
    }
}

/// Whether the path may have length zero.
pub(super) fn is_nullable(path: &PropertyPathExpression) -> bool {
    use PropertyPathExpression as P;
    match path {
        P::NamedNode(_) | P::NegatedPropertySet(_) => false,
        P::ZeroOrMore(_) | P::ZeroOrOne(_) => true,
        P::Reverse(inner) | P::OneOrMore(inner) => is_nullable(inner),
        P::Sequence(a, b) => is_nullable(a) && is_nullable(b),
        P::Alternative(a, b) => is_nullable(a) || is_nullable(b),
    }
}

/// A path that is never empty and has the same closure: anything that takes two of its steps may be omitted.
fn not_empty(path: &PropertyPathExpression) -> PropertyPathExpression {
    use PropertyPathExpression as P;
    match path {
        path if !is_nullable(path) => path.clone(),
        P::ZeroOrMore(inner) | P::ZeroOrOne(inner) | P::OneOrMore(inner) => not_empty(inner),
        P::Reverse(inner) => P::Reverse(Box::new(not_empty(inner))),
        P::Sequence(a, b) | P::Alternative(a, b) => P::Alternative(Box::new(not_empty(a)), Box::new(not_empty(b))),
        path => path.clone(),
    }
}

/// A part of a path, rewritten as far as possible.
fn part(
    subject: &TermPattern,
    path: &PropertyPathExpression,
    object: &TermPattern,
    fresh: &mut FreshVariables,
) -> GraphPattern {
    unfold(subject, path, object, fresh).unwrap_or_else(|| GraphPattern::Path {
        subject: subject.clone(),
        path: path.clone(),
        object: object.clone(),
    })
}

/// The path as triple patterns, joins, unions and closures; `None` if it is itself a closure.
pub(super) fn unfold(
    subject: &TermPattern,
    path: &PropertyPathExpression,
    object: &TermPattern,
    fresh: &mut FreshVariables,
) -> Option<GraphPattern> {
    use PropertyPathExpression as P;
    let closed = closed(path);
    match &closed {
        P::NamedNode(predicate) => Some(step(subject, predicate.clone().into(), object)),
        P::Reverse(inner) => unfold(object, inner, subject, fresh),
        P::Sequence(first, second) => {
            let middle = TermPattern::Variable(fresh.next("path"));
            let left = part(subject, first, &middle, fresh);
            let right = part(&middle, second, object, fresh);
            Some(GraphPattern::Join { left: left.into(), right: right.into() })
        }
        P::Alternative(one, other) => {
            let left = part(subject, one, object, fresh);
            let right = part(subject, other, object, fresh);
            Some(GraphPattern::Union { left: left.into(), right: right.into() })
        }
        P::NegatedPropertySet(predicates) => {
            let predicate = fresh.next("path");
            let listed = predicates.iter().map(|p| Expression::NamedNode(p.clone())).collect();
            let is_listed = Expression::In(Expression::Variable(predicate.clone()).into(), listed);
            let inner = step(subject, predicate.into(), object);
            Some(GraphPattern::Filter { expr: Expression::Not(is_listed.into()), inner: inner.into() })
        }
        P::ZeroOrOne(inner) => zero_or_one(subject, inner, object, fresh),
        // A path from or to a term reaches that term even if the graph does not contain it.
        P::ZeroOrMore(inner) if !is_open(subject) || !is_open(object) => {
            let more = P::OneOrMore(inner.clone());
            let (subject, object) = (open_blank(subject), open_blank(object));
            let one = GraphPattern::Path { subject: subject.clone(), path: more, object: object.clone() };
            or_nothing(&subject, &object, one, fresh)
        }
        // A closure of a nullable path is a different closure.
        _ if closed != *path => {
            Some(GraphPattern::Path { subject: subject.clone(), path: closed, object: object.clone() })
        }
        P::ZeroOrMore(_) | P::OneOrMore(_) => None,
    }
}

fn is_open(term: &TermPattern) -> bool {
    matches!(term, TermPattern::Variable(_) | TermPattern::BlankNode(_))
}

/// Path or nothing: each pair once, and every node of the graph paired with itself.
fn zero_or_one(
    subject: &TermPattern,
    path: &PropertyPathExpression,
    object: &TermPattern,
    fresh: &mut FreshVariables,
) -> Option<GraphPattern> {
    let (subject, object) = (open_blank(subject), open_blank(object));
    let one = part(&subject, path, &object, fresh);
    or_nothing(&subject, &object, one, fresh)
}

fn or_nothing(
    subject: &TermPattern,
    object: &TermPattern,
    one: GraphPattern,
    fresh: &mut FreshVariables,
) -> Option<GraphPattern> {
    let zero = match (subject, object) {
        (TermPattern::Variable(s), TermPattern::Variable(o)) if s == o => return Some(nodes(s, fresh)),
        (TermPattern::Variable(s), TermPattern::Variable(o)) => GraphPattern::Extend {
            inner: nodes(s, fresh).into(),
            variable: o.clone(),
            expression: Expression::Variable(s.clone()),
        },
        (TermPattern::Variable(variable), constant) | (constant, TermPattern::Variable(variable)) => {
            single_value(variable, ground(constant)?)
        }
        (s, o) if s == o => GraphPattern::Bgp { patterns: vec![] },
        _ => return Some(distinct(one, vec![])),
    };
    let ends = [subject, object].into_iter().filter_map(|end| match end {
        TermPattern::Variable(variable) => Some(variable.clone()),
        _ => None,
    });
    let either = GraphPattern::Union { left: zero.into(), right: one.into() };
    Some(distinct(either, ends.collect()))
}

/// Every subject and object of the graph, once.
fn nodes(variable: &Variable, fresh: &mut FreshVariables) -> GraphPattern {
    let mut side = |is_subject: bool| {
        let (predicate, other) = (fresh.next("path"), TermPattern::from(fresh.next("path")));
        let node = TermPattern::from(variable.clone());
        let pattern =
            if is_subject { step(&node, predicate.into(), &other) } else { step(&other, predicate.into(), &node) };
        GraphPattern::Project { inner: pattern.into(), variables: vec![variable.clone()] }
    };
    let (subjects, objects) = (side(true), side(false));
    let all = GraphPattern::Union { left: subjects.into(), right: objects.into() };
    GraphPattern::Distinct { inner: all.into() }
}

fn distinct(inner: GraphPattern, variables: Vec<Variable>) -> GraphPattern {
    let project = GraphPattern::Project { inner: inner.into(), variables };
    GraphPattern::Distinct { inner: project.into() }
}

fn ground(term: &TermPattern) -> Option<GroundTerm> {
    match term {
        TermPattern::NamedNode(node) => Some(node.clone().into()),
        TermPattern::Literal(literal) => Some(literal.clone().into()),
        _ => None,
    }
}

fn step(subject: &TermPattern, predicate: NamedNodePattern, object: &TermPattern) -> GraphPattern {
    let pattern = TriplePattern { subject: subject.clone(), predicate, object: object.clone() };
    GraphPattern::Bgp { patterns: vec![pattern] }
}
