//! The kind of a window, after the clauses of the query have been read.

use super::bounds::StepRule;
use crate::parse::{ContinuousQuery, WindowKind};
use crate::time::Span;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Rule {
    Step(StepRule),
    /// `(r − width, r]`; `[NOW]` is a width of one instant.
    Sliding {
        width: Span,
    },
    All,
    Elements {
        size: u64,
        step: u64,
    },
    Triples {
        size: u64,
    },
}

/// Whether a stepping window shows its last closed content or the current one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Reading {
    Closed,
    Current,
}

impl Rule {
    pub(crate) fn new(kind: &WindowKind, query: &ContinuousQuery) -> Self {
        if let Some(step) = StepRule::new(kind, query.t0, query.bounds, query.partial) {
            return Self::Step(step);
        }
        match kind {
            WindowKind::Sliding { width } => Self::Sliding { width: *width },
            WindowKind::Now => Self::Sliding { width: Span::from_millis(1) },
            WindowKind::Elements { size, step } => Self::Elements { size: *size, step: *step },
            WindowKind::Triples { size } => Self::Triples { size: *size },
            _ => Self::All,
        }
    }

    pub(crate) fn is_stepping(&self) -> bool {
        matches!(self, Self::Step(_))
    }
}
