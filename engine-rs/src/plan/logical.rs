//! The logical plan: algebra in which windows, static data and re-evaluated parts are told apart.

use oxrdf::{NamedNode, Term, Variable};
use spargebra::algebra::{AggregateExpression, Expression, GraphPattern, OrderExpression};

/// A term or a variable in a triple pattern over a window.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    Term(Term),
    Variable(Variable),
}

#[derive(Clone, Debug)]
pub(crate) enum Plan {
    Leaf {
        window: usize,
        places: [Place; 3],
    },
    /// Inputs joined; filters that hold for the joined mapping.
    Join {
        inputs: Vec<Plan>,
        filters: Vec<Expression>,
    },
    /// Evaluated once over the static graphs.
    Static {
        pattern: GraphPattern,
    },
    /// Evaluated anew at each instant, for this reason.
    Reevaluated {
        pattern: GraphPattern,
        reason: String,
    },
    Filter {
        inner: Box<Plan>,
        condition: Expression,
    },
    Extend {
        inner: Box<Plan>,
        variable: Variable,
        expression: Expression,
    },
    Project {
        inner: Box<Plan>,
        variables: Vec<Variable>,
    },
    Union {
        inputs: Vec<Plan>,
    },
    Optional {
        left: Box<Plan>,
        right: Box<Plan>,
        condition: Option<Expression>,
    },
    Minus {
        left: Box<Plan>,
        right: Box<Plan>,
    },
    /// Left mappings with a flag: whether a right mapping matches and the condition holds.
    Mark {
        left: Box<Plan>,
        right: Box<Plan>,
        condition: Option<Expression>,
        flag: Variable,
    },
    Distinct {
        inner: Box<Plan>,
    },
    Group {
        inner: Box<Plan>,
        keys: Vec<Variable>,
        aggregates: Vec<(Variable, AggregateExpression)>,
    },
    TopK {
        inner: Box<Plan>,
        order: Vec<OrderExpression>,
        offset: usize,
        limit: Option<usize>,
    },
}

impl Plan {
    /// A join of these inputs, joins among them taken apart.
    pub(crate) fn join(plans: impl IntoIterator<Item = Plan>) -> Self {
        let mut inputs = Vec::new();
        let mut filters = Vec::new();
        for plan in plans {
            match plan {
                Self::Join { inputs: more, filters: theirs } => {
                    inputs.extend(more);
                    filters.extend(theirs);
                }
                other => inputs.push(other),
            }
        }
        Self::Join { inputs, filters }
    }
}

/// Where a pattern looks for its triples.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Dataset {
    Default,
    Window(usize),
    Graph(NamedNode),
    EachGraph(Variable),
}
