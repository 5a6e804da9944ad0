//! The logical plan: algebra in which windows, static data and re-evaluated parts are told apart.

use super::error::Reevaluation;
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
        reason: Reevaluation,
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
        stage: Stage,
    },
    TopK {
        inner: Box<Plan>,
        order: Vec<OrderExpression>,
        offset: usize,
        limit: Option<usize>,
    },
    /// Rows that come from partitions, and whether each column is always bound.
    Given {
        columns: Vec<(Variable, bool)>,
    },
}

/// Which rows groups are made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Stage {
    #[default]
    Whole,
    /// A part of them: aggregates are such that parts can be put together.
    Partial,
    /// The groups of parts, under the names of the aggregates.
    Final,
}

impl Plan {
    pub(crate) fn of_static(pattern: GraphPattern) -> Self {
        Self::Static { pattern, each_graph: None }
    }

    /// The plans this one reads.
    pub(crate) fn inputs(&self) -> Vec<&Self> {
        match self {
            Self::Leaf(_) | Self::Static { .. } | Self::Reevaluated { .. } | Self::Now { .. } | Self::Given { .. } => {
                vec![]
            }
            Self::Join { inputs, .. } | Self::Union { inputs } => inputs.iter().collect(),
            Self::Optional { left, right, .. } | Self::Minus { left, right } | Self::Mark { left, right, .. } => {
                vec![left, right]
            }
            Self::Filter { inner, .. }
            | Self::Extend { inner, .. }
            | Self::Project { inner, .. }
            | Self::Distinct { inner }
            | Self::Group { inner, .. }
            | Self::TopK { inner, .. } => vec![inner],
        }
    }

    /// What this plan reads, if that is one plan, whatever the number could be.
    pub(crate) fn only_input(&self) -> Option<&Self> {
        match self {
            Self::Join { .. } | Self::Union { .. } => None,
            _ => match self.inputs().as_slice() {
                [only] => Some(only),
                _ => None,
            },
        }
    }

    /// This plan with other inputs.
    pub(crate) fn map_inputs(mut self, change: &mut dyn FnMut(Self) -> Self) -> Self {
        let mut boxed = |plan: &mut Box<Self>| {
            let input = std::mem::replace(plan.as_mut(), Self::Given { columns: vec![] });
            **plan = change(input);
        };
        match &mut self {
            Self::Leaf(_) | Self::Static { .. } | Self::Reevaluated { .. } | Self::Now { .. } | Self::Given { .. } => {}
            Self::Join { inputs, .. } | Self::Union { inputs } => {
                *inputs = std::mem::take(inputs).into_iter().map(change).collect();
            }
            Self::Optional { left, right, .. } | Self::Minus { left, right } | Self::Mark { left, right, .. } => {
                boxed(left);
                boxed(right);
            }
            Self::Filter { inner, .. }
            | Self::Extend { inner, .. }
            | Self::Project { inner, .. }
            | Self::Distinct { inner }
            | Self::Group { inner, .. }
            | Self::TopK { inner, .. } => boxed(inner),
        }
        self
    }

    /// This plan, which has one input, over another one.
    pub(crate) fn over(&self, input: Self) -> Self {
        let mut input = Some(input);
        self.clone().map_inputs(&mut |old| input.take().unwrap_or(old))
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
