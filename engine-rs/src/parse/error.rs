//! What is wrong with a query text, and where.
//!
//! In: a code, a sentence and a byte offset. Out: a value that prints as one line for a person and carries a stable
//! code for programs. Positions always speak of the text the user wrote, never of the rewritten one.

use std::fmt;

/// A place in a text: both numbers start at 1, columns count characters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Position {
    pub line: u32,
    pub column: u32,
}

/// A refused query.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub struct ParseError {
    code: &'static str,
    message: String,
    position: Option<Position>,
    hint: Option<String>,
}

impl Position {
    /// The place of a byte offset; an offset inside a character belongs to that character.
    #[must_use]
    pub fn of(text: &str, offset: usize) -> Self {
        let (mut line, mut column) = (1, 1);
        for (at, c) in text.char_indices() {
            if at + c.len_utf8() > offset {
                break;
            }
            if c == '\n' {
                line += 1;
                column = 1;
            } else {
                column += 1;
            }
        }
        Self { line, column }
    }
}

impl ParseError {
    pub(super) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), position: None, hint: None }
    }

    pub(super) fn at(mut self, text: &str, offset: usize) -> Self {
        self.position = Some(Position::of(text, offset));
        self
    }

    pub(super) fn at_position(mut self, position: Position) -> Self {
        self.position = Some(position);
        self
    }

    pub(super) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Says which text the position is one of, where it is not the query.
    pub(super) fn within(mut self, place: &str) -> Self {
        self.message = format!("{place}: {}", self.message);
        self
    }

    /// A stable name of the kind of fault, such as `window.zero_width`.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.code
    }

    /// One sentence without position, lower case, no full stop.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    #[must_use]
    pub fn position(&self) -> Option<Position> {
        self.position
    }

    /// What the user could do instead.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if let Some(position) = self.position {
            write!(f, " at {position}")?;
        }
        match &self.hint {
            Some(hint) => write!(f, " (hint: {hint})"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// The candidate a mistyped name most likely meant, if one is close enough to be worth saying.
pub(super) fn closest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (name.chars().count() / 3).clamp(1, 3);
    candidates
        .into_iter()
        .map(|candidate| (edit_distance(name, candidate), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min()
        .map(|(_, candidate)| candidate)
}

/// Levenshtein distance, one row at a time.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters_not_bytes() {
        let text = "é\nαβ?x";
        let offset = text.find('?').expect("there is one");
        assert_eq!(Position::of(text, offset), Position { line: 2, column: 3 });
    }

    #[test]
    fn display_gives_message_position_and_hint() {
        let error = ParseError::new("a.b", "no such thing").at("ab", 1).with_hint("try another");
        assert_eq!(error.to_string(), "no such thing at line 1, column 2 (hint: try another)");
    }

    #[test]
    fn a_name_far_from_all_others_has_no_closest() {
        assert_eq!(closest("wind", ["win", "other"]), Some("win"));
        assert_eq!(closest("abc", ["xyz"]), None);
    }
}
