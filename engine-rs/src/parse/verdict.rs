//! Turns spargebra's report about a refused text into values.
//!
//! Input: the report, a sentence, because spargebra's error type has no public fields. Output: the position it looked
//! at last, and the errors it names. No other module knows its sentences; `tests/wrong` fails if a new release rewords
//! one.

/// An error that spargebra names without a position, see `meaning`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    AliasInScope,
    AnnotatedPath,
    BindInScope,
    BlankNodeInDelete,
    BlankNodeReused,
    ColumnTwice,
    EscapeInvalid,
    IriInvalid,
    LanguageTagInvalid,
    NotGrouped,
    StarWithGroup,
    ValuesRepeated,
    ValuesRow,
}

/// A fragment of each sentence, and its meaning.
const SENTENCES: [(&str, Verdict); 15] = [
    ("Blank nodes are not allowed in DELETE WHERE", Verdict::BlankNodeInDelete),
    ("BIND is overriding an existing variable", Verdict::BindInScope),
    ("The SELECT contains a variable that is unbound", Verdict::NotGrouped),
    ("The SELECT contains an expression with a variable that is unbound", Verdict::NotGrouped),
    ("The SELECT overrides an existing variable", Verdict::AliasInScope),
    ("Duplicated variable name in SELECT", Verdict::ColumnTwice),
    ("SELECT * is not authorized with GROUP BY", Verdict::StarWithGroup),
    ("Repeated variables are not allowed in VALUES", Verdict::ValuesRepeated),
    ("The VALUES clause rows should have exactly", Verdict::ValuesRow),
    ("Already used blank node id", Verdict::BlankNodeReused),
    ("cannot be shared by multiple blocks", Verdict::BlankNodeReused),
    ("Reifiers are not allowed on property paths", Verdict::AnnotatedPath),
    ("language tag parsing failed", Verdict::LanguageTagInvalid),
    ("that can be escaped in strings", Verdict::EscapeInvalid),
    ("IRI parsing failed", Verdict::IriInvalid),
];

/// The errors that a report names, in order of priority.
pub(super) fn verdicts(report: &str) -> Vec<Verdict> {
    SENTENCES.iter().filter(|(sentence, _)| report.contains(sentence)).map(|(_, verdict)| *verdict).collect()
}

/// The byte offset that a report `error at 1:42: expected …` points to; its columns count characters.
pub(super) fn offset(report: &str, text: &str) -> Option<usize> {
    let (line, rest) = report.strip_prefix("error at ")?.split_once(':')?;
    let (column, _) = rest.split_once(':')?;
    let (line, column): (usize, usize) = (line.parse().ok()?, column.parse().ok()?);
    let start: usize = text.split_inclusive('\n').take(line.checked_sub(1)?).map(str::len).sum();
    let inside: usize = text[start..].chars().take(column.checked_sub(1)?).map(char::len_utf8).sum();
    Some(start + inside)
}
