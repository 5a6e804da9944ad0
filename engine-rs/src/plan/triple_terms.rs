//! Triple terms in patterns: `?r rdf:reifies <<( ?s :p ?o )>>`.
//!
//! A leaf matches the whole term under a variable of its own. Above the leaf, a filter compares the components that the
//! pattern fixes, and BIND assigns the others to their variables. The components determine the term, so this yields no
//! more rows than a pattern without triple terms, for sets and bags, windows and graphs of events alike.

use super::blanks::{blank_variable, places};
use super::logical::{Dataset, Place, Plan};
use super::paths::FreshVariables;
use crate::expr::TRIPLE_PART;
use oxrdf::{Literal, NamedNode, Variable};
use spargebra::algebra::{Expression, Function};
use spargebra::term::{NamedNodePattern, TermPattern, TriplePattern};

/// A triple pattern without triple terms, and the constraints that stood inside them.
pub(super) struct Opened {
    pub pattern: TriplePattern,
    /// The variable that the leaf binds to the graph of an event.
    graph: Option<Variable>,
    conditions: Vec<Expression>,
    bound: Vec<(Variable, Expression)>,
}

impl Opened {
    pub(super) fn new(pattern: &TriplePattern, dataset: &Dataset, fresh: &mut FreshVariables) -> Self {
        let graph = match dataset {
            Dataset::EventGraph(_, Place::Variable(graph)) => Some(graph.clone()),
            _ => None,
        };
        let mut opened = Self { pattern: pattern.clone(), graph, conditions: vec![], bound: vec![] };
        opened.pattern.subject = opened.open(&pattern.subject, fresh);
        opened.pattern.object = opened.open(&pattern.object, fresh);
        opened
    }

    /// Replaces a triple term by a variable.
    fn open(&mut self, term: &TermPattern, fresh: &mut FreshVariables) -> TermPattern {
        let TermPattern::Triple(inner) = term else { return term.clone() };
        let whole = fresh.standing_for("triple", term.to_string());
        self.inside(&whole, inner, "");
        whole.into()
    }

    /// The plan of the pattern, with the components of its triple terms compared and bound.
    pub(super) fn over(self, leaf: Plan) -> Plan {
        let condition = self.conditions.into_iter().reduce(|a, b| Expression::And(a.into(), b.into()));
        let plan = match condition {
            Some(condition) => Plan::Filter { inner: leaf.into(), condition },
            None => leaf,
        };
        self.bound.into_iter().fold(plan, |plan, (variable, expression)| Plan::Extend {
            inner: plan.into(),
            variable,
            expression,
        })
    }

    fn inside(&mut self, whole: &Variable, triple: &TriplePattern, path: &str) {
        let predicate = match &triple.predicate {
            NamedNodePattern::NamedNode(node) => TermPattern::NamedNode(node.clone()),
            NamedNodePattern::Variable(variable) => TermPattern::Variable(variable.clone()),
        };
        // If the predicate has a value, the term is a triple, whatever its other components are.
        let itself = part(whole, &format!("{path}p"));
        self.conditions.push(Expression::SameTerm(itself.clone().into(), itself.into()));
        for (term, step) in [(&triple.subject, 's'), (&predicate, 'p'), (&triple.object, 'o')] {
            self.term(whole, term, &format!("{path}{step}"));
        }
    }

    fn term(&mut self, whole: &Variable, term: &TermPattern, path: &str) {
        match term {
            TermPattern::NamedNode(node) => self.compare(part(whole, path), Expression::NamedNode(node.clone())),
            TermPattern::Literal(literal) => self.compare(part(whole, path), Expression::Literal(literal.clone())),
            TermPattern::Variable(variable) => self.bind(variable.clone(), part(whole, path)),
            TermPattern::BlankNode(node) => self.bind(blank_variable(node), part(whole, path)),
            TermPattern::Triple(inner) => self.inside(whole, inner, path),
        }
    }

    /// Binds a variable, or compares it if it already has a value.
    fn bind(&mut self, variable: Variable, value: Expression) {
        let known = self.bound.iter().find(|(bound, _)| *bound == variable).map(|(_, value)| value.clone());
        if let Some(known) = known {
            self.compare(value, known);
        } else if self.is_outside(&variable) {
            self.compare(value, Expression::Variable(variable));
        } else {
            self.bound.push((variable, value));
        }
    }

    fn is_outside(&self, variable: &Variable) -> bool {
        self.graph.as_ref() == Some(variable) || places(&self.pattern).contains(&Place::Variable(variable.clone()))
    }

    fn compare(&mut self, a: Expression, b: Expression) {
        self.conditions.push(Expression::SameTerm(a.into(), b.into()));
    }
}

fn part(whole: &Variable, path: &str) -> Expression {
    let function = Function::Custom(NamedNode::new_unchecked(TRIPLE_PART));
    let path = Expression::Literal(Literal::new_simple_literal(path));
    Expression::FunctionCall(function, vec![Expression::Variable(whole.clone()), path])
}

/// Whether the expression yields a component of a triple term; the filter below has verified that the term is a triple,
/// so the value is always bound.
pub(super) fn is_part(expression: &Expression) -> bool {
    matches!(expression, Expression::FunctionCall(Function::Custom(iri), _) if iri.as_str() == TRIPLE_PART)
}
