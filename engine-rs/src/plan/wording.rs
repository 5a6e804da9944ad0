//! Expressions, aggregates and patterns as one line of SPARQL, for readers of plans.
//!
//! spargebra prints arithmetic without brackets; this module adds them exactly where precedence requires them.

use super::logical::{LeafPlan, Place};
use crate::expr::TRIPLE_PART;
use crate::parse::AGGREGATE_PREFIX;
use oxrdf::Variable;
use spargebra::algebra::{AggregateExpression, AggregateFunction, Expression, Function, GraphPattern, OrderExpression};

/// Operator precedence.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Tightness {
    Or,
    And,
    Comparison,
    Sum,
    Product,
    Sign,
    Whole,
}

pub(super) fn expression_text(expression: &Expression) -> String {
    at_least(expression, Tightness::Or)
}

/// The expression in a form that can stand anywhere: in brackets unless it is a single term or call.
pub(super) fn operand_text(expression: &Expression) -> String {
    at_least(expression, Tightness::Whole)
}

fn at_least(expression: &Expression, wanted: Tightness) -> String {
    use Expression as E;
    use Tightness as T;
    let binary = |a: &Expression, sign: &str, b: &Expression, left: T, right: T| {
        format!("{} {sign} {}", at_least(a, left), at_least(b, right))
    };
    let (text, tightness) = match expression {
        E::Or(a, b) => (binary(a, "||", b, T::Or, T::Or), T::Or),
        E::And(a, b) => (binary(a, "&&", b, T::And, T::And), T::And),
        E::Equal(a, b) => (binary(a, "=", b, T::Sum, T::Sum), T::Comparison),
        E::Greater(a, b) => (binary(a, ">", b, T::Sum, T::Sum), T::Comparison),
        E::GreaterOrEqual(a, b) => (binary(a, ">=", b, T::Sum, T::Sum), T::Comparison),
        E::Less(a, b) => (binary(a, "<", b, T::Sum, T::Sum), T::Comparison),
        E::LessOrEqual(a, b) => (binary(a, "<=", b, T::Sum, T::Sum), T::Comparison),
        E::In(a, list) => (format!("{} IN {}", at_least(a, T::Sum), arguments(list)), T::Comparison),
        E::Add(a, b) => (binary(a, "+", b, T::Sum, T::Product), T::Sum),
        E::Subtract(a, b) => (binary(a, "-", b, T::Sum, T::Product), T::Sum),
        E::Multiply(a, b) => (binary(a, "*", b, T::Product, T::Sign), T::Product),
        E::Divide(a, b) => (binary(a, "/", b, T::Product, T::Sign), T::Product),
        E::UnaryPlus(a) => (format!("+{}", at_least(a, T::Whole)), T::Sign),
        E::UnaryMinus(a) => (format!("-{}", at_least(a, T::Whole)), T::Sign),
        E::Not(a) => match a.as_ref() {
            E::Equal(a, b) => (binary(a, "!=", b, T::Sum, T::Sum), T::Comparison),
            E::In(a, list) => (format!("{} NOT IN {}", at_least(a, T::Sum), arguments(list)), T::Comparison),
            E::Exists(_) => (expression.to_string(), T::Whole),
            a => (format!("!{}", at_least(a, T::Whole)), T::Sign),
        },
        E::SameTerm(a, b) => (format!("sameTerm({}, {})", expression_text(a), expression_text(b)), T::Whole),
        E::If(a, b, c) => {
            (format!("IF({}, {}, {})", expression_text(a), expression_text(b), expression_text(c)), T::Whole)
        }
        E::Coalesce(list) => (format!("COALESCE{}", arguments(list)), T::Whole),
        E::FunctionCall(Function::Custom(iri), list) if iri.as_str() == TRIPLE_PART => (part_text(list), T::Whole),
        E::FunctionCall(function, list) => (format!("{function}{}", arguments(list)), T::Whole),
        E::NamedNode(_) | E::Literal(_) | E::Variable(_) | E::Bound(_) | E::Exists(_) => {
            (expression.to_string(), T::Whole)
        }
    };
    if tightness < wanted { format!("({text})") } else { text }
}

/// A component of a triple term, written as the SPARQL function that returns it.
fn part_text(list: &[Expression]) -> String {
    let [whole, Expression::Literal(path)] = list else { return arguments(list) };
    path.value().chars().fold(expression_text(whole), |inner, step| match step {
        's' => format!("SUBJECT({inner})"),
        'p' => format!("PREDICATE({inner})"),
        _ => format!("OBJECT({inner})"),
    })
}

fn arguments(list: &[Expression]) -> String {
    format!("({})", list.iter().map(expression_text).collect::<Vec<_>>().join(", "))
}

pub(super) fn order_text(order: &[OrderExpression]) -> String {
    let one = |order: &OrderExpression| match order {
        OrderExpression::Asc(expression) => operand_text(expression),
        OrderExpression::Desc(expression) => format!("DESC({})", expression_text(expression)),
    };
    order.iter().map(one).collect::<Vec<_>>().join(" ")
}

/// `SUM(?x)`; aggregates beyond SPARQL as the user writes them, not as the IRIs that the parser substitutes.
pub(super) fn aggregate_text(aggregate: &AggregateExpression) -> String {
    let AggregateExpression::FunctionCall { name, expr, distinct } = aggregate else { return aggregate.to_string() };
    let (name, mut distinct) = (name, *distinct);
    let mut end = String::new();
    let name = match name {
        AggregateFunction::Custom(iri) => {
            let Some(own) = iri.as_str().strip_prefix(AGGREGATE_PREFIX) else { return aggregate.to_string() };
            let plain = own.strip_suffix(":distinct");
            distinct |= plain.is_some();
            let mut parts = plain.unwrap_or(own).splitn(2, ':');
            let name = parts.next().unwrap_or_default().to_uppercase();
            end.extend(parts.map(|fraction| format!(", {fraction}")));
            name
        }
        AggregateFunction::GroupConcat { separator: Some(separator) } => {
            end = format!("; SEPARATOR={}", oxrdf::Literal::from(separator.as_str()));
            name.to_string()
        }
        name => name.to_string(),
    };
    let distinct = if distinct { "DISTINCT " } else { "" };
    format!("{name}({distinct}{}{end})", expression_text(expr))
}

pub(super) fn pattern_text(pattern: &GraphPattern) -> String {
    format!("{{ {pattern} }}")
}

/// The triple pattern of a leaf, with the graph and time of the event if it reads them.
pub(super) fn leaf_text(leaf: &LeafPlan) -> String {
    let text = |place: &Place| match place {
        Place::Term(term) => term.to_string(),
        Place::Variable(variable) => variable.to_string(),
    };
    let triple = leaf.places.iter().map(text).collect::<Vec<_>>().join(" ");
    let triple = match &leaf.graph {
        Some(graph) => format!("GRAPH {} {{ {triple} }}", text(graph)),
        None => triple,
    };
    match &leaf.time {
        Some(time) => format!("{triple} at {time}"),
        None => triple,
    }
}

pub(super) fn variables_text(variables: &[Variable]) -> String {
    variables.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::expression_text;
    use spargebra::algebra::GraphPattern;
    use spargebra::{Query, SparqlParser};

    fn reworded(expression: &str) -> String {
        let query = SparqlParser::new().parse_query(&format!("ASK {{ FILTER({expression}) }}")).expect("a query");
        let Query::Ask { pattern: GraphPattern::Project { inner, .. }, .. } = query else { panic!("a projection") };
        let GraphPattern::Filter { expr, .. } = *inner else { panic!("a filter: {inner}") };
        expression_text(&expr)
    }

    #[test]
    fn brackets_stand_where_precedence_needs_them() {
        for text in [
            "(?a + ?b) * ?c",
            "?a + ?b * ?c",
            "?a - (?b - ?c)",
            "?a - ?b - ?c",
            "(?a || ?b) && !(?c || ?d)",
            "?a || ?b && ?c",
            "?a != ?b",
            "-(?a + ?b) < ?c",
            "?a NOT IN (?b, ?c + ?d)",
            "!BOUND(?a)",
            "IF(?a > ?b, ?a, COALESCE(?b, ?c))",
        ] {
            assert_eq!(reworded(text), text);
        }
    }
}
