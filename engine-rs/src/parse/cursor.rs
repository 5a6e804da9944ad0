//! A position in the tokens of a query, with the look-ahead that the clause parsers need.
//!
//! Input: tokens. Output: the requested token, or an error that says what was found and what was expected.

use oxrdf::NamedNode;

use super::error::{ParseError, Position, suggestion};
use super::names::Names;
use super::token::{Kind, Token};

#[derive(Clone, Copy)]
pub(super) struct Cursor<'a> {
    pub text: &'a str,
    pub tokens: &'a [Token],
    pub names: &'a Names<'a>,
    pub at: usize,
}

impl<'a> Cursor<'a> {
    pub fn peek(&self) -> Option<Token> {
        self.tokens.get(self.at).copied()
    }

    pub fn peek_at(&self, ahead: usize) -> Option<Token> {
        self.tokens.get(self.at + ahead).copied()
    }

    pub fn is_word(&self, word: &str) -> bool {
        self.is_word_at(0, word)
    }

    pub fn is_word_at(&self, ahead: usize, word: &str) -> bool {
        self.peek_at(ahead).is_some_and(|t| t.is_word(self.text, word))
    }

    pub fn is(&self, symbol: &str) -> bool {
        self.peek().is_some_and(|t| t.is(self.text, symbol))
    }

    /// Consumes one of these words and returns it.
    pub fn take_word<'w>(&mut self, words: &[&'w str]) -> Option<&'w str> {
        let found = words.iter().find(|word| self.is_word(word)).copied();
        self.at += usize::from(found.is_some());
        found
    }

    pub fn take(&mut self, symbol: &str) -> bool {
        let found = self.is(symbol);
        self.at += usize::from(found);
        found
    }

    pub fn expect_word(&mut self, word: &str) -> Result<(), ParseError> {
        self.take_word(&[word]).map(|_| ()).ok_or_else(|| self.unexpected(word))
    }

    /// Consumes an IRI or a prefixed name.
    pub fn expect_name(&mut self, what: &str) -> Result<(Token, NamedNode), ParseError> {
        let token = self.peek().filter(|t| is_name(*t)).ok_or_else(|| self.unexpected(what))?;
        self.at += 1;
        Ok((token, self.names.resolve(token)?))
    }

    /// The offset of the next token, or of the end of the text.
    pub fn offset(&self) -> usize {
        self.peek().map_or(self.text.len(), |t| t.start)
    }

    /// The end of the last consumed token.
    pub fn end_of_previous(&self) -> usize {
        self.at.checked_sub(1).map_or(0, |at| self.tokens[at].end)
    }

    pub fn position(&self) -> Position {
        Position::of(self.text, self.offset())
    }

    pub fn unexpected(&self, expected: &str) -> ParseError {
        let message = match self.peek() {
            Some(token) => format!("unexpected '{}', expected {expected}", token.text(self.text)),
            None => format!("the query ends here, expected {expected}"),
        };
        let code = if self.peek().is_some() { "parse.unexpected_token" } else { "parse.unexpected_end" };
        self.fail(code, message).with_hint(self.advice(expected))
    }

    fn advice(&self, expected: &str) -> String {
        let found = self.peek().map_or("", |t| t.text(self.text));
        if found == "$" || found == "{" && self.peek_at(1).is_some_and(|t| t.is(self.text, "{")) {
            return "a placeholder must be filled in before the query is registered".to_owned();
        }
        let words = expected.split([' ', ',']).filter(|word| word.len() > 1 && *word == word.to_uppercase());
        suggestion(&found.to_uppercase(), words).unwrap_or_else(|| format!("write {expected} here"))
    }

    pub fn fail(&self, code: &'static str, message: impl Into<String>) -> ParseError {
        ParseError::new(code, message).at(self.text, self.offset())
    }
}

pub(super) fn is_name(token: Token) -> bool {
    matches!(token.kind, Kind::Iri | Kind::Prefixed)
}
