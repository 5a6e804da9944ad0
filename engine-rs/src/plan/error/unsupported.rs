//! Constructs for which the planner has no operator.

use crate::parse::Construct;
use oxrdf::Variable;
use std::fmt;

/// A construct and the reason for its refusal.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Unsupported {
    #[error("SERVICE")]
    Service,
    #[error("{found} streams under {variable} (at most {most})")]
    Streams { variable: Variable, found: usize, most: usize },
    #[error("{argument} as an argument of timestamp(…), which takes constants and variables that are always bound,")]
    TimestampArgument { argument: String },
    #[error("timestamp(…) with arguments other than the three terms of a triple or the name of a graph")]
    TimestampArguments,
    /// A function whose value changes with every call, or with time.
    #[error("{function} in a part that is re-evaluated ({reason})")]
    FunctionReevaluated { function: String, reason: Reevaluation },
    #[error("WINDOW with a variable, or GRAPH in a window, in a part that is re-evaluated ({reason})")]
    PartOfWindowReevaluated { reason: Reevaluation },
    #[error("{reason} inside GRAPH in a window")]
    ReevaluatedInGraph { reason: Reevaluation },
    #[error("a join of more than {most} variables")]
    JoinVariables { most: usize },
    #[error("aggregate {name}")]
    Aggregate { name: String },
    /// An aggregate that cannot be combined from those of partitions.
    #[error("{aggregate} in a partitioned query")]
    AggregateOfParts { aggregate: String },
    #[error("a cut of this query ({why})")]
    Cut { why: String },
}

impl Unsupported {
    pub(super) fn construct(&self) -> Construct {
        match self {
            Self::Service => Construct::Keyword("SERVICE"),
            Self::Streams { variable, .. } => Construct::StreamVariable(variable.clone()),
            Self::TimestampArgument { .. } | Self::TimestampArguments => Construct::Timestamp,
            Self::FunctionReevaluated { function, .. } => Construct::Call(function.clone()),
            Self::PartOfWindowReevaluated { .. } => Construct::PartOfWindow,
            Self::ReevaluatedInGraph { reason } => reason.construct(),
            Self::Aggregate { name } => Construct::Call(name.clone()),
            Self::JoinVariables { .. } | Self::AggregateOfParts { .. } | Self::Cut { .. } => Construct::Form,
        }
    }

    pub(super) fn hint(&self) -> &'static str {
        match self {
            Self::Streams { .. } => "name fewer streams in the static data, or register several queries",
            Self::TimestampArgument { .. } | Self::TimestampArguments => {
                "write f:timestamp(?s, ?p, ?o) with the three terms of a pattern of the window"
            }
            Self::FunctionReevaluated { .. } | Self::PartOfWindowReevaluated { .. } => {
                "compute it outside this part, and use its variable"
            }
            Self::ReevaluatedInGraph { .. } => "put this part beside the GRAPH block and join them by a variable",
            Self::JoinVariables { .. } => "split the pattern into sub-queries that hand on fewer variables",
            Self::Aggregate { .. } => "see the query reference for the available aggregates",
            Self::Service | Self::AggregateOfParts { .. } | Self::Cut { .. } => {
                "remove it; the query reference lists what is supported"
            }
        }
    }
}

/// Why a part of a query is re-evaluated at each instant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Reevaluation {
    ClosurePath,
    ExistsInOptional,
    ExistsOverPattern,
    ExistsInAggregate,
    OrderOfDropped,
    /// The engine option `evaluation`.
    Asked,
}

impl Reevaluation {
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::ClosurePath => "closure path",
            Self::ExistsInOptional => "EXISTS in the condition of OPTIONAL",
            Self::ExistsOverPattern => "EXISTS over this pattern",
            Self::ExistsInAggregate => "EXISTS in an aggregate",
            Self::OrderOfDropped => "ORDER BY on what DISTINCT has dropped",
            Self::Asked => "the engine re-evaluates every query",
        }
    }

    pub(super) fn construct(self) -> Construct {
        match self {
            Self::ClosurePath => Construct::ClosurePath,
            Self::ExistsInOptional | Self::ExistsOverPattern | Self::ExistsInAggregate => Construct::Keyword("EXISTS"),
            Self::OrderOfDropped => Construct::Keyword("ORDER"),
            Self::Asked => Construct::Keyword("WHERE"),
        }
    }
}

impl fmt::Display for Reevaluation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words())
    }
}
