//! Functions that take terms apart and construct them.

use super::builtin::Builtin;
use super::made::{Maker, needs_language};
use super::node::TriplePart;
use super::numbers::Number;
use super::text::{Language, Text};
use super::value::{TripleValue, Value};
use crate::encode::{Dictionary, Inline, recased};
use crate::model::TermId;
use oxiri::Iri;
use oxrdf::vocab::{rdf, xsd};
use oxrdf::{BaseDirection, Literal, LiteralRef, NamedNodeRef, Term, TermRef};
use spargebra::algebra::Function;

pub(super) fn builtin(function: &Function) -> Option<Builtin> {
    Some(match function {
        Function::Lang => Builtin::Unary(lang),
        Function::LangDir => Builtin::Unary(lang_dir),
        Function::StrLang => Builtin::Binary(str_lang),
        Function::StrLangDir => Builtin::Ternary(str_lang_dir),
        Function::IsIri => Builtin::Unary(|value| Some(Value::Boolean(matches!(value, Value::Iri(_))))),
        Function::IsBlank => Builtin::Unary(|value| Some(Value::Boolean(matches!(value, Value::Blank(_))))),
        Function::IsTriple => Builtin::Unary(|value| Some(Value::Boolean(matches!(value, Value::Triple(_))))),
        Function::IsLiteral => Builtin::Unary(|value| Some(Value::Boolean(is_literal(&value)))),
        Function::HasLang => Builtin::Unary(|value| Some(Value::Boolean(matches!(value, Value::LangString(..))))),
        Function::HasLangDir => Builtin::Unary(|value| {
            Some(Value::Boolean(matches!(value, Value::LangString(_, Language { direction: Some(_), .. }))))
        }),
        _ => return None,
    })
}

/// Functions that construct terms, with their numbers of arguments.
pub(super) fn maker(function: &Function, arity: usize) -> Option<Maker> {
    match (function, arity) {
        (Function::StrDt, 2) => Some(Maker::StrDt),
        (Function::Triple, 3) => Some(Maker::Triple),
        (Function::Subject, 1) => Some(Maker::Subject),
        (Function::Predicate, 1) => Some(Maker::Predicate),
        (Function::Object, 1) => Some(Maker::Object),
        _ => None,
    }
}

/// The value of a constructed term.
pub(super) fn of_maker(maker: Maker) -> Builtin {
    match maker {
        Maker::StrDt => Builtin::Binary(str_dt),
        Maker::Triple => Builtin::Ternary(triple),
        Maker::Subject => Builtin::Unary(|value| parts(value).map(|triple| triple.subject)),
        Maker::Predicate => Builtin::Unary(|value| parts(value).map(|triple| Value::Iri(triple.predicate))),
        Maker::Object => Builtin::Unary(|value| parts(value).map(|triple| triple.object)),
    }
}

/// The cast to `xsd:string`: XPath writes doubles of common magnitude without an exponent.
pub(super) fn str(value: Value<'_>) -> Option<Value<'_>> {
    match value {
        Value::Number(Number::Double(_) | Number::Float(_)) => {}
        other => return lexical(other),
    }
    let number = value.as_number()?;
    let size = f64::from(number.to_double()).abs();
    let text = match number {
        _ if size != 0.0 && !(1e-6..1e6).contains(&size) => return lexical(value),
        Number::Float(value) => value.to_string(),
        other => other.to_double().to_string(),
    };
    Some(Value::String(Text::Owned(text)))
}

/// `STR` of a value, and the cast of other values to `xsd:string`.
pub(super) fn lexical(value: Value<'_>) -> Option<Value<'_>> {
    Some(Value::String(match value {
        Value::Iri(text) | Value::String(text) | Value::LangString(text, _) | Value::Other { text, .. } => text,
        Value::Boolean(value) => Text::Borrowed(if value { "true" } else { "false" }),
        Value::Number(number) => Text::Owned(number.to_literal().destruct().0),
        Value::DateTime(at) => Text::Owned(at.to_string()),
        Value::Temporal(temporal) => Text::Owned(temporal.text()),
        Value::Blank(_) | Value::Triple(_) => return None,
    }))
}

/// `STR` of a term: its lexical form as written, not the canonical one.
pub(super) fn str_of(id: TermId, dictionary: &Dictionary) -> Option<Value<'_>> {
    match literal(id, dictionary) {
        Some(literal) => Some(Value::String(Text::Borrowed(literal.value()))),
        None => match Value::of(id, dictionary) {
            Value::Number(Number::Double(_) | Number::Float(_)) => match dictionary.term(id) {
                Term::Literal(literal) => Some(Value::String(Text::Owned(literal.destruct().0))),
                _ => None,
            },
            value => lexical(value),
        },
    }
}

/// `DATATYPE` of a term, which may be narrower than that of its value.
pub(super) fn datatype_of(id: TermId, dictionary: &Dictionary) -> Option<Value<'_>> {
    match (id.inline_value(), literal(id, dictionary)) {
        (_, Some(literal)) => Some(Value::Iri(Text::Borrowed(literal.datatype().as_str()))),
        (Some(Inline::Integer(..)), None) => match dictionary.term(id) {
            Term::Literal(literal) => Some(Value::Iri(Text::Owned(literal.datatype().as_str().to_owned()))),
            _ => None,
        },
        _ => datatype(Value::of(id, dictionary)),
    }
}

/// A component of a triple term. A literal is not parsed, so that it keeps its lexical form. No value if the term is
/// not a triple.
pub(super) fn part_of<'d>(id: TermId, path: &[TriplePart], dictionary: &'d Dictionary) -> Option<Value<'d>> {
    if !id.is_bound() || id.inline_value().is_some() {
        return None;
    }
    let mut term = dictionary.stored(id);
    for step in path {
        let TermRef::Triple(triple) = term else { return None };
        term = match step {
            TriplePart::Subject => triple.subject.as_ref().into(),
            TriplePart::Predicate => triple.predicate.as_ref().into(),
            TriplePart::Object => triple.object.as_ref(),
        };
    }
    Some(as_written(term))
}

fn as_written(term: TermRef<'_>) -> Value<'_> {
    match term {
        TermRef::Literal(literal) if literal.language().is_none() && literal.datatype() != xsd::STRING => {
            let text = Text::Borrowed(literal.value());
            Value::Other { text, datatype: Text::Owned(literal.datatype().as_str().to_owned()) }
        }
        TermRef::Triple(triple) => Value::Triple(Box::new(TripleValue {
            subject: as_written(triple.subject.as_ref().into()),
            predicate: Text::Borrowed(triple.predicate.as_str()),
            object: as_written(triple.object.as_ref()),
        })),
        other => Value::of_term(other),
    }
}

fn literal(id: TermId, dictionary: &Dictionary) -> Option<LiteralRef<'_>> {
    if id.inline_value().is_some() {
        return None;
    }
    match dictionary.stored(id) {
        TermRef::Literal(literal) => Some(literal),
        _ => None,
    }
}

/// `IRI(…)`: strings are resolved against the base of the query, if it has one.
pub(super) fn iri<'d>(value: Value<'d>, base: Option<&Iri<String>>) -> Option<Value<'d>> {
    let text = match value {
        Value::Iri(_) => return Some(value),
        Value::String(text) => text,
        _ => return None,
    };
    let resolved = match base {
        Some(base) => base.resolve(text.as_str()),
        None => Iri::parse(text.into_string()),
    };
    Some(Value::Iri(Text::Owned(resolved.ok()?.into_inner())))
}

fn is_literal(value: &Value<'_>) -> bool {
    !matches!(value, Value::Iri(_) | Value::Blank(_) | Value::Triple(_))
}

fn lang(value: Value<'_>) -> Option<Value<'_>> {
    match value {
        Value::LangString(_, language) => Some(Value::String(language.tag)),
        other => is_literal(&other).then_some(Value::String(Text::Borrowed(""))),
    }
}

fn lang_dir(value: Value<'_>) -> Option<Value<'_>> {
    let direction = match value {
        Value::LangString(_, Language { direction: Some(BaseDirection::Ltr), .. }) => "ltr",
        Value::LangString(_, Language { direction: Some(BaseDirection::Rtl), .. }) => "rtl",
        other => return is_literal(&other).then_some(Value::String(Text::Borrowed(""))),
    };
    Some(Value::String(Text::Borrowed(direction)))
}

pub(super) fn datatype(value: Value<'_>) -> Option<Value<'_>> {
    let known: NamedNodeRef<'static> = match value {
        Value::String(_) => xsd::STRING,
        Value::LangString(_, Language { direction: None, .. }) => rdf::LANG_STRING,
        Value::LangString(..) => rdf::DIR_LANG_STRING,
        Value::Boolean(_) => xsd::BOOLEAN,
        Value::Number(Number::Integer(_)) => xsd::INTEGER,
        Value::Number(Number::Decimal(_)) => xsd::DECIMAL,
        Value::Number(Number::Float(_)) => xsd::FLOAT,
        Value::Number(Number::Double(_)) => xsd::DOUBLE,
        Value::DateTime(_) => xsd::DATE_TIME,
        Value::Temporal(temporal) => temporal.datatype(),
        Value::Other { datatype, .. } => return Some(Value::Iri(datatype)),
        Value::Iri(_) | Value::Blank(_) | Value::Triple(_) => return None,
    };
    Some(Value::Iri(Text::Borrowed(known.as_str())))
}

fn str_lang<'d>(text: Value<'d>, tag: Value<'d>) -> Option<Value<'d>> {
    let (text, tag) = (text.into_string()?, tag.into_string()?);
    tagged(text, tag, None)
}

fn str_lang_dir<'d>(text: Value<'d>, tag: Value<'d>, direction: Value<'d>) -> Option<Value<'d>> {
    let (text, tag, direction) = (text.into_string()?, tag.into_string()?, direction.into_string()?);
    let direction = match direction.as_str() {
        "ltr" => BaseDirection::Ltr,
        "rtl" => BaseDirection::Rtl,
        _ => return None,
    };
    tagged(text, tag, Some(direction))
}

/// A literal with a language tag, if the tag is valid. The tag is normalised here, so that LANG returns the same before
/// and after the literal is bound to a variable.
fn tagged<'d>(text: Text<'d>, tag: Text<'d>, direction: Option<BaseDirection>) -> Option<Value<'d>> {
    Literal::new_language_tagged_literal("", tag.as_str()).ok()?;
    let tag = recased(tag.as_str()).map_or(tag, Text::Owned);
    Some(Value::LangString(text, Language { tag, direction }))
}

fn str_dt<'d>(text: Value<'d>, datatype: Value<'d>) -> Option<Value<'d>> {
    let text = text.into_string()?;
    match datatype {
        Value::Iri(datatype) if !needs_language(datatype.as_str()) => Some(Value::typed(text, datatype)),
        _ => None,
    }
}

fn triple<'d>(subject: Value<'d>, predicate: Value<'d>, object: Value<'d>) -> Option<Value<'d>> {
    match (&subject, predicate) {
        (Value::Iri(_) | Value::Blank(_), Value::Iri(predicate)) => {
            Some(Value::Triple(Box::new(TripleValue { subject, predicate, object })))
        }
        _ => None,
    }
}

fn parts(value: Value<'_>) -> Option<TripleValue<'_>> {
    match value {
        Value::Triple(triple) => Some(*triple),
        _ => None,
    }
}
