//! Triple terms in patterns: `?r rdf:reifies <<( ?s :p ?o )>>`.
//!
//! A leaf matches the term as a whole, under a variable of its own. Above it, a filter compares the parts that the
//! pattern fixes and the others are bound to its variables. The whole term follows from its parts, so that no row comes
//! more often than in a pattern without triple terms; sets and bags, windows and graphs of events are alike.

use super::blanks::{blank_variable, places};
use super::logical::{Dataset, Place, Plan};
use super::paths::FreshVariables;
use crate::expr::TRIPLE_PART;
use oxrdf::{Literal, NamedNode, Variable};
use spargebra::algebra::{Expression, Function};
use spargebra::term::{NamedNodePattern, TermPattern, TriplePattern};

/// A triple pattern without triple terms, and what was said inside of them.
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

    /// A variable in place of a triple term.
    fn open(&mut self, term: &TermPattern, fresh: &mut FreshVariables) -> TermPattern {
        let TermPattern::Triple(inner) = term else { return term.clone() };
        let whole = fresh.standing_for("triple", term.to_string());
        self.inside(&whole, inner, "");
        whole.into()
    }

    /// The plan of the pattern with its triple terms taken apart.
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
        // Whatever its parts are, it is a triple: there is a predicate.
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

    /// A variable that has a value already is compared with it.
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

/// Whether the expression gives a part of a triple term, which a filter below has found to be there.
pub(super) fn is_part(expression: &Expression) -> bool {
    matches!(expression, Expression::FunctionCall(Function::Custom(iri), _) if iri.as_str() == TRIPLE_PART)
}
