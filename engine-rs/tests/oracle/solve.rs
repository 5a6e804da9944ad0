//! Full results by spareval over a plain dataset, as bags of rendered rows.

use crate::naive::term_text;
use spareval::{QueryEvaluator, QueryResults};
use spargebra::Query;
use spargebra::algebra::{Expression, GraphPattern};
use spargebra::term::{NamedNodePattern, TermPattern, TriplePattern};
use std::collections::BTreeMap;
use whorl_engine::rdf::{NamedNode, Quad, Triple, Variable};

/// Rows with multiplicities.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Bag(BTreeMap<Vec<String>, usize>);

impl Bag {
    pub fn add(&mut self, row: Vec<String>) {
        *self.0.entry(row).or_insert(0) += 1;
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Bag difference.
    pub fn minus(&self, other: &Self) -> Self {
        let left =
            self.0.iter().map(|(row, n)| (row.clone(), n.saturating_sub(other.0.get(row).copied().unwrap_or(0))));
        Self(left.filter(|(_, n)| *n > 0).collect())
    }
}

/// Bag windows: every element is a graph of its own, and a marker assigns it to its window.
#[derive(Default)]
pub struct Occurrences {
    made: usize,
}

const MARKERS: &str = "urn:oracle:markers";
const IN: &str = "urn:oracle:in";

fn node(iri: impl Into<String>) -> NamedNode {
    NamedNode::new_unchecked(iri)
}

impl Occurrences {
    pub fn add(&mut self, window: &NamedNode, content: impl Iterator<Item = Triple>, quads: &mut Vec<Quad>) {
        for triple in content {
            self.made += 1;
            let graph = node(format!("urn:oracle:occurrence:{}", self.made));
            quads.push(Triple::new(graph.clone(), node(IN), window.clone()).in_graph(node(MARKERS)));
            quads.push(triple.in_graph(graph));
        }
    }
}

/// The solutions of a query over these quads.
pub fn solve(query: &Query, windows: &[NamedNode], quads: Vec<Quad>, bag: bool) -> Bag {
    let Query::Select { pattern, .. } = query else { panic!("only SELECT is generated") };
    let mut made = 0;
    let pattern = if bag { by_occurrence(pattern, windows, None, &mut made) } else { pattern.clone() };
    let variables = projected(&pattern);
    let query = Query::Select { dataset: None, pattern, base_iri: None };
    let dataset: oxrdf::Dataset = quads.into_iter().collect();
    let evaluator = QueryEvaluator::new().with_custom_function(node("urn:unknown"), |_| None);
    let prepared = evaluator.prepare(&query);
    let results = prepared.execute(&dataset).expect("spareval evaluates");
    let QueryResults::Solutions(solutions) = results else { panic!("SELECT gives solutions") };
    let mut rows = Bag::default();
    for solution in solutions {
        let solution = solution.expect("a solution");
        rows.add(variables.iter().map(|v| solution.get(v).map_or("_".to_owned(), term_text)).collect());
    }
    rows
}

fn projected(pattern: &GraphPattern) -> Vec<Variable> {
    match pattern {
        GraphPattern::Project { variables, .. } => variables.clone(),
        GraphPattern::Slice { inner, .. } | GraphPattern::Distinct { inner } | GraphPattern::Reduced { inner } => {
            projected(inner)
        }
        _ => panic!("a SELECT has a projection"),
    }
}

/// The same pattern with every triple pattern over a window matched occurrence by occurrence.
fn by_occurrence(
    pattern: &GraphPattern,
    windows: &[NamedNode],
    inside: Option<&NamedNode>,
    made: &mut usize,
) -> GraphPattern {
    use GraphPattern as G;
    let mut again = |p: &GraphPattern| Box::new(by_occurrence(p, windows, inside, made));
    match pattern {
        G::Bgp { patterns } => match inside {
            Some(window) => {
                patterns.iter().map(|triple| occurrence(triple, window, made)).reduce(join).unwrap_or(pattern.clone())
            }
            None => pattern.clone(),
        },
        G::Graph { name: NamedNodePattern::NamedNode(name), inner } if windows.contains(name) => {
            by_occurrence(inner, windows, Some(name), made)
        }
        G::Join { left, right } => G::Join { left: again(left), right: again(right) },
        G::Union { left, right } => G::Union { left: again(left), right: again(right) },
        G::Minus { left, right } => G::Minus { left: again(left), right: again(right) },
        G::LeftJoin { left, right, expression } => {
            let (left, right) = (again(left), again(right));
            let expression = expression.as_ref().map(|expr| exists_by_occurrence(expr, windows, inside, made));
            G::LeftJoin { left, right, expression }
        }
        G::Filter { expr, inner } => {
            let inner = again(inner);
            G::Filter { expr: exists_by_occurrence(expr, windows, inside, made), inner }
        }
        G::Extend { inner, variable, expression } => {
            G::Extend { inner: again(inner), variable: variable.clone(), expression: expression.clone() }
        }
        G::OrderBy { inner, expression } => G::OrderBy { inner: again(inner), expression: expression.clone() },
        G::Project { inner, variables } => G::Project { inner: again(inner), variables: variables.clone() },
        G::Distinct { inner } => G::Distinct { inner: again(inner) },
        G::Slice { inner, start, length } => G::Slice { inner: again(inner), start: *start, length: *length },
        G::Group { inner, variables, aggregates } => {
            G::Group { inner: again(inner), variables: variables.clone(), aggregates: aggregates.clone() }
        }
        other => other.clone(),
    }
}

fn exists_by_occurrence(
    expression: &Expression,
    windows: &[NamedNode],
    inside: Option<&NamedNode>,
    made: &mut usize,
) -> Expression {
    match expression {
        Expression::Exists(pattern) => Expression::Exists(Box::new(by_occurrence(pattern, windows, inside, made))),
        Expression::Not(inner) => Expression::Not(Box::new(exists_by_occurrence(inner, windows, inside, made))),
        Expression::And(a, b) => Expression::And(
            Box::new(exists_by_occurrence(a, windows, inside, made)),
            Box::new(exists_by_occurrence(b, windows, inside, made)),
        ),
        Expression::Or(a, b) => Expression::Or(
            Box::new(exists_by_occurrence(a, windows, inside, made)),
            Box::new(exists_by_occurrence(b, windows, inside, made)),
        ),
        other => other.clone(),
    }
}

fn occurrence(triple: &TriplePattern, window: &NamedNode, made: &mut usize) -> GraphPattern {
    *made += 1;
    let graph = Variable::new_unchecked(format!("oracle_occurrence_{made}"));
    let marker = TriplePattern {
        subject: graph.clone().into(),
        predicate: node(IN).into(),
        object: TermPattern::NamedNode(window.clone()),
    };
    let marked = GraphPattern::Graph {
        name: node(MARKERS).into(),
        inner: Box::new(GraphPattern::Bgp { patterns: vec![marker] }),
    };
    let matched = GraphPattern::Graph {
        name: graph.into(),
        inner: Box::new(GraphPattern::Bgp { patterns: vec![triple.clone()] }),
    };
    join(marked, matched)
}

fn join(left: GraphPattern, right: GraphPattern) -> GraphPattern {
    GraphPattern::Join { left: left.into(), right: right.into() }
}
