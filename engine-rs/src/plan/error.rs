//! Why a query cannot be planned.

use crate::expr::CompileError;
use oxrdf::Variable;
use spargebra::algebra::Expression;

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    #[error("the query reads no window (hint: add FROM NAMED WINDOW … and a WINDOW block, or a STREAM block)")]
    NoWindow,
    #[error(
        "no static data binds {variable} to a stream (hint: load the data that names the streams before the query is registered)"
    )]
    NoStream { variable: Variable },
    #[error("{what} is not supported yet")]
    Unsupported { what: String },
    #[error("{what} over a bag window is not supported (hint: register the query with set semantics)")]
    NeedsSet { what: String },
    #[error(transparent)]
    Expression(#[from] CompileError),
}

impl PlanError {
    pub(crate) fn timestamp_argument(argument: &Expression) -> Self {
        Self::unsupported(format!(
            "{argument} as an argument of timestamp(…), which takes constants and variables that are always bound,"
        ))
    }

    pub(crate) fn timestamp_arguments() -> Self {
        Self::unsupported("timestamp(…) with other arguments than a triple's three terms or the name of a graph")
    }

    pub(crate) fn unsupported(what: impl Into<String>) -> Self {
        Self::Unsupported { what: what.into() }
    }

    /// A stable code for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoWindow => "plan.no_window",
            Self::NoStream { .. } => "plan.no_stream",
            Self::Unsupported { .. } => "plan.unsupported",
            Self::NeedsSet { .. } => "plan.needs_set",
            Self::Expression(error) => error.code(),
        }
    }
}
