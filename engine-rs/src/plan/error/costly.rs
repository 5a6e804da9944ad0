//! Queries that are too expensive for any data, or that exceed a limit.

use crate::parse::Construct;
use oxrdf::{NamedNode, Variable};

/// What is too expensive, and the limit it exceeds.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Costly {
    #[error(
        "the parts with {} and with {} share no variable, so each solution of one is combined with every solution of \
         the other",
        shown(one.as_ref()),
        shown(other.as_ref())
    )]
    Product { one: Option<Variable>, other: Option<Variable> },
    #[error("a closure path (* or +) over a window with two open ends finds every pair of nodes")]
    OpenClosure,
    #[error("the window {window} is more than {most_ms} ms wide")]
    WindowWidth { window: NamedNode, most_ms: i64 },
    #[error("the query has {found} triple patterns, more than {most}")]
    TriplePatterns { found: usize, most: usize },
    #[error("the query has {found} windows, more than {most}")]
    Windows { found: usize, most: usize },
    #[error("finding the streams of {variable} exceeded {limit}")]
    Streams { variable: Variable, limit: String },
}

impl Costly {
    pub(super) fn construct(&self) -> Construct {
        match self {
            Self::Product { one, other } => {
                one.clone().or_else(|| other.clone()).map_or(Construct::Form, Construct::Variable)
            }
            Self::OpenClosure => Construct::ClosurePath,
            Self::WindowWidth { window, .. } => Construct::Iri(window.clone()),
            Self::TriplePatterns { .. } | Self::Windows { .. } => Construct::Form,
            Self::Streams { variable, .. } => Construct::StreamVariable(variable.clone()),
        }
    }

    pub(super) fn hint(&self) -> &'static str {
        match self {
            Self::Product { .. } => {
                "join them by a variable, compare them in a FILTER, or register the query with allow_cartesian"
            }
            Self::OpenClosure => {
                "bind one of its ends by a pattern or VALUES, or register the query with allow_cartesian"
            }
            Self::WindowWidth { .. } => "use a shorter window; the limit is window_width_ms",
            Self::TriplePatterns { .. } => {
                "split the query in two, the first of which writes a stream; the limit is triple_patterns"
            }
            Self::Windows { .. } => "split the query in two, the first of which writes a stream; the limit is windows",
            Self::Streams { .. } => "bind the variable of STREAM by fewer patterns",
        }
    }
}

/// Names a part by one of its variables, if the user wrote any.
fn shown(variable: Option<&Variable>) -> String {
    variable.map_or_else(|| "unnamed nodes".to_owned(), ToString::to_string)
}
