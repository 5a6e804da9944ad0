//! Errors in a query text, with their position.
//!
//! Input: a code, a message and a byte offset. Output: a value that prints as one line for people and carries a stable
//! code for programs. Positions always refer to the text the user wrote, never to the rewritten one.

use std::fmt;

/// A position in a text: line and column start at 1, columns count characters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Position {
    pub line: u32,
    pub column: u32,
}

/// A range of a text: its first character, and the first one after it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TextSpan {
    pub start: Position,
    pub end: Position,
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
    /// The position of a byte offset; an offset inside a character counts as that character.
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

    /// Names the text that the position refers to, if it is not the query.
    pub(super) fn within(mut self, place: &str) -> Self {
        self.message = format!("{place}: {}", self.message);
        self
    }

    /// A stable name for the kind of error, such as `window.zero_width`.
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

/// The candidates with the smallest edit distance to a mistyped name, if they are close enough to suggest.
pub(super) fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let limit = (name.chars().count() / 3).clamp(1, 3);
    let near = candidates.into_iter().map(|candidate| (edit_distance(name, candidate), candidate));
    let near: Vec<_> = near.filter(|(distance, _)| *distance <= limit).collect();
    let least = near.iter().map(|(distance, _)| *distance).min();
    near.into_iter().filter(|(distance, _)| Some(*distance) == least).map(|(_, candidate)| candidate).collect()
}

/// `did you mean A or B?`
pub(crate) fn suggestion<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let near = nearest(name, candidates);
    (!near.is_empty()).then(|| format!("did you mean {}?", list(&near)))
}

/// `A, B or C`
pub(super) fn list(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

/// The Damerau–Levenshtein distance: insertions, deletions, replacements, and swaps of neighbours.
fn edit_distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let (mut before, mut row): (Vec<usize>, Vec<usize>) = (Vec::new(), (0..=b.len()).collect());
    for i in 0..a.len() {
        let mut next = vec![i + 1];
        for j in 0..b.len() {
            let replaced = row[j] + usize::from(a[i] != b[j]);
            let swapped = i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j];
            let best = replaced.min(row[j + 1] + 1).min(next[j] + 1);
            next.push(if swapped { best.min(before[j - 1] + 1) } else { best });
        }
        before = std::mem::replace(&mut row, next);
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
        assert_eq!(nearest("wind", ["win", "other"]), ["win"]);
        assert_eq!(nearest("RNAGE", ["RANGE", "ON"]), ["RANGE"]);
        assert!(nearest("abc", ["xyz"]).is_empty());
        assert_eq!(suggestion("XSTREAM", ["RSTREAM", "ISTREAM"]).as_deref(), Some("did you mean RSTREAM or ISTREAM?"));
    }
}
