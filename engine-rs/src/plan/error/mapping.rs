//! What a mapping from rows to triples cannot contain.

use crate::parse::Construct;
use oxrdf::Variable;

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Unmappable {
    #[error("a mapping that is not CONSTRUCT")]
    Form,
    #[error("FROM in a mapping, which reads the columns of a row and nothing else,")]
    Dataset,
    #[error("BIND of {variable}, which is a column,")]
    BoundColumn { variable: Variable },
    /// A part of WHERE that matches data: its name, and the keyword that introduces it.
    #[error("{name} in a mapping")]
    Pattern { name: &'static str, keyword: &'static str },
    #[error("a triple term in the template of a mapping")]
    TripleTerm,
}

impl Unmappable {
    pub(super) fn construct(&self) -> Construct {
        match self {
            Self::Form => Construct::Form,
            Self::Dataset => Construct::Keyword("FROM"),
            Self::BoundColumn { .. } => Construct::Keyword("BIND"),
            Self::Pattern { keyword, .. } => Construct::Keyword(keyword),
            Self::TripleTerm => Construct::TripleTerm,
        }
    }
}
