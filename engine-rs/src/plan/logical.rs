//! The logical plan: an algebra that separates windows, static data and re-evaluated parts.
//!
//! Every variant below `Plan` denotes a bag of mappings at an instant. Translation (`translate.rs`) may only rewrite
//! plans in ways that preserve this bag; building (`build.rs`) decides how it is maintained.

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

/// A triple pattern over a window, with the graph and the time of the event if the pattern reads them.
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
    /// A natural join, and filters over the joined mapping. Filters mention only variables that every joined mapping
    /// binds.
    Join {
        inputs: Vec<Plan>,
        filters: Vec<Expression>,
    },
    /// Evaluated over the static graphs whenever they change; with a variable, in each named graph separately.
    Static {
        pattern: GraphPattern,
        each_graph: Option<Variable>,
    },
    /// Re-evaluated at each instant, for this reason; `window` is the default graph if the pattern stands inside one.
    Reevaluated {
        pattern: GraphPattern,
        window: Option<usize>,
        reason: Reevaluation,
    },
    /// One mapping, which holds the instant of the evaluation.
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
        /// A variable of both sides that the query does not have: the name of a graph.
        uncounted: Option<Variable>,
    },
    /// Left mappings with a flag that says whether some right mapping matches and satisfies the condition.
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
    /// The first rows by `order`, then by the terms of the variables that are shown; of each graph, if a variable holds
    /// its name.
    TopK {
        inner: Box<Plan>,
        each: Option<Variable>,
        order: Vec<OrderExpression>,
        shown: Vec<Variable>,
        offset: usize,
        limit: Option<usize>,
    },
    /// Rows that partitions send; the flag says whether a column is always bound.
    Given {
        columns: Vec<(Variable, bool)>,
    },
}

/// Which rows an aggregation reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Stage {
    #[default]
    Whole,
    /// The rows of one partition: only aggregates that can be combined.
    Partial,
    /// The partial aggregates of all partitions, under the names of the aggregates.
    Final,
}

impl Plan {
    pub(crate) fn of_static(pattern: GraphPattern) -> Self {
        Self::Static { pattern, each_graph: None }
    }

    /// The inputs of this plan.
    pub(crate) fn inputs(&self) -> Vec<&Self> {
        match self {
            Self::Leaf(_) | Self::Static { .. } | Self::Reevaluated { .. } | Self::Now { .. } | Self::Given { .. } => {
                vec![]
            }
            Self::Join { inputs, .. } | Self::Union { inputs } => inputs.iter().collect(),
            Self::Optional { left, right, .. } | Self::Minus { left, right, .. } | Self::Mark { left, right, .. } => {
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

    /// The input of an operator that always has exactly one. Joins and unions never qualify, whatever their number of
    /// inputs.
    pub(crate) fn only_input(&self) -> Option<&Self> {
        match self {
            Self::Join { .. } | Self::Union { .. } => None,
            _ => match self.inputs().as_slice() {
                [only] => Some(only),
                _ => None,
            },
        }
    }

    /// This plan with each input replaced.
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
            Self::Optional { left, right, .. } | Self::Minus { left, right, .. } | Self::Mark { left, right, .. } => {
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

    /// This plan, which has one input, over another input.
    pub(crate) fn over(&self, input: Self) -> Self {
        let mut input = Some(input);
        self.clone().map_inputs(&mut |old| input.take().unwrap_or(old))
    }

    /// A join of these plans; nested joins are flattened, together with their filters.
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

/// Which dataset a pattern is matched against.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Dataset {
    Default,
    Window(usize),
    /// The events of a window that arrived in a graph of this name.
    EventGraph(usize, Place),
    Graph(NamedNode),
    EachGraph(Variable),
}

impl Dataset {
    /// The window that the dataset reads, if it is one.
    pub(crate) fn window(&self) -> Option<usize> {
        match self {
            Self::Window(window) | Self::EventGraph(window, _) => Some(*window),
            _ => None,
        }
    }
}

/// Several windows under one name: `WINDOW ?w`, or `STREAM ?s` with streams that static data names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct WindowFamily {
    /// The name that stands for the family in the query.
    pub name: NamedNodePattern,
    pub variable: Variable,
    /// Each window with the value of the variable there.
    pub members: Vec<(usize, NamedNode)>,
}
