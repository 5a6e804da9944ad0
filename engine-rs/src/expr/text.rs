//! Text inside expressions, borrowed from the dictionary where possible. The budget limits the length of text that
//! expressions create.

use crate::encode::{Dictionary, ShortString};
use crate::model::TermId;
use oxrdf::{BaseDirection, Literal, Term};

#[derive(Clone, Debug)]
pub(crate) enum Text<'d> {
    Borrowed(&'d str),
    Owned(String),
    Short(ShortString),
}

/// Language tag and, in RDF 1.2, base direction.
#[derive(Clone, Debug)]
pub(crate) struct Language<'d> {
    pub tag: Text<'d>,
    pub direction: Option<BaseDirection>,
}

/// The result of an expression before it is interned.
pub(crate) enum MadeTerm {
    Id(TermId),
    Term(Term),
}

impl<'d> Text<'d> {
    pub(crate) fn as_str(&self) -> &str {
        match self {
            Self::Borrowed(text) => text,
            Self::Owned(text) => text,
            Self::Short(text) => text.as_str(),
        }
    }

    pub(crate) fn into_string(self) -> String {
        match self {
            Self::Owned(text) => text,
            other => other.as_str().to_owned(),
        }
    }

    /// The part of the text between two byte positions.
    pub(crate) fn slice(&self, from: usize, to: usize) -> Text<'d> {
        match self {
            Self::Borrowed(text) => Text::Borrowed(&text[from..to]),
            other => Text::Owned(other.as_str()[from..to].to_owned()),
        }
    }
}

impl PartialEq for Text<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Text<'_> {}

/// Tags that differ only in case denote the same language.
impl PartialEq for Language<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.tag.as_str().eq_ignore_ascii_case(other.tag.as_str()) && self.direction == other.direction
    }
}

impl Language<'_> {
    pub(crate) fn tag_literal(self, text: Text<'_>) -> Literal {
        let (text, tag) = (text.into_string(), self.tag.into_string());
        match self.direction {
            Some(direction) => Literal::new_directional_language_tagged_literal_unchecked(text, tag, direction),
            None => Literal::new_language_tagged_literal_unchecked(text, tag),
        }
    }
}

impl MadeTerm {
    pub(crate) fn intern(self, dictionary: &mut Dictionary) -> TermId {
        match self {
            Self::Id(id) => id,
            Self::Term(term) => dictionary.intern(term.as_ref()),
        }
    }
}
