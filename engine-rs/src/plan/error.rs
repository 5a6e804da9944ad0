//! Why a query cannot be planned.

use super::spelling::Spelling;
use super::wording::expression_text;
use crate::expr::CompileError;
use crate::parse::{ContinuousQuery, WindowClause};
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
    #[error("{what} over {window} is not supported (hint: register the query with set semantics)")]
    NeedsSet { what: String, window: String },
    #[error(transparent)]
    Expression(#[from] CompileError),
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

    pub(crate) fn needs_set(what: &str, window: Option<&WindowClause>) -> Self {
        let window = window.map_or_else(
            || "a bag window".to_owned(),
            |WindowClause { name, position: at, .. }| format!("the bag window {name} of {}:{}", at.line, at.column),
        );
        Self::NeedsSet { what: what.to_owned(), window }
    }

    /// The same with names as the user spells them.
    pub(crate) fn spelled(self, query: &ContinuousQuery) -> Self {
        let spelling = Spelling::of(query, None);
        match self {
            Self::Unsupported { what } => Self::Unsupported { what: spelling.text(&what) },
            Self::NeedsSet { what, window } => Self::NeedsSet { what, window: spelling.text(&window) },
            other => other,
        }
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
