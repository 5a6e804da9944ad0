//! Bounds the size of the IRIs in a query or an update: a namespace or base is written once but repeated in every name
//! that uses it, so 64 KiB of text could become hundreds of megabytes.
//!
//! Input: a text and its tokens. Output: nothing, or the first name that is too much. The size is estimated in two flat
//! passes and never underestimated: every name is charged with the base, whether it is relative or not, and with the
//! longest namespace that the text declares for its prefix.

use std::collections::HashMap;

use super::error::ParseError;
use super::token::{Kind, Token};

/// Bytes of IRIs in one text. A text of 64 KiB has at most 13,000 names; 300 bytes for each are within it.
const IRI_BYTES_MAX: usize = 4 << 20;

/// Refuses a text whose names would become too long in all.
pub(super) fn names_fit(text: &str, tokens: &[Token], base: Option<&str>) -> Result<(), ParseError> {
    let declared = Declared::among(text, tokens, base);
    let mut total = 0_usize;
    for token in tokens {
        total = total.saturating_add(declared.iri_bytes(text, *token));
        if total > IRI_BYTES_MAX {
            let message = format!("the names of the text expand to more than {} MiB of IRIs", IRI_BYTES_MAX >> 20);
            let error = ParseError::new("limit.unfolding", message).at(text, token.start);
            return Err(error.with_hint("declare shorter namespaces, or split the text"));
        }
    }
    Ok(())
}

struct Declared<'a> {
    /// The length of the base, if every BASE is relative to the one before.
    base: usize,
    /// Prefix without its colon → the length of the longest namespace.
    namespaces: HashMap<&'a str, usize>,
}

impl<'a> Declared<'a> {
    fn among(text: &'a str, tokens: &[Token], base: Option<&str>) -> Self {
        let mut declared = Self { base: base.map_or(0, str::len), namespaces: HashMap::new() };
        for (at, token) in tokens.iter().enumerate() {
            let iri_bytes =
                |n: usize| tokens.get(at + n).filter(|t| t.kind == Kind::Iri).map_or(0, |t| t.end - t.start);
            if token.is_word(text, "BASE") {
                declared.base = declared.base.saturating_add(iri_bytes(1));
            } else if token.is_word(text, "PREFIX")
                && let Some(prefix) = tokens.get(at + 1)
            {
                let longest = declared.namespaces.entry(prefix_of(text, *prefix)).or_default();
                *longest = iri_bytes(2).max(*longest);
            }
        }
        declared
    }

    /// At most so long is the IRI that a token stands for. An operation of an update has a parser of its own, which
    /// reads the base again.
    fn iri_bytes(&self, text: &str, token: Token) -> usize {
        let written = token.end - token.start;
        match token.kind {
            Kind::Iri => written.saturating_add(self.base),
            Kind::Prefixed => {
                let namespace = self.namespaces.get(prefix_of(text, token)).copied().unwrap_or_default();
                written.saturating_add(namespace).saturating_add(self.base)
            }
            Kind::Punctuation if token.is(text, ";") => self.base,
            _ => 0,
        }
    }
}

fn prefix_of(text: &str, token: Token) -> &str {
    token.text(text).split(':').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::{mapping::parse_mapping, plain::parse_plain, query::parse_query, update::parse_update};
    use super::*;
    use crate::parse::ParseOptions;

    /// The code with which each way to read a text refuses this prologue and pattern.
    fn refusals(prologue: &str, pattern: &str) -> Vec<&'static str> {
        let streaming = "FROM NAMED WINDOW <urn:w> ON <urn:s> [RANGE 1s]";
        let query = format!("{prologue} SELECT * {streaming} WHERE {{ WINDOW <urn:w> {{ {pattern} }} }}");
        let code = |error: ParseError| error.code();
        [
            parse_query(&query, &ParseOptions::default()).map(drop).map_err(code),
            parse_plain(&format!("{prologue} SELECT * WHERE {{ {pattern} }}"), None).map(drop).map_err(code),
            parse_update(&format!("{prologue} INSERT DATA {{ {pattern} }}"), None).map(drop).map_err(code),
            parse_mapping(&format!("{prologue} CONSTRUCT {{ {pattern} }} WHERE {{}}")).map(drop).map_err(code),
        ]
        .into_iter()
        .map(|outcome| outcome.err().unwrap_or("accepted"))
        .collect()
    }

    fn long(bytes: usize) -> String {
        format!("<http://ex/{}/>", "n".repeat(bytes))
    }

    #[test]
    fn a_long_namespace_of_many_names_is_refused() {
        let prologue = format!("PREFIX x: {}", long(30_000));
        assert_eq!(refusals(&prologue, &"x: x: x: .".repeat(1_000)), ["limit.unfolding"; 4]);
        assert_eq!(refusals(&prologue, &"x: x: x: .".repeat(30)), ["accepted"; 4]);
    }

    #[test]
    fn so_is_a_long_base_of_many_names() {
        let prologue = format!("BASE {}", long(30_000));
        assert_eq!(refusals(&prologue, &"<> <> <> .".repeat(1_000)), ["limit.unfolding"; 4]);
        // Declarations are read with the base, too.
        let prefixes: String = (0..1_000).map(|n| format!("PREFIX p{n}: <a{n}> ")).collect();
        assert_eq!(refusals(&format!("{prologue} {prefixes}"), "<> <> <> ."), ["limit.unfolding"; 4]);
    }

    #[test]
    fn so_are_many_operations_of_a_long_base() {
        let text = format!("BASE {} CLEAR ALL {}", long(30_000), "; CLEAR ALL".repeat(1_000));
        assert_eq!(parse_update(&text, None).map_err(|error| error.code()), Err("limit.unfolding"));
    }

    #[test]
    fn a_base_of_the_request_counts() {
        let base = format!("http://ex/{}/", "n".repeat(30_000));
        let text = format!("SELECT * WHERE {{ {} }}", "<> <> <> .".repeat(1_000));
        assert_eq!(parse_plain(&text, Some(&base)).map(drop).map_err(|error| error.code()), Err("limit.unfolding"));
    }

    #[test]
    fn many_short_names_are_accepted() {
        let prologue = "PREFIX ex: <http://example.org/a/namespace/of/an/ordinary/length#>";
        assert_eq!(refusals(prologue, &"ex:a ex:b ex:c . ".repeat(3_500)), ["accepted"; 4]);
    }
}
