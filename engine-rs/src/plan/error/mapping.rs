//! What a mapping from rows to triples cannot contain.

use crate::parse::Construct;
use oxrdf::Variable;

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Unmappable {
    #[error("a mapping must be a CONSTRUCT query")]
    Form,
    #[error("a mapping cannot use FROM: it reads only the columns of a row")]
    Dataset,
    #[error("a mapping cannot BIND {variable}: it is a column")]
    BoundColumn { variable: Variable },
    /// A part of WHERE that matches data: its name, and the keyword that introduces it.
    #[error("a mapping cannot use {name}")]
    Pattern { name: &'static str, keyword: &'static str },
    #[error("the template of a mapping cannot contain triple terms")]
    TripleTerm,
}

impl Unmappable {
    pub(super) fn construct(&self) -> Construct {
        match self {
            Self::Form => Construct::Form,
            Self::Dataset => Construct::Keyword("FROM"),
            Self::BoundColumn { variable } => Construct::BoundVariable(variable.clone()),
            Self::Pattern { keyword, .. } => Construct::Keyword(keyword),
            Self::TripleTerm => Construct::TripleTerm,
        }
    }
}
