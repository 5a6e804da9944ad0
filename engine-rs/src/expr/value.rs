//! The typed value of a `TermId`, on which functions and operators work.
//!
//! A value does not keep the lexical form of a literal that it could parse: `"01"^^xsd:integer` and `"1"^^xsd:int` are
//! both the integer 1, and leave an expression as `"1"^^xsd:integer`, as in the reference evaluator. Text is borrowed
//! from the dictionary; inlined values are read without touching strings.

use super::numbers::Number;
use super::temporal::Temporal;
use super::text::{Language, MadeTerm, Text};
use crate::encode::{Dictionary, Inline, WallTime};
use crate::model::TermId;
use oxrdf::vocab::{rdf, xsd};
use oxrdf::{BlankNode, Literal, LiteralRef, NamedNode, NamedOrBlankNode, Term, TermRef, Triple};
use oxsdatatypes::{Boolean, DateTime, Decimal, Double, Float, Integer};
use std::str::FromStr;

const XSD: &str = "http://www.w3.org/2001/XMLSchema#";
/// Seconds from 0001-01-01T00:00:00Z, where `xsd:dateTime` values count from, to 1970.
const EPOCH_SECONDS: i64 = 62_135_596_800;

#[derive(Clone, Debug)]
pub(crate) enum Value<'d> {
    Iri(Text<'d>),
    Blank(Blank<'d>),
    String(Text<'d>),
    LangString(Text<'d>, Language<'d>),
    Boolean(bool),
    Number(Number),
    DateTime(DateTime),
    /// A date, a time of day or a duration.
    Temporal(Temporal),
    /// A literal of an unknown datatype, or one with a text that its datatype does not allow.
    Other {
        text: Text<'d>,
        datatype: Text<'d>,
    },
    Triple(Box<TripleValue<'d>>),
}

#[derive(Clone, Debug)]
pub(crate) enum Blank<'d> {
    Numbered(u64),
    Labelled(Text<'d>),
}

#[derive(Clone, Debug)]
pub(crate) struct TripleValue<'d> {
    pub subject: Value<'d>,
    pub predicate: Text<'d>,
    pub object: Value<'d>,
}

impl<'d> Value<'d> {
    /// The value of a bound id.
    pub(crate) fn of(id: TermId, dictionary: &'d Dictionary) -> Self {
        match id.inline_value() {
            Some(inline) => Self::of_inline(inline),
            None => Self::of_term(dictionary.stored(id)),
        }
    }

    fn of_inline(inline: Inline) -> Self {
        match inline {
            Inline::Blank(number) => Self::Blank(Blank::Numbered(number)),
            Inline::Boolean(value) => Self::Boolean(value),
            Inline::Integer(_, value) => Self::Number(Number::Integer(value.into())),
            Inline::Decimal(value) => Self::Number(Number::Decimal(value)),
            Inline::Double(value) => Self::Number(Number::Double(value.into())),
            Inline::Float(value) => Self::Number(Number::Float(value.into())),
            Inline::DateTime(wall) => date_time_value(wall),
            Inline::String(text) => Self::String(Text::Short(text)),
        }
    }

    pub(crate) fn of_term(term: TermRef<'d>) -> Self {
        match term {
            TermRef::NamedNode(node) => Self::Iri(Text::Borrowed(node.as_str())),
            TermRef::BlankNode(node) => Self::Blank(Blank::Labelled(Text::Borrowed(node.as_str()))),
            TermRef::Literal(literal) => Self::of_literal(literal),
            TermRef::Triple(triple) => Self::of_triple(triple),
        }
    }

    fn of_triple(triple: &'d Triple) -> Self {
        let subject = match &triple.subject {
            NamedOrBlankNode::NamedNode(node) => Self::Iri(Text::Borrowed(node.as_str())),
            NamedOrBlankNode::BlankNode(node) => Self::Blank(Blank::Labelled(Text::Borrowed(node.as_str()))),
        };
        let predicate = Text::Borrowed(triple.predicate.as_str());
        let object = Self::of_term(triple.object.as_ref());
        Self::Triple(Box::new(TripleValue { subject, predicate, object }))
    }

    pub(crate) fn of_literal(literal: LiteralRef<'d>) -> Self {
        let text = literal.value();
        if let Some(tag) = literal.language() {
            let language = Language { tag: Text::Borrowed(tag), direction: literal.direction() };
            return Self::LangString(Text::Borrowed(text), language);
        }
        let datatype = datatype_of(literal);
        Self::typed(Text::Borrowed(text), Text::Borrowed(datatype))
    }

    /// A literal, given its text and datatype.
    pub(crate) fn typed(text: Text<'d>, datatype: Text<'d>) -> Self {
        match datatype.as_str().strip_prefix(XSD) {
            Some("string") => Self::String(text),
            Some(name) => parse_xsd(text.as_str(), name).unwrap_or(Self::Other { text, datatype }),
            None => Self::Other { text, datatype },
        }
    }

    pub(crate) fn integer(value: i64) -> Self {
        Self::Number(Number::Integer(value.into()))
    }

    pub(crate) fn plain(text: Text<'d>, language: Option<Language<'d>>) -> Self {
        match language {
            Some(language) => Self::LangString(text, language),
            None => Self::String(text),
        }
    }

    /// The effective boolean value; `None` if there is none.
    pub(crate) fn effective_boolean(&self) -> Option<bool> {
        match self {
            Self::Boolean(value) => Some(*value),
            Self::String(text) => Some(!text.as_str().is_empty()),
            Self::Number(number) => Some(number.is_truthy()),
            _ => None,
        }
    }

    /// The length of its text, if the value is a text.
    pub(crate) fn text_bytes(&self) -> usize {
        match self {
            Self::Iri(text) | Self::String(text) | Self::LangString(text, _) | Self::Other { text, .. } => {
                text.as_str().len()
            }
            _ => 0,
        }
    }

    /// The length of its text, if an expression created it.
    pub(crate) fn made_bytes(&self) -> usize {
        match self {
            Self::Iri(Text::Owned(text)) | Self::String(Text::Owned(text)) | Self::LangString(Text::Owned(text), _) => {
                text.len()
            }
            _ => 0,
        }
    }

    /// Text and language of a string literal.
    pub(crate) fn into_text(self) -> Option<(Text<'d>, Option<Language<'d>>)> {
        match self {
            Self::String(text) => Some((text, None)),
            Self::LangString(text, language) => Some((text, Some(language))),
            _ => None,
        }
    }

    /// The text of an `xsd:string`.
    pub(crate) fn into_string(self) -> Option<Text<'d>> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn as_number(&self) -> Option<Number> {
        match self {
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// Whether both render as the same term (for dateTimes and similar types: whether they have the same value).
    pub(crate) fn is_identical(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Iri(a), Self::Iri(b)) | (Self::String(a), Self::String(b)) => a == b,
            (Self::Blank(a), Self::Blank(b)) => a == b,
            (Self::LangString(a, la), Self::LangString(b, lb)) => a == b && la == lb,
            (Self::Boolean(a), Self::Boolean(b)) => a == b,
            (Self::Number(a), Self::Number(b)) => a.is_identical(*b),
            (Self::DateTime(a), Self::DateTime(b)) => a == b,
            (Self::Temporal(a), Self::Temporal(b)) => a.is_identical(*b),
            (Self::Other { text: a, datatype: da }, Self::Other { text: b, datatype: db }) => a == b && da == db,
            (Self::Triple(a), Self::Triple(b)) => {
                a.subject.is_identical(&b.subject) && a.predicate == b.predicate && a.object.is_identical(&b.object)
            }
            _ => false,
        }
    }

    /// Ready to be interned: an id if the value fits into one, otherwise a term.
    pub(crate) fn into_made(self) -> MadeTerm {
        let id = match &self {
            Self::Boolean(value) => Some(TermId::boolean(*value)),
            Self::Number(number) => number.inline_id(),
            Self::String(text) => TermId::short_string(text.as_str()),
            Self::Blank(Blank::Numbered(number)) => Some(TermId::blank(*number)),
            _ => None,
        };
        id.map_or_else(|| MadeTerm::Term(self.into_term()), MadeTerm::Id)
    }

    pub(crate) fn into_term(self) -> Term {
        match self {
            Self::Iri(iri) => NamedNode::new_unchecked(iri.into_string()).into(),
            Self::Blank(Blank::Numbered(number)) => BlankNode::new_unchecked(format!("b{number}")).into(),
            Self::Blank(Blank::Labelled(label)) => BlankNode::new_unchecked(label.into_string()).into(),
            Self::Triple(triple) => triple.into_term(),
            literal => literal.into_literal().into(),
        }
    }

    fn into_literal(self) -> Literal {
        match self {
            Self::LangString(text, language) => language.tag_literal(text),
            Self::Boolean(value) => Literal::from(value),
            Self::Number(number) => number.to_literal(),
            Self::DateTime(value) => Literal::from(value),
            Self::Temporal(value) => value.to_literal(),
            Self::Other { text, datatype } => {
                Literal::new_typed_literal(text.into_string(), NamedNode::new_unchecked(datatype.into_string()))
            }
            Self::String(text) => Literal::new_simple_literal(text.into_string()),
            Self::Iri(_) | Self::Blank(_) | Self::Triple(_) => unreachable!("into_term keeps these"),
        }
    }
}

impl TripleValue<'_> {
    fn into_term(self) -> Term {
        let subject: NamedOrBlankNode = match self.subject.into_term() {
            Term::NamedNode(node) => node.into(),
            Term::BlankNode(node) => node.into(),
            Term::Literal(_) | Term::Triple(_) => unreachable!("subjects are checked when a triple value is made"),
        };
        Triple::new(subject, NamedNode::new_unchecked(self.predicate.into_string()), self.object.into_term()).into()
    }
}

impl PartialEq for Blank<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Numbered(a), Self::Numbered(b)) => a == b,
            (Self::Labelled(a), Self::Labelled(b)) => a == b,
            (Self::Numbered(number), Self::Labelled(label)) | (Self::Labelled(label), Self::Numbered(number)) => {
                label.as_str().strip_prefix('b').is_some_and(|digits| digits == number.to_string())
            }
        }
    }
}

/// The datatype IRI, with the lifetime of the literal's data.
fn datatype_of<'d>(literal: LiteralRef<'d>) -> &'d str {
    let datatype = literal.datatype().as_str();
    debug_assert!(datatype != rdf::LANG_STRING.as_str() || literal.language().is_some());
    datatype
}

fn parse_xsd(text: &str, name: &str) -> Option<Value<'static>> {
    let number = match name {
        "boolean" => return Boolean::from_str(text).ok().map(|value| Value::Boolean(value.into())),
        "dateTime" | "dateTimeStamp" => return DateTime::from_str(text).ok().map(Value::DateTime),
        "float" => Number::Float(Float::from_str(text).ok()?),
        "double" => Number::Double(Double::from_str(text).ok()?),
        "decimal" => Number::Decimal(Decimal::from_str(text).ok()?),
        "integer" | "byte" | "short" | "int" | "long" | "unsignedByte" | "unsignedShort" | "unsignedInt"
        | "unsignedLong" | "positiveInteger" | "negativeInteger" | "nonPositiveInteger" | "nonNegativeInteger" => {
            Number::Integer(Integer::from_str(text).ok()?)
        }
        _ => return Temporal::parse(text, name).map(Value::Temporal),
    };
    Some(Value::Number(number))
}

/// An inlined dateTime as the calendar library holds it, by arithmetic on its documented bytes.
fn date_time_value(wall: WallTime) -> Value<'static> {
    let epoch_ms = wall.epoch_ms();
    let offset = epoch_ms.map(|epoch_ms| ((wall.local_ms - epoch_ms) / 60_000) as i16);
    // An offset of −1 minute has the bytes that stand for "no zone".
    if offset == Some(-1) {
        let text = wall.render();
        return parse_xsd(&text, "dateTime")
            .unwrap_or(Value::Other { text: Text::Owned(text), datatype: Text::Borrowed(xsd::DATE_TIME.as_str()) });
    }
    let ms = i128::from(epoch_ms.unwrap_or(wall.local_ms)) + i128::from(EPOCH_SECONDS) * 1000;
    let mut bytes = [u8::MAX; 18];
    bytes[..16].copy_from_slice(&(ms * 1_000_000_000_000_000).to_be_bytes());
    if let Some(offset) = offset {
        bytes[16..].copy_from_slice(&offset.to_be_bytes());
    }
    Value::DateTime(DateTime::from_be_bytes(bytes))
}

/// The inlined number in an id, without the detour through [`Value`].
pub(super) fn inlined_number(id: TermId) -> Option<Number> {
    Some(match id.inline_value()? {
        Inline::Integer(_, value) => Number::Integer(value.into()),
        Inline::Decimal(value) => Number::Decimal(value),
        Inline::Double(value) => Number::Double(value.into()),
        Inline::Float(value) => Number::Float(value.into()),
        Inline::Blank(_) | Inline::Boolean(_) | Inline::DateTime(_) | Inline::String(_) => return None,
    })
}
