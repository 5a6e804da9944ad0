//! Why a query cannot be planned.

use crate::expr::CompileError;

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    #[error("the query reads no window (hint: add FROM NAMED WINDOW … and a WINDOW block, or a STREAM block)")]
    NoWindow,
    #[error("{what} is not supported yet")]
    Unsupported { what: String },
    #[error("{what} over a bag window is not supported (hint: register the query with set semantics)")]
    NeedsSet { what: String },
    #[error(transparent)]
    Expression(#[from] CompileError),
}

impl PlanError {
    pub(crate) fn unsupported(what: impl Into<String>) -> Self {
        Self::Unsupported { what: what.into() }
    }

    /// A stable code for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoWindow => "plan.no_window",
            Self::Unsupported { .. } => "plan.unsupported",
            Self::NeedsSet { .. } => "plan.needs_set",
            Self::Expression(error) => error.code(),
        }
    }
}
