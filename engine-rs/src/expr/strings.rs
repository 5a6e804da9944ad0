//! Functions on strings. Positions count characters; the caller bounds the lengths of results.

use super::builtin::Builtin;
use super::text::{Language, Text};
use super::value::Value;
use crate::limits::Budget;
use spargebra::algebra::Function;

pub(super) fn builtin(function: &Function) -> Option<Builtin> {
    Some(match function {
        Function::StrLen => Builtin::Unary(str_len),
        Function::UCase => Builtin::Unary(|value| map_text(value, str::to_uppercase)),
        Function::LCase => Builtin::Unary(|value| map_text(value, str::to_lowercase)),
        Function::EncodeForUri => Builtin::Unary(encode_for_uri),
        Function::Contains => Builtin::Binary(|a, b| test_texts(a, b, |a, b| a.contains(b))),
        Function::StrStarts => Builtin::Binary(|a, b| test_texts(a, b, |a, b| a.starts_with(b))),
        Function::StrEnds => Builtin::Binary(|a, b| test_texts(a, b, |a, b| a.ends_with(b))),
        Function::StrBefore => Builtin::Binary(str_before),
        Function::StrAfter => Builtin::Binary(str_after),
        Function::LangMatches => Builtin::Binary(lang_matches),
        Function::SubStr => Builtin::Ternary(|text, start, length| sub_str(text, start, Some(length))),
        _ => return None,
    })
}

/// The two-argument form of `SUBSTR`.
pub(super) fn sub_str_from<'d>(text: Value<'d>, start: Value<'d>) -> Option<Value<'d>> {
    sub_str(text, start, None)
}

/// Collects the arguments of `CONCAT` one by one.
#[derive(Default)]
pub(super) struct Concat<'d> {
    text: String,
    /// `None` before the first argument, then the language all arguments share so far.
    language: Option<Option<Language<'d>>>,
}

impl<'d> Concat<'d> {
    pub(super) fn push(&mut self, value: Value<'d>, budget: &mut Budget) -> Option<()> {
        let (text, language) = value.into_text()?;
        self.language = Some(match self.language.take() {
            None => language,
            Some(shared) => shared.filter(|shared| language.as_ref() == Some(shared)),
        });
        budget.make_text(text.as_str().len());
        budget.admits_literal(self.text.len() + text.as_str().len()).then(|| self.text.push_str(text.as_str()))
    }

    pub(super) fn finish(self) -> Value<'d> {
        Value::plain(Text::Owned(self.text), self.language.flatten())
    }
}

fn str_len(value: Value<'_>) -> Option<Value<'_>> {
    let (text, _) = value.into_text()?;
    i64::try_from(text.as_str().chars().count()).ok().map(Value::integer)
}

fn map_text<'d>(value: Value<'d>, map: fn(&str) -> String) -> Option<Value<'d>> {
    let (text, language) = value.into_text()?;
    Some(Value::plain(Text::Owned(map(text.as_str())), language))
}

pub(super) fn encode_for_uri(value: Value<'_>) -> Option<Value<'_>> {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let (text, _) = value.into_text()?;
    let mut encoded = String::with_capacity(text.as_str().len());
    for byte in text.as_str().bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push('%');
            encoded.push(char::from(HEX[usize::from(byte >> 4)]));
            encoded.push(char::from(HEX[usize::from(byte & 15)]));
        }
    }
    Some(Value::String(Text::Owned(encoded)))
}

/// Two string arguments: the second is plain, or both have the same language.
fn compatible<'d>(a: Value<'d>, b: Value<'d>) -> Option<(Text<'d>, Text<'d>, Option<Language<'d>>)> {
    let (a, language) = a.into_text()?;
    let (b, other) = b.into_text()?;
    (other.is_none() || other == language).then_some((a, b, language))
}

fn test_texts<'d>(a: Value<'d>, b: Value<'d>, test: fn(&str, &str) -> bool) -> Option<Value<'d>> {
    let (a, b, _) = compatible(a, b)?;
    Some(Value::Boolean(test(a.as_str(), b.as_str())))
}

fn str_before<'d>(a: Value<'d>, b: Value<'d>) -> Option<Value<'d>> {
    let (a, b, language) = compatible(a, b)?;
    Some(match a.as_str().find(b.as_str()) {
        Some(at) => Value::plain(a.slice(0, at), language),
        None => Value::String(Text::Borrowed("")),
    })
}

fn str_after<'d>(a: Value<'d>, b: Value<'d>) -> Option<Value<'d>> {
    let (a, b, language) = compatible(a, b)?;
    Some(match a.as_str().find(b.as_str()) {
        Some(at) => Value::plain(a.slice(at + b.as_str().len(), a.as_str().len()), language),
        None => Value::String(Text::Borrowed("")),
    })
}

/// Basic filtering of RFC 4647: the range is `*` or a prefix of the tag, subtag by subtag.
fn lang_matches<'d>(tag: Value<'d>, range: Value<'d>) -> Option<Value<'d>> {
    let (tag, range) = (tag.into_string()?, range.into_string()?);
    if range.as_str() == "*" {
        return Some(Value::Boolean(!tag.as_str().is_empty()));
    }
    let mut subtags = tag.as_str().split('-');
    let mut wanted = range.as_str().split('-');
    Some(Value::Boolean(wanted.all(|part| subtags.next().is_some_and(|subtag| subtag.eq_ignore_ascii_case(part)))))
}

fn sub_str<'d>(text: Value<'d>, start: Value<'d>, length: Option<Value<'d>>) -> Option<Value<'d>> {
    let (text, language) = text.into_text()?;
    let start = position(&start)?;
    let length = match length {
        Some(length) => Some(position(&length)?),
        None => None,
    };
    let (from, to) = char_range(text.as_str(), start, length)?;
    Some(Value::plain(text.slice(from, to), language))
}

fn position(value: &Value<'_>) -> Option<i64> {
    match value.as_number()? {
        super::numbers::Number::Integer(value) => Some(value.into()),
        _ => None,
    }
}

/// Byte positions of the characters `start ≤ i < start + length`, counted from one.
fn char_range(text: &str, start: i64, length: Option<i64>) -> Option<(usize, usize)> {
    let first = start.checked_sub(1)?;
    let end = match length {
        Some(length) => first.checked_add(length)?,
        None => i64::MAX,
    };
    let byte_at = |position: i64| {
        let position = usize::try_from(position).unwrap_or(0);
        text.char_indices().nth(position).map_or(text.len(), |(byte, _)| byte)
    };
    let from = byte_at(first);
    Some(if end <= first.max(0) { (from, from) } else { (from, byte_at(end)) })
}
