//! Text → tokens with byte offsets, for SPARQL and the three streaming dialects.
//!
//! Input: a query text. Output: its tokens in order, without white space and comments. Invariants: a keyword inside a
//! string, a comment, an IRI, a prefixed name or a variable never becomes a [`Kind::Word`]; every bracket that the
//! SPARQL parser could see is a token of its own. Linear in the text, without recursion.

use super::error::ParseError;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// `<http://example.org/>`
    Iri,
    /// `ex:name`, `ex:`, `:name`
    Prefixed,
    /// `_:b0`
    Blank,
    /// `?x`, `$x`
    Variable,
    /// A keyword or a built-in function.
    Word,
    /// Without a sign.
    Number,
    String,
    /// `@en` after a string.
    Language,
    /// `(`, `[`, `{`, `<<`, `<<(`, `{|`
    Open,
    /// `)`, `]`, `}`, `>>`, `)>>`, `|}`
    Close,
    /// Operators, separators, and any other character.
    Punctuation,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Token {
    pub kind: Kind,
    pub start: usize,
    pub end: usize,
}

impl Token {
    pub fn text(self, source: &str) -> &str {
        &source[self.start..self.end]
    }

    pub fn is(self, source: &str, symbol: &str) -> bool {
        matches!(self.kind, Kind::Open | Kind::Close | Kind::Punctuation) && self.text(source) == symbol
    }

    pub fn is_word(self, source: &str, word: &str) -> bool {
        self.kind == Kind::Word && self.text(source).eq_ignore_ascii_case(word)
    }

    pub fn is_any_word(self, source: &str, words: &[&str]) -> bool {
        words.iter().any(|word| self.is_word(source, word))
    }

    /// Whether an operand can end here, so that a following `<` may mean "less than".
    pub fn ends_operand(self) -> bool {
        !matches!(self.kind, Kind::Open | Kind::Punctuation)
    }
}

/// Longest first, so that `<<(` is not read as `<<`.
const SYMBOLS: [(&str, Kind); 20] = [
    ("<<(", Kind::Open),
    (")>>", Kind::Close),
    ("<<", Kind::Open),
    (">>", Kind::Close),
    ("{|", Kind::Open),
    ("|}", Kind::Close),
    ("^^", Kind::Punctuation),
    ("&&", Kind::Punctuation),
    ("||", Kind::Punctuation),
    ("!=", Kind::Punctuation),
    ("<=", Kind::Punctuation),
    (">=", Kind::Punctuation),
    ("(", Kind::Open),
    ("[", Kind::Open),
    ("{", Kind::Open),
    (")", Kind::Close),
    ("]", Kind::Close),
    ("}", Kind::Close),
    ("<", Kind::Punctuation),
    (">", Kind::Punctuation),
];

/// The tokens of a text; the only error is an unterminated string.
pub(super) fn tokenize(text: &str) -> Result<Vec<Token>, ParseError> {
    let mut tokens: Vec<Token> = Vec::with_capacity(text.len() / 4);
    let mut at = skip_blank(text, 0);
    while at < text.len() {
        let (kind, len) = next_token(text, at, tokens.last().copied())?;
        tokens.push(Token { kind, start: at, end: at + len });
        at = skip_blank(text, at + len);
    }
    Ok(tokens)
}

/// Skips white space, comments, and the byte order mark that some editors write.
fn skip_blank(text: &str, mut at: usize) -> usize {
    loop {
        let rest = &text[at..];
        match rest.chars().next() {
            Some('#') => at += rest.find(['\n', '\r']).unwrap_or(rest.len()),
            Some(c) if c.is_ascii_whitespace() || c == '\u{feff}' => at += c.len_utf8(),
            _ => return at,
        }
    }
}

fn next_token(text: &str, at: usize, previous: Option<Token>) -> Result<(Kind, usize), ParseError> {
    let rest = &text[at..];
    let first = rest.chars().next().unwrap_or(' ');
    Ok(match first {
        '"' | '\'' => (Kind::String, string_len(text, at)?),
        '<' => less_or_iri(rest, previous),
        '?' | '$' => match name_len(&rest[1..], is_variable_char) {
            0 => (Kind::Punctuation, 1),
            len => (Kind::Variable, 1 + len),
        },
        '_' if rest.starts_with("_:") => (Kind::Blank, 2 + dotted_len(&rest[2..], is_name_char)),
        ':' => (Kind::Prefixed, 1 + local_len(&rest[1..])),
        '@' if previous.is_some_and(|t| t.kind == Kind::String) => (Kind::Language, 1 + language_len(&rest[1..])),
        '0'..='9' | '.' => match number_len(rest) {
            0 => (Kind::Punctuation, 1),
            len => (Kind::Number, len),
        },
        c if is_name_start(c) => word_or_prefixed(rest),
        _ => symbol(rest),
    })
}

fn symbol(rest: &str) -> (Kind, usize) {
    let known = SYMBOLS.iter().find(|(symbol, _)| rest.starts_with(symbol));
    known.map_or_else(
        || (Kind::Punctuation, rest.chars().next().map_or(1, char::len_utf8)),
        |(symbol, kind)| (*kind, symbol.len()),
    )
}

/// `<` starts an IRI, a quoted triple or a comparison. `?a <<http://x>` compares with an IRI.
fn less_or_iri(rest: &str, previous: Option<Token>) -> (Kind, usize) {
    if let Some(len) = iri_len(rest) {
        return (Kind::Iri, len);
    }
    let compares_iri = rest.starts_with("<<") && iri_len(&rest[1..]).is_some();
    if compares_iri && previous.is_some_and(Token::ends_operand) {
        return (Kind::Punctuation, 1);
    }
    symbol(rest)
}

fn iri_len(rest: &str) -> Option<usize> {
    let inner = rest.strip_prefix('<')?;
    let end = inner.find(|c: char| c <= ' ' || matches!(c, '<' | '>' | '"' | '{' | '}' | '|' | '^' | '`'))?;
    inner[end..].starts_with('>').then_some(end + 2)
}

fn string_len(text: &str, at: usize) -> Result<usize, ParseError> {
    let rest = &text[at..];
    let quote = &rest[..1];
    let long = rest.starts_with(&quote.repeat(3));
    let closing = if long { quote.repeat(3) } else { quote.to_owned() };
    let mut end = closing.len();
    loop {
        let tail = &rest[end..];
        if tail.starts_with(&closing) {
            return Ok(end + closing.len());
        }
        match tail.chars().next() {
            Some('\\') => end += 1 + tail.chars().nth(1).map_or(0, char::len_utf8),
            Some('\n' | '\r') | None if !long => break,
            None => break,
            Some(c) => end += c.len_utf8(),
        }
    }
    let error = ParseError::new("parse.unterminated_string", "this string has no end").at(text, at);
    Err(error.with_hint(format!("close it with {closing}")))
}

fn number_len(rest: &str) -> usize {
    let digits = |s: &str| s.bytes().take_while(u8::is_ascii_digit).count();
    let whole = digits(rest);
    let mut len = whole;
    if rest[len..].starts_with('.') {
        let fraction = digits(&rest[len + 1..]);
        if fraction > 0 {
            len += 1 + fraction;
        }
    }
    if len == 0 { 0 } else { len + exponent_len(&rest[len..]) }
}

fn exponent_len(rest: &str) -> usize {
    let Some(tail) = rest.strip_prefix(['e', 'E']) else {
        return 0;
    };
    let sign = usize::from(tail.starts_with(['+', '-']));
    match tail[sign..].bytes().take_while(u8::is_ascii_digit).count() {
        0 => 0,
        digits => 1 + sign + digits,
    }
}

/// A prefix may contain `-` and `.`, a keyword may not: `NOW-PT5M` is three tokens.
fn word_or_prefixed(rest: &str) -> (Kind, usize) {
    let prefix = dotted_len(rest, is_name_char);
    if rest[prefix..].starts_with(':') {
        return (Kind::Prefixed, prefix + 1 + local_len(&rest[prefix + 1..]));
    }
    (Kind::Word, name_len(rest, is_variable_char))
}

/// The local part of a prefixed name: `%41` and `\,` are allowed, a trailing dot is not.
fn local_len(rest: &str) -> usize {
    let (mut end, mut kept) = (0, 0);
    while let Some(c) = rest[end..].chars().next() {
        match c {
            '.' => end += 1,
            '\\' | '%' => {
                end += 1 + rest[end + 1..].chars().next().map_or(0, char::len_utf8);
                kept = end;
            }
            c if is_name_char(c) || c == ':' => {
                end += c.len_utf8();
                kept = end;
            }
            _ => break,
        }
    }
    kept
}

fn dotted_len(rest: &str, allowed: fn(char) -> bool) -> usize {
    let len = name_len(rest, |c| allowed(c) || c == '.');
    rest[..len].trim_end_matches('.').len()
}

fn language_len(rest: &str) -> usize {
    name_len(rest, |c| c.is_ascii_alphanumeric() || c == '-')
}

fn name_len(rest: &str, allowed: impl Fn(char) -> bool) -> usize {
    rest.find(|c| !allowed(c)).unwrap_or(rest.len())
}

fn is_name_start(c: char) -> bool {
    c == '_' || c.is_alphabetic()
}

fn is_variable_char(c: char) -> bool {
    c == '_' || c.is_alphanumeric() || matches!(c, '\u{b7}' | '\u{300}'..='\u{36f}' | '\u{203f}' | '\u{2040}')
}

fn is_name_char(c: char) -> bool {
    c == '-' || is_variable_char(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spell(text: &str) -> Vec<(Kind, &str)> {
        tokenize(text).expect("well formed").into_iter().map(|t| (t.kind, t.text(text))).collect()
    }

    #[test]
    fn keywords_in_strings_comments_iris_and_names_are_not_words() {
        let text =
            "'WINDOW' \"a \\\" STREAM\" '''x\n' FROM''' <http://WINDOW/> x:WINDOW ?WINDOW @ 'a'@stream # FROM\n.";
        assert!(spell(text).iter().all(|(kind, _)| *kind != Kind::Word));
    }

    #[test]
    fn less_than_is_told_from_an_iri() {
        assert_eq!(spell("?a < ?b && ?c > 1")[1], (Kind::Punctuation, "<"));
        assert_eq!(spell("?a <http://x> ?b")[1], (Kind::Iri, "<http://x>"));
        assert_eq!(spell("?a <<http://x>")[1], (Kind::Punctuation, "<"));
        assert_eq!(spell("<< ?a ?b ?c >>")[0], (Kind::Open, "<<"));
        assert_eq!(spell("?a<=?b")[1], (Kind::Punctuation, "<="));
    }

    #[test]
    fn names_may_hold_dots_dashes_and_escapes() {
        assert_eq!(spell("om-owl:a.b.")[0], (Kind::Prefixed, "om-owl:a.b"));
        assert_eq!(spell("x:a\\,b%41 ")[0], (Kind::Prefixed, "x:a\\,b%41"));
        assert_eq!(spell("NOW-PT5M").len(), 3);
        assert_eq!(spell("_:b.1 .")[0], (Kind::Blank, "_:b.1"));
    }

    #[test]
    fn numbers_do_not_swallow_the_full_stop() {
        assert_eq!(
            spell("1. 1.5 .5 1e3 10s").iter().map(|t| t.1).collect::<Vec<_>>(),
            ["1", ".", "1.5", ".5", "1e3", "10", "s"]
        );
    }

    #[test]
    fn a_string_without_end_is_refused_where_it_starts() {
        let error = tokenize("a\n 'b").expect_err("no end");
        assert_eq!(error.code(), "parse.unterminated_string");
        assert_eq!(error.position().map(|p| (p.line, p.column)), Some((2, 2)));
    }
}
