//! The text of a row mapping → a CONSTRUCT query.
//!
//! Input: a CONSTRUCT whose variables are column names. Output: the parsed query, or an error with its position. A bare
//! template is read as `CONSTRUCT { … } WHERE {}`. The limits are those of queries.

use spargebra::{Query, SparqlParser};

use super::error::ParseError;
use super::expansion::names_fit;
use super::names::Names;
use super::reading::read_query;
use super::rewrite::Edits;
use super::token::{Kind, Token};
use super::{limits, token};

/// Parses the text of a mapping.
pub(crate) fn parse_mapping(text: &str) -> Result<Query, ParseError> {
    limits::check_size(text)?;
    let tokens = token::tokenize(text)?;
    let work = limits::check(text, &tokens)?;
    names_fit(text, &tokens, None)?;
    Names::gather(text, &tokens, None)?.check_prefixes(&tokens)?;
    check_form(text, &tokens)?;
    let mut edits = Edits::default();
    if is_template_alone(text, &tokens) {
        edits.splice(text.len(), text.len(), "\nWHERE {}");
    }
    let (rewritten, parser) = (edits.apply(text), SparqlParser::new());
    read_query(&parser, text, rewritten, work)
}

fn check_form(text: &str, tokens: &[Token]) -> Result<(), ParseError> {
    let forms = ["CONSTRUCT", "SELECT", "ASK", "DESCRIBE"];
    match tokens.iter().find(|token| token.is_any_word(text, &forms)) {
        Some(form) if !form.is_word(text, "CONSTRUCT") => {
            let message = format!("a mapping is a CONSTRUCT query, not {}", form.text(text).to_uppercase());
            let error = ParseError::new("mapping.form", message).at(text, form.start);
            Err(error.with_hint("write CONSTRUCT { … } WHERE { … } with the names of columns as variables"))
        }
        _ => Ok(()),
    }
}

/// Whether the text is one block without WHERE.
fn is_template_alone(text: &str, tokens: &[Token]) -> bool {
    let (mut depth, mut blocks) = (0_usize, 0);
    for token in tokens {
        match token.kind {
            Kind::Open => {
                blocks += usize::from(depth == 0);
                depth += 1;
            }
            Kind::Close => depth = depth.saturating_sub(1),
            Kind::Word if token.is_word(text, "WHERE") => return false,
            _ => {}
        }
    }
    blocks == 1 && depth == 0
}
