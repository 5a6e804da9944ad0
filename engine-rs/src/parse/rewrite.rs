//! Edits of a text that remember the original offsets.
//!
//! Input: a text and replacements of byte ranges. Output: the new text, and a table from its offsets to the old ones.
//! Removed parts become blanks and line ends, so most of the text keeps its line and column.
//!
//! ```text
//!  old   WINDOW :w { ?s ?p ?o }
//!  new   GRAPH  :w { ?s ?p ?o }      same offsets wherever the replacement is not longer
//! ```

#[derive(Clone)]
pub(super) struct Edit {
    start: usize,
    end: usize,
    with: String,
}

#[derive(Clone, Default)]
pub(super) struct Edits(Vec<Edit>);

pub(super) struct Rewritten {
    pub text: String,
    /// Pieces in order: offset in the new text, offset in the old text, whether the piece was copied unchanged.
    pieces: Vec<(usize, usize, bool)>,
    /// The rewriting that produced the old text, if there was one.
    before: Option<Box<Rewritten>>,
}

impl Edits {
    /// Replaces the range by `with`, padded with blanks to the old length.
    pub fn replace(&mut self, source: &str, start: usize, end: usize, with: &str) {
        let mut text = with.to_owned();
        text.extend(source[start..end].chars().skip(with.chars().count()).map(blank));
        self.0.push(Edit { start, end, with: text });
    }

    pub fn blank(&mut self, source: &str, start: usize, end: usize) {
        self.replace(source, start, end, "");
    }

    /// Replaces the range by `with`, without padding.
    pub fn splice(&mut self, start: usize, end: usize, with: impl Into<String>) {
        self.0.push(Edit { start, end, with: with.into() });
    }

    /// Applies all edits. At the same offset, an insertion precedes a replacement; an edit inside a range that is
    /// already replaced is dropped.
    pub fn apply(mut self, source: &str) -> Rewritten {
        self.0.sort_by_key(|edit| (edit.start, edit.end));
        let mut rewritten = Rewritten::empty(source.len() + 64);
        let mut at = 0;
        for edit in &self.0 {
            if edit.start < at {
                continue;
            }
            rewritten.push(&source[at..edit.start], at, true);
            rewritten.push(&edit.with, edit.start, false);
            at = edit.end;
        }
        rewritten.push(&source[at..], at, true);
        rewritten
    }
}

impl Rewritten {
    fn empty(capacity: usize) -> Self {
        Self { text: String::with_capacity(capacity), pieces: Vec::new(), before: None }
    }

    /// Applies further edits to the text.
    pub fn again(self, edits: Edits) -> Self {
        let rewritten = edits.apply(&self.text);
        Self { before: Some(Box::new(self)), ..rewritten }
    }

    /// A part of a text, as it is.
    pub fn part(source: &str, start: usize, end: usize) -> Self {
        let mut part = Self::empty(end - start);
        part.push(&source[start..end], start, true);
        part
    }

    fn push(&mut self, piece: &str, old: usize, kept: bool) {
        self.pieces.push((self.text.len(), old, kept));
        self.text.push_str(piece);
    }

    /// The original offset of the character at this offset; inside a replacement, the start of the replaced range.
    pub fn original_offset(&self, offset: usize) -> usize {
        let at = self.pieces.partition_point(|(new, _, _)| *new <= offset).saturating_sub(1);
        let (new, old, kept) = self.pieces[at];
        let offset = if kept { old + (offset - new) } else { old };
        self.before.as_ref().map_or(offset, |before| before.original_offset(offset))
    }
}

fn blank(c: char) -> char {
    if matches!(c, '\n' | '\r') { c } else { ' ' }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removed_text_leaves_the_rest_in_place() {
        let source = "ab\ncd ef";
        let mut edits = Edits::default();
        edits.blank(source, 1, 5);
        assert_eq!(edits.apply(source).text, "a \n   ef");
    }

    #[test]
    fn offsets_behind_a_longer_replacement_map_back() {
        let source = "x (y) z";
        let mut edits = Edits::default();
        edits.replace(source, 2, 5, "longer");
        edits.splice(2, 2, "(");
        let rewritten = edits.apply(source);
        assert_eq!(rewritten.text, "x (longer z");
        assert_eq!(rewritten.original_offset(rewritten.text.len() - 1), 6);
        assert_eq!(rewritten.original_offset(5), 2);
        assert_eq!(rewritten.original_offset(rewritten.text.len()), 7);
    }

    #[test]
    fn offsets_map_back_through_two_rounds() {
        let mut first = Edits::default();
        first.splice(0, 1, "wide");
        let first = first.apply("a b c");
        let mut second = Edits::default();
        second.splice(5, 6, "wider");
        let rewritten = first.again(second);
        assert_eq!(rewritten.text, "wide wider c");
        assert_eq!(
            (rewritten.original_offset(0), rewritten.original_offset(6), rewritten.original_offset(11)),
            (0, 2, 4)
        );
    }
}
