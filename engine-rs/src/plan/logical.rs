//! The logical plan: algebra in which windows, static data and re-evaluated parts are told apart.

use oxrdf::{NamedNode, Term, Variable};
use spargebra::algebra::{AggregateExpression, Expression, GraphPattern, OrderExpression};
use spargebra::term::NamedNodePattern;

/// A term or a variable in a triple pattern over a window.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    Term(Term),
    Variable(Variable),
}

/// A triple pattern over a window, and what it asks of the event a triple came in.
#[derive(Clone, Debug)]
pub(crate) struct LeafPlan {
    pub window: usize,
    pub places: [Place; 3],
    pub graph: Option<Place>,
    pub time: Option<Variable>,
}

impl LeafPlan {
    pub(crate) fn variables(&self) -> impl Iterator<Item = &Variable> {
        let placed = self.places.iter().chain(&self.graph).filter_map(|place| match place {
            Place::Variable(variable) => Some(variable),
            Place::Term(_) => None,
        });
        placed.chain(&self.time)
    }
}

#[derive(Clone, Debug)]
pub(crate) enum Plan {
    Leaf(LeafPlan),
    /// Inputs joined; filters that hold for the joined mapping.
    Join {
        inputs: Vec<Plan>,
        filters: Vec<Expression>,
    },
    /// Evaluated once over the static graphs; with a variable, in each of the named ones by itself.
    Static {
        pattern: GraphPattern,
        each_graph: Option<Variable>,
    },
    /// Evaluated anew at each instant, for this reason; `window` is its default graph, if it stands in one.
    Reevaluated {
        pattern: GraphPattern,
        window: Option<usize>,
        reason: &'static str,
    },
    /// One mapping: the instant of the evaluation.
    Now {
        variable: Variable,
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
    pub(crate) fn of_static(pattern: GraphPattern) -> Self {
        Self::Static { pattern, each_graph: None }
    }

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
    /// The events of a window whose graph has this name.
    EventGraph(usize, Place),
    Graph(NamedNode),
    EachGraph(Variable),
}

impl Dataset {
    /// The window whose events are looked at, if it is one.
    pub(crate) fn window(&self) -> Option<usize> {
        match self {
            Self::Window(window) | Self::EventGraph(window, _) => Some(*window),
            _ => None,
        }
    }
}

/// Several windows under one name: `WINDOW ?w`, or `STREAM ?s` whose streams static data names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct WindowFamily {
    /// What stands for the family in the query.
    pub name: NamedNodePattern,
    pub variable: Variable,
    /// Each window, and what the variable is bound to there.
    pub members: Vec<(usize, NamedNode)>,
}
