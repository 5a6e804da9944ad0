//! Why a query cannot be planned.

use super::spelling::Spelling;
use super::wording::expression_text;
use crate::expr::CompileError;
use crate::parse::{Position, position_of_mention};
use oxrdf::Variable;
use spargebra::algebra::Expression;

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    #[error("the query reads no window")]
    NoWindow,
    #[error("no static data binds {variable} to a stream")]
    NoStream { variable: Variable },
    #[error("{what} is not supported yet")]
    Unsupported { what: String },
    #[error("{what} over a bag window is not supported")]
    NeedsSet { what: String },
    /// A mapping of rows to triples has no data to ask.
    #[error("{what} is not possible")]
    Mapping { what: String },
    /// What costs too much whatever the data, or more than a limit allows.
    #[error("{what}")]
    TooCostly { what: String },
    #[error(transparent)]
    Expression(#[from] CompileError),
    /// Any of the others, with the place in the text of what it names.
    #[error("{error} at {position} (hint: {})", error.hint())]
    At { error: Box<PlanError>, position: Position },
}

impl PlanError {
    pub(crate) fn timestamp_argument(argument: &Expression) -> Self {
        Self::unsupported(format!(
            "{} as an argument of timestamp(…), which takes constants and variables that are always bound,",
            expression_text(argument)
        ))
    }

    pub(crate) fn timestamp_arguments() -> Self {
        Self::unsupported("timestamp(…) with other arguments than a triple's three terms or the name of a graph")
    }

    pub(crate) fn unsupported(what: impl Into<String>) -> Self {
        Self::Unsupported { what: what.into() }
    }

    pub(crate) fn too_costly(what: impl Into<String>) -> Self {
        Self::TooCostly { what: what.into() }
    }

    /// Finds the construct that the message names.
    #[must_use]
    pub(crate) fn located(self, text: &str) -> Self {
        match position_of_mention(text, &self.to_string()) {
            Some(position) if self.position().is_none() => Self::At { error: Box::new(self.spelled(text)), position },
            _ => self.spelled(text),
        }
    }

    /// The same with names as the text spells them.
    fn spelled(self, text: &str) -> Self {
        match self {
            Self::Unsupported { what } => Self::Unsupported { what: Spelling::of(text, None, None).text(&what) },
            Self::TooCostly { what } => Self::TooCostly { what: Spelling::of(text, None, None).text(&what) },
            other => other,
        }
    }

    /// Where in the text of the query.
    #[must_use]
    pub fn position(&self) -> Option<Position> {
        match self {
            Self::At { position, .. } => Some(*position),
            _ => None,
        }
    }

    /// What the user could do instead.
    #[must_use]
    pub fn hint(&self) -> &str {
        match self {
            Self::NoWindow => {
                "add FROM NAMED WINDOW … and a WINDOW block, or a STREAM block, or set the option default_graph"
            }
            Self::NoStream { .. } => "load the data that names the streams before the query is registered",
            Self::Unsupported { what } => unsupported_hint(what),
            Self::NeedsSet { .. } => {
                "register the query with set semantics, or count in a sub-query with GROUP BY and HAVING"
            }
            Self::Mapping { .. } => {
                "a mapping turns one row into triples: write BIND, FILTER and VALUES over the columns in one group"
            }
            Self::TooCostly { what } => too_costly_hint(what),
            Self::Expression(error) => expression_hint(error),
            Self::At { error, .. } => error.hint(),
        }
    }

    /// A stable code for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoWindow => "plan.no_window",
            Self::NoStream { .. } => "plan.no_stream",
            Self::Unsupported { .. } => "plan.unsupported",
            Self::NeedsSet { .. } => "plan.needs_set",
            Self::Mapping { .. } => "mapping.unsupported",
            Self::TooCostly { .. } => "query.too_costly",
            Self::Expression(error) => error.code(),
            Self::At { error, .. } => error.code(),
        }
    }
}

/// The first of these words that is in the message has advice behind it.
const ADVICE: [(&str, &str); 8] = [
    ("streams under", "let the static data name fewer streams, or register several queries"),
    ("timestamp(…)", "write f:timestamp(?s, ?p, ?o) with the three terms of a pattern of the window"),
    ("re-evaluated", "compute it outside this part, and use its variable"),
    ("together with a window", "put the WINDOW block beside the GRAPH block and join them by a variable"),
    ("inside GRAPH in a window", "put this part beside the GRAPH block and join them by a variable"),
    ("inside GRAPH", "put it beside the GRAPH block and join them by a variable"),
    ("more than", "split the pattern into sub-queries that hand on fewer variables"),
    ("aggregate", "see the reference of queries for the aggregates there are"),
];

fn unsupported_hint(what: &str) -> &'static str {
    let known = ADVICE.iter().find(|(words, _)| what.contains(words));
    known.map_or("leave it out; the reference of queries says what is supported", |(_, advice)| *advice)
}

/// As [`ADVICE`], for what costs too much.
const SAVINGS: [(&str, &str); 6] = [
    ("no variable", "join them by a variable, compare them in a FILTER, or register the query with allow_cartesian"),
    ("closure path", "bind one of its ends by a pattern or VALUES, or register the query with allow_cartesian"),
    ("wide", "use a shorter window; the limit is window_width_ms"),
    ("triple patterns", "split the query in two, the first of which writes a stream; the limit is triple_patterns"),
    ("windows", "split the query in two, the first of which writes a stream; the limit is windows"),
    ("streams of", "bind the variable of STREAM by fewer patterns"),
];

fn too_costly_hint(what: &str) -> &'static str {
    let known = SAVINGS.iter().find(|(words, _)| what.contains(words));
    known.map_or("ask for less", |(_, advice)| *advice)
}

fn expression_hint(error: &CompileError) -> &'static str {
    match error {
        CompileError::Exists => "use EXISTS in FILTER",
        CompileError::UnknownFunction { .. } => "the reference of queries has the functions and casts there are",
        CompileError::WrongArity { .. } => "check the arguments; a cast takes one",
    }
}
