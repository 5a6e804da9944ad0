//! Terms as text: the keys of the dictionary.
//!
//! A term is its kind and a text that identifies it among terms of that kind. For the most common terms, IRIs and
//! literals of XSD types, that text is a slice of the body, so a lookup builds nothing.
//!
//! | kind | text |
//! |---|---|
//! | IRI, blank node | without `<>` and `_:` |
//! | literal of a type in [`DATATYPES`] | its lexical form; the kind says which type |
//! | literal of another type | `form"^^<type` |
//! | literal with a language | `form"@tag`, `form"@tag--ltr` |
//! | triple term | as N-Triples writes it |
//!
//! Types and tags never contain a `"`, so the last one ends the lexical form.

use oxrdf::vocab::xsd;
use oxrdf::{BaseDirection, LiteralRef, NamedNodeRef, TermRef};
use std::fmt::Write;

/// A kind of terms, as an ASCII character.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct TermKind(u8);

impl TermKind {
    pub(crate) const IRI: Self = Self(0);
    pub(crate) const BLANK: Self = Self(1);
    pub(crate) const TRIPLE: Self = Self(2);
    pub(crate) const TAGGED: Self = Self(3);
    pub(crate) const TYPED: Self = Self(4);
    /// A literal of the first of [`DATATYPES`]; the others follow.
    pub(crate) const STRING: Self = Self(5);
    pub(crate) const DECIMAL: Self = Self(7);

    pub(crate) const fn as_byte(self) -> u8 {
        self.0
    }

    pub(crate) const fn from_byte(byte: u8) -> Self {
        Self(byte)
    }

    /// The kind of literals of a type, if it is a common one.
    pub(crate) fn of_datatype(iri: &str) -> Option<Self> {
        Self::of_xsd_name(iri.strip_prefix(XSD)?.as_bytes())
    }

    /// The same for a local name of an XSD type.
    pub(crate) fn of_xsd_name(name: &[u8]) -> Option<Self> {
        let number = NAMES.iter().position(|known| known.as_bytes() == name)?;
        Some(Self(Self::STRING.0 + number as u8))
    }

    /// The type of literals of this kind.
    pub(crate) fn datatype(self) -> Option<NamedNodeRef<'static>> {
        DATATYPES.get(usize::from(self.0.checked_sub(Self::STRING.0)?)).copied()
    }
}

const XSD: &str = "http://www.w3.org/2001/XMLSchema#";

/// The datatypes that have a kind. Those whose values can be inlined come first, in the order of `inline.rs`.
pub(super) const DATATYPES: [NamedNodeRef<'static>; 24] = [
    xsd::STRING,
    xsd::DOUBLE,
    xsd::DECIMAL,
    xsd::BOOLEAN,
    xsd::DATE_TIME,
    xsd::FLOAT,
    xsd::INTEGER,
    xsd::INT,
    xsd::LONG,
    xsd::SHORT,
    xsd::BYTE,
    xsd::NON_NEGATIVE_INTEGER,
    xsd::POSITIVE_INTEGER,
    xsd::UNSIGNED_INT,
    xsd::UNSIGNED_LONG,
    xsd::UNSIGNED_SHORT,
    xsd::UNSIGNED_BYTE,
    xsd::DATE,
    xsd::TIME,
    xsd::DATE_TIME_STAMP,
    xsd::DURATION,
    xsd::DAY_TIME_DURATION,
    xsd::YEAR_MONTH_DURATION,
    xsd::ANY_URI,
];

/// The local names of [`DATATYPES`].
const NAMES: [&str; 24] = [
    "string",
    "double",
    "decimal",
    "boolean",
    "dateTime",
    "float",
    "integer",
    "int",
    "long",
    "short",
    "byte",
    "nonNegativeInteger",
    "positiveInteger",
    "unsignedInt",
    "unsignedLong",
    "unsignedShort",
    "unsignedByte",
    "date",
    "time",
    "dateTimeStamp",
    "duration",
    "dayTimeDuration",
    "yearMonthDuration",
    "anyURI",
];

/// A term as text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RawTerm<'a> {
    pub kind: TermKind,
    pub text: &'a str,
}

impl<'a> RawTerm<'a> {
    pub(crate) const fn new(kind: TermKind, text: &'a str) -> Self {
        Self { kind, text }
    }

    /// The text of a term; written into the empty buffer if the term has no such text itself.
    pub(crate) fn of(term: TermRef<'a>, buffer: &'a mut String) -> Self {
        match term {
            TermRef::NamedNode(node) => Self::new(TermKind::IRI, node.as_str()),
            TermRef::BlankNode(node) => Self::new(TermKind::BLANK, node.as_str()),
            TermRef::Literal(literal) => Self::of_literal(literal, buffer),
            TermRef::Triple(_) => {
                // Writing to a string does not fail.
                let _ = write!(buffer, "{term}");
                Self::new(TermKind::TRIPLE, buffer)
            }
        }
    }

    fn of_literal(literal: LiteralRef<'a>, buffer: &'a mut String) -> Self {
        let value = literal.value();
        if let Some(tag) = literal.language() {
            buffer.extend([value, "\"@", tag]);
            match literal.direction() {
                Some(BaseDirection::Ltr) => buffer.push_str("--ltr"),
                Some(BaseDirection::Rtl) => buffer.push_str("--rtl"),
                None => {}
            }
            return Self::new(TermKind::TAGGED, buffer);
        }
        let datatype = literal.datatype().as_str();
        if let Some(kind) = TermKind::of_datatype(datatype) {
            return Self::new(kind, value);
        }
        buffer.extend([value, "\"^^<", datatype]);
        Self::new(TermKind::TYPED, buffer)
    }

    /// The term, unless it is a triple.
    pub(crate) fn to_term(self) -> Option<TermRef<'a>> {
        Some(match self.kind {
            TermKind::IRI => NamedNodeRef::new_unchecked(self.text).into(),
            TermKind::BLANK => oxrdf::BlankNodeRef::new_unchecked(self.text).into(),
            TermKind::TRIPLE => return None,
            TermKind::TAGGED => tagged(self.text)?.into(),
            TermKind::TYPED => {
                let (value, datatype) = parts(self.text, "^^<")?;
                LiteralRef::new_typed_literal(value, NamedNodeRef::new_unchecked(datatype)).into()
            }
            kind => LiteralRef::new_typed_literal(self.text, kind.datatype()?).into(),
        })
    }

    pub(crate) fn is_iri(self, iri: &str) -> bool {
        self.kind == TermKind::IRI && self.text == iri
    }
}

/// The lexical form of a literal, and the type or tag after its delimiter.
fn parts<'a>(text: &'a str, mark: &str) -> Option<(&'a str, &'a str)> {
    let end = text.rfind('"')?;
    Some((&text[..end], text[end + 1..].strip_prefix(mark)?))
}

fn tagged(text: &str) -> Option<LiteralRef<'_>> {
    let (value, tag) = parts(text, "@")?;
    let (tag, direction) = match tag.split_once("--") {
        Some((tag, "ltr")) => (tag, BaseDirection::Ltr),
        Some((tag, _)) => (tag, BaseDirection::Rtl),
        None => return Some(LiteralRef::new_language_tagged_literal_unchecked(value, tag)),
    };
    Some(LiteralRef::new_directional_language_tagged_literal_unchecked(value, tag, direction))
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxrdf::{Literal, NamedNode, Term};

    #[test]
    fn names_of_types_are_those_of_the_types() {
        for (name, datatype) in NAMES.iter().zip(DATATYPES) {
            assert_eq!(format!("{XSD}{name}"), datatype.as_str());
            let kind = TermKind::of_datatype(datatype.as_str());
            assert_eq!(kind.and_then(TermKind::datatype), Some(datatype));
        }
        assert_eq!(TermKind::DECIMAL.datatype(), Some(xsd::DECIMAL));
    }

    #[test]
    fn a_quote_in_a_literal_does_not_end_it() {
        let typed = Literal::new_typed_literal("a\"^^<b", NamedNode::new_unchecked("http://ex/t"));
        let tagged = Literal::new_language_tagged_literal_unchecked("a\"@b", "en");
        for term in [Term::from(typed), tagged.into()] {
            let mut buffer = String::new();
            let raw = RawTerm::of(term.as_ref(), &mut buffer);
            assert_eq!(raw.to_term().map(TermRef::into_owned), Some(term.clone()));
        }
    }
}
