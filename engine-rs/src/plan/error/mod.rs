//! Why a query cannot be planned.
//!
//! Each refusal has a type of its own, which carries its subject and determines its code, its hint and the construct to
//! locate in the text. Messages can therefore be reworded without any other change.

mod costly;
mod mapping;
mod unsupported;

pub use costly::Costly;
pub use mapping::Unmappable;
pub use unsupported::{Reevaluation, Unsupported};

use super::spelling::Spelling;
use crate::expr::CompileError;
use crate::parse::{Construct, Position, TextSpan, culprit};
use oxrdf::Variable;

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    #[error("the query reads no window")]
    NoWindow,
    #[error("no static data binds {variable} to a stream")]
    NoStream { variable: Variable },
    #[error("{0} is not supported yet")]
    Unsupported(#[from] Unsupported),
    #[error("{0} over a bag window is not supported")]
    NeedsSet(Reevaluation),
    /// A mapping from rows to triples has no data to query.
    #[error(transparent)]
    Mapping(#[from] Unmappable),
    /// Too expensive for any data, or beyond a limit.
    #[error(transparent)]
    TooCostly(#[from] Costly),
    #[error(transparent)]
    Expression(#[from] CompileError),
    /// Any other variant, with the position of its construct and with names as the query spells them.
    #[error("{message} at {} (hint: {})", span.start, error.hint())]
    Located { error: Box<PlanError>, message: String, span: TextSpan },
}

impl PlanError {
    /// Adds the position of the construct in the query text. `is_refused` tells whether a text is refused with a
    /// similar error, `None` if the text is invalid; it is called only if there are several such constructs.
    #[must_use]
    pub(crate) fn located(self, text: &str, is_refused: impl Fn(&str, &Self) -> Option<bool>) -> Self {
        if self.span().is_some() {
            return self;
        }
        let Some(span) = culprit(text, &self.construct(), |shorter| is_refused(shorter, &self)) else { return self };
        let message = Spelling::of(text, None, None).text(&self.to_string());
        Self::Located { error: Box::new(self), message, span }
    }

    /// Whether both refuse the same kind of construct for the same kind of reason.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        self.code() == other.code() && self.construct() == other.construct()
    }

    /// The construct that would have to change.
    fn construct(&self) -> Construct {
        match self {
            Self::NoWindow => Construct::Form,
            Self::NoStream { variable } => Construct::StreamVariable(variable.clone()),
            Self::Unsupported(unsupported) => unsupported.construct(),
            Self::NeedsSet(reason) => reason.construct(),
            Self::Mapping(unmappable) => unmappable.construct(),
            Self::TooCostly(costly) => costly.construct(),
            Self::Expression(CompileError::Exists) => Construct::Keyword("EXISTS"),
            Self::Expression(CompileError::UnknownFunction { iri }) => Construct::Call(iri.to_string()),
            Self::Expression(CompileError::WrongArity { function, .. }) => Construct::Call(function.clone()),
            Self::Located { error, .. } => error.construct(),
        }
    }

    /// The extent of the refused construct in the query text.
    #[must_use]
    pub fn span(&self) -> Option<TextSpan> {
        match self {
            Self::Located { span, .. } => Some(*span),
            _ => None,
        }
    }

    /// The position in the query text.
    #[must_use]
    pub fn position(&self) -> Option<Position> {
        self.span().map(|span| span.start)
    }

    /// The message alone, without position and hint.
    #[must_use]
    pub fn message(&self) -> String {
        match self {
            Self::Located { message, .. } => message.clone(),
            other => other.to_string(),
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
            Self::Unsupported(unsupported) => unsupported.hint(),
            Self::NeedsSet(_) => {
                "register the query with set semantics, or count in a sub-query with GROUP BY and HAVING"
            }
            Self::Mapping(_) => {
                "a mapping turns one row into triples: write BIND, FILTER and VALUES over the columns in one group"
            }
            Self::TooCostly(costly) => costly.hint(),
            Self::Expression(error) => expression_hint(error),
            Self::Located { error, .. } => error.hint(),
        }
    }

    /// A stable code for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoWindow => "plan.no_window",
            Self::NoStream { .. } => "plan.no_stream",
            Self::Unsupported(_) => "plan.unsupported",
            Self::NeedsSet(_) => "plan.needs_set",
            Self::Mapping(_) => "mapping.unsupported",
            Self::TooCostly(_) => "query.too_costly",
            Self::Expression(error) => error.code(),
            Self::Located { error, .. } => error.code(),
        }
    }
}

fn expression_hint(error: &CompileError) -> &'static str {
    match error {
        CompileError::Exists => "use EXISTS in FILTER",
        CompileError::UnknownFunction { .. } => "see the query reference for the available functions and casts",
        CompileError::WrongArity { .. } => "check the arguments; a cast takes one",
    }
}
