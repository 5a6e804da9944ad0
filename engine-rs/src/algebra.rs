//! The one traversal of SPARQL algebra: the patterns and expressions directly inside a pattern or an expression.
//!
//! Input: a node of spargebra's tree. Output: the nodes one level below it, by shared or mutable reference. Everything
//! that inspects a whole query is a recursion over these lists, and names only the constructs it treats specially.
//! There is no catch-all arm, so the compiler points at this file when the parser gains a construct.

use spargebra::algebra::{AggregateExpression, Expression, GraphPattern, OrderExpression};

/// One list of match arms serves both kinds of references, because patterns bind in the mode of the scrutinee.
macro_rules! patterns_inside {
    ($pattern:expr) => {
        match $pattern {
            GraphPattern::Bgp { .. } | GraphPattern::Path { .. } | GraphPattern::Values { .. } => vec![],
            GraphPattern::Join { left, right }
            | GraphPattern::LeftJoin { left, right, .. }
            | GraphPattern::Union { left, right }
            | GraphPattern::Minus { left, right } => vec![left, right],
            GraphPattern::Filter { inner, .. }
            | GraphPattern::Graph { inner, .. }
            | GraphPattern::Extend { inner, .. }
            | GraphPattern::OrderBy { inner, .. }
            | GraphPattern::Project { inner, .. }
            | GraphPattern::Distinct { inner }
            | GraphPattern::Reduced { inner }
            | GraphPattern::Slice { inner, .. }
            | GraphPattern::Group { inner, .. }
            | GraphPattern::Service { inner, .. } => vec![inner],
        }
    };
}

/// `iter` or `iter_mut` selects the kind of reference.
macro_rules! expressions_of {
    ($pattern:expr, $iter:ident) => {
        match $pattern {
            GraphPattern::Filter { expr, .. } => vec![expr],
            GraphPattern::LeftJoin { expression, .. } => expression.$iter().collect(),
            GraphPattern::Extend { expression, .. } => vec![expression],
            GraphPattern::OrderBy { expression, .. } => {
                let keys = expression.$iter().map(|order| match order {
                    OrderExpression::Asc(expression) | OrderExpression::Desc(expression) => expression,
                });
                keys.collect()
            }
            GraphPattern::Group { aggregates, .. } => {
                let arguments = aggregates.$iter().filter_map(|(_, aggregate)| match aggregate {
                    AggregateExpression::CountSolutions { .. } => None,
                    AggregateExpression::FunctionCall { expr, .. } => Some(expr),
                });
                arguments.collect()
            }
            GraphPattern::Bgp { .. }
            | GraphPattern::Path { .. }
            | GraphPattern::Values { .. }
            | GraphPattern::Join { .. }
            | GraphPattern::Union { .. }
            | GraphPattern::Minus { .. }
            | GraphPattern::Graph { .. }
            | GraphPattern::Project { .. }
            | GraphPattern::Distinct { .. }
            | GraphPattern::Reduced { .. }
            | GraphPattern::Slice { .. }
            | GraphPattern::Service { .. } => vec![],
        }
    };
}

macro_rules! parts_of {
    ($expression:expr, $iter:ident, $part:ty) => {{
        use Expression as E;
        match $expression {
            E::NamedNode(_) | E::Literal(_) | E::Variable(_) | E::Bound(_) | E::Exists(_) => vec![],
            E::Or(a, b)
            | E::And(a, b)
            | E::Equal(a, b)
            | E::SameTerm(a, b)
            | E::Greater(a, b)
            | E::GreaterOrEqual(a, b)
            | E::Less(a, b)
            | E::LessOrEqual(a, b)
            | E::Add(a, b)
            | E::Subtract(a, b)
            | E::Multiply(a, b)
            | E::Divide(a, b) => vec![a, b],
            E::UnaryPlus(a) | E::UnaryMinus(a) | E::Not(a) => vec![a],
            E::If(a, b, c) => vec![a, b, c],
            E::In(a, list) => {
                let mut parts: Vec<$part> = vec![a];
                parts.extend(list.$iter());
                parts
            }
            E::Coalesce(list) | E::FunctionCall(_, list) => list.$iter().collect(),
        }
    }};
}

/// The patterns directly inside a pattern; not those of EXISTS.
pub(crate) fn children(pattern: &GraphPattern) -> Vec<&GraphPattern> {
    patterns_inside!(pattern)
}

pub(crate) fn children_mut(pattern: &mut GraphPattern) -> Vec<&mut GraphPattern> {
    patterns_inside!(pattern)
}

/// The expressions directly inside a pattern.
pub(crate) fn expressions(pattern: &GraphPattern) -> Vec<&Expression> {
    expressions_of!(pattern, iter)
}

pub(crate) fn expressions_mut(pattern: &mut GraphPattern) -> Vec<&mut Expression> {
    expressions_of!(pattern, iter_mut)
}

/// The expressions directly inside an expression. A pattern inside EXISTS is not one of them.
pub(crate) fn parts(expression: &Expression) -> Vec<&Expression> {
    parts_of!(expression, iter, &Expression)
}

pub(crate) fn parts_mut(expression: &mut Expression) -> Vec<&mut Expression> {
    parts_of!(expression, iter_mut, &mut Expression)
}

/// The children of a pattern, and the patterns of EXISTS in its own expressions.
pub(crate) fn children_and_exists(pattern: &GraphPattern) -> Vec<&GraphPattern> {
    let mut patterns = children(pattern);
    patterns.extend(expressions(pattern).into_iter().flat_map(exists));
    patterns
}

/// The patterns of EXISTS in an expression.
pub(crate) fn exists(expression: &Expression) -> Vec<&GraphPattern> {
    match expression {
        Expression::Exists(pattern) => vec![pattern],
        other => parts(other).into_iter().flat_map(exists).collect(),
    }
}

pub(crate) fn exists_mut(expression: &mut Expression) -> Vec<&mut GraphPattern> {
    match expression {
        Expression::Exists(pattern) => vec![pattern],
        other => parts_mut(other).into_iter().flat_map(exists_mut).collect(),
    }
}

/// Visits an expression and its parts, but not the patterns inside EXISTS.
pub(crate) fn visit_expression<'a>(expression: &'a Expression, visit: &mut impl FnMut(&'a Expression)) {
    visit(expression);
    parts(expression).into_iter().for_each(|part| visit_expression(part, visit));
}

/// The expression with some of its parts replaced. Where `change` returns `None`, its parts are tried in turn. Patterns
/// inside EXISTS stay as they are.
pub(crate) fn rewrite(
    expression: &Expression,
    change: &mut dyn FnMut(&Expression) -> Option<Expression>,
) -> Expression {
    let mut rewritten = expression.clone();
    replace(&mut rewritten, change);
    rewritten
}

fn replace(expression: &mut Expression, change: &mut dyn FnMut(&Expression) -> Option<Expression>) {
    match change(expression) {
        Some(changed) => *expression = changed,
        None => parts_mut(expression).into_iter().for_each(|part| replace(part, change)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxrdf::Variable;
    use spargebra::SparqlParser;
    use std::collections::BTreeSet;

    fn pattern_of(text: &str) -> GraphPattern {
        let query = SparqlParser::new().parse_query(text).expect("a query");
        let (spargebra::Query::Select { pattern, .. } | spargebra::Query::Ask { pattern, .. }) = query else {
            panic!("SELECT or ASK")
        };
        pattern
    }

    /// Every variable of a pattern, found by this traversal alone.
    fn walked(pattern: &GraphPattern, found: &mut BTreeSet<String>) {
        if let GraphPattern::Bgp { patterns } = pattern {
            found.extend(patterns.iter().map(|triple| triple.subject.to_string()));
        }
        for expression in expressions(pattern) {
            visit_expression(expression, &mut |e| {
                if let Expression::Variable(variable) | Expression::Bound(variable) = e {
                    found.insert(variable.to_string());
                }
            });
        }
        children_and_exists(pattern).into_iter().for_each(|child| walked(child, found));
    }

    #[test]
    fn the_walk_reaches_every_pattern_and_expression() {
        let text = "SELECT (SUM(?sum) AS ?out) { ?bgp ?p 1 OPTIONAL { ?optional ?p 2 FILTER(?condition > 1) } \
                    { ?one ?p 3 } UNION { ?other ?p 4 } MINUS { ?minus ?p 5 } GRAPH ?g { ?graph ?p 6 } \
                    BIND(IF(?if, ?then, COALESCE(?coalesce, -?minus_sign)) AS ?bound) \
                    FILTER(!(?a + ?b IN (?c, ?d)) && EXISTS { ?exists ?p 7 FILTER NOT EXISTS { ?deep ?p 8 } }) \
                    { SELECT ?sub { ?sub ?p 9 } ORDER BY STRLEN(?order) LIMIT 1 } } GROUP BY ?group HAVING(?having > 1)";
        let mut found = BTreeSet::new();
        walked(&pattern_of(text), &mut found);
        for name in "sum bgp optional condition one other minus graph if then coalesce minus_sign a b c d exists deep \
                     sub order"
            .split_whitespace()
        {
            assert!(found.contains(&format!("?{name}")), "{name} of {found:?}");
        }
    }

    #[test]
    fn both_kinds_of_walk_see_the_same() {
        let text =
            "ASK { ?s ?p ?o FILTER(?a IN (?b, ?c + 1) || EXISTS { ?x ?y ?z } && IF(?d, ?e, !EXISTS { ?u ?v ?w })) }";
        let mut pattern = pattern_of(text);
        fn shared(pattern: &GraphPattern, seen: &mut Vec<String>) {
            seen.extend(expressions(pattern).into_iter().flat_map(exists).map(ToString::to_string));
            children(pattern).into_iter().for_each(|child| shared(child, seen));
        }
        fn changing(pattern: &mut GraphPattern, seen: &mut Vec<String>) {
            seen.extend(expressions_mut(pattern).into_iter().flat_map(exists_mut).map(|pattern| pattern.to_string()));
            children_mut(pattern).into_iter().for_each(|child| changing(child, seen));
        }
        let (mut read, mut changed) = (vec![], vec![]);
        shared(&pattern, &mut read);
        changing(&mut pattern, &mut changed);
        assert_eq!((read.len(), &read), (2, &changed));
    }

    #[test]
    fn what_is_replaced_is_not_looked_into() {
        let variable = |name: &str| Expression::Variable(Variable::new_unchecked(name));
        let sum = Expression::Add(variable("a").into(), Expression::Not(variable("a").into()).into());
        let doubled = rewrite(&sum, &mut |e| match e {
            Expression::Variable(_) => Some(Expression::Not(e.clone().into())),
            _ => None,
        });
        let not = |e: Expression| Expression::Not(e.into());
        assert_eq!(doubled, Expression::Add(not(variable("a")).into(), not(not(variable("a"))).into()));
    }
}
