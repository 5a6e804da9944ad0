//! RDF text → quads.
//!
//! Input: bytes in one of five formats. Output: all quads in text order, or the first error with its position. Nesting
//! is bounded before the parser runs, so that triple terms are never too deep to walk or drop; the total size of the
//! terms is bounded while it runs. Linear in the bytes.

use oxrdf::{GraphName, Quad};
use oxttl::{NQuadsParser, NTriplesParser, TriGParser, TurtleParser, TurtleSyntaxError};

use super::error::Position;
use super::json_ld;
use super::unfolding::Room;

pub(super) const MAX_DEPTH: usize = 128;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RdfFormat {
    NTriples,
    NQuads,
    Turtle,
    TriG,
    JsonLd,
}

impl RdfFormat {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NTriples => "ntriples",
            Self::NQuads => "nquads",
            Self::Turtle => "turtle",
            Self::TriG => "trig",
            Self::JsonLd => "jsonld",
        }
    }
}

const NOT_UTF_8: &str = "the text is not UTF-8";

/// A refused RDF text.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RdfError {
    #[error("{message} at {position}")]
    Syntax { message: String, position: Position },
    #[error("{NOT_UTF_8} at {position}")]
    Encoding { position: Position },
    #[error("{} at {position}", too_deep())]
    Depth { position: Position },
    #[error("the base '{base}' is not an absolute IRI")]
    Base { base: String },
    /// Valid JSON that is not valid JSON-LD.
    #[error("{message}")]
    JsonLd { message: String },
    #[error("{message}")]
    RemoteContext { message: String },
    #[error("the body has {bytes} bytes and expands to more than {most} bytes of terms")]
    Unfolding { bytes: usize, most: usize },
    #[error("the contexts would take too much work: {message}")]
    Contexts { message: String },
}

impl RdfError {
    /// A stable name for the kind of error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Syntax { .. } | Self::JsonLd { .. } => "rdf.syntax",
            Self::RemoteContext { .. } => "rdf.remote_context",
            Self::Contexts { .. } => "limit.contexts",
            Self::Unfolding { .. } => "limit.unfolding",
            Self::Encoding { .. } => "rdf.encoding",
            Self::Depth { .. } => "limit.depth",
            Self::Base { .. } => "iri.invalid",
        }
    }

    /// The same error, relative to the larger text that contains this one.
    #[must_use]
    pub(crate) fn moved_to(self, position: Position) -> Self {
        match self {
            Self::Syntax { message, .. } => Self::Syntax { message, position },
            Self::Encoding { .. } => Self::Encoding { position },
            Self::Depth { .. } => Self::Depth { position },
            other => other,
        }
    }

    /// The message alone, without position and hint.
    #[must_use]
    pub fn message(&self) -> String {
        match self {
            Self::Syntax { message, .. } => message.clone(),
            Self::Encoding { .. } => NOT_UTF_8.to_owned(),
            Self::Depth { .. } => too_deep(),
            other => other.to_string(),
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::RemoteContext { .. } => Some("write the context into the document; nothing is fetched"),
            Self::Unfolding { .. } => Some("use shorter namespaces, or send less at once"),
            Self::Contexts { .. } => Some("use fewer and smaller contexts"),
            _ => None,
        }
    }

    #[must_use]
    pub fn position(&self) -> Option<Position> {
        match self {
            Self::Syntax { position, .. } | Self::Encoding { position } | Self::Depth { position } => Some(*position),
            _ => None,
        }
    }
}

fn too_deep() -> String {
    format!("brackets or triple terms are nested more than {MAX_DEPTH} deep")
}

/// Parses a whole text. `base` resolves relative IRIs; N-Triples and N-Quads ignore it.
pub fn parse_rdf(bytes: &[u8], format: RdfFormat, base: Option<&str>) -> Result<Vec<Quad>, RdfError> {
    parse_rdf_within(bytes, format, base, &mut Room::of(bytes))
}

/// Parses one of several texts in a body, within the body's limit on term sizes.
pub(crate) fn parse_rdf_within(
    bytes: &[u8],
    format: RdfFormat,
    base: Option<&str>,
    room: &mut Room,
) -> Result<Vec<Quad>, RdfError> {
    let mut quads = Vec::new();
    each_quad(bytes, format, base, room, &mut |quad| quads.push(quad))?;
    Ok(quads)
}

/// Passes on the quads of a text one by one, including those before an error.
pub(crate) fn each_quad(
    bytes: &[u8],
    format: RdfFormat,
    base: Option<&str>,
    room: &mut Room,
    take: &mut dyn FnMut(Quad),
) -> Result<(), RdfError> {
    let text = decode(bytes)?;
    match format {
        RdfFormat::JsonLd => json_ld::check_depth(text)?,
        _ => check_depth(text)?,
    }
    match format {
        RdfFormat::NTriples => each(room, NTriplesParser::new().for_slice(text).map(|t| t.map(in_default_graph)), take),
        RdfFormat::NQuads => each(room, NQuadsParser::new().for_slice(text), take),
        RdfFormat::Turtle => {
            let parser = TurtleParser::new();
            let parser = match base {
                Some(base) => parser.with_base_iri(base).map_err(|_| bad_base(base))?,
                None => parser,
            };
            each(room, parser.for_slice(text).map(|t| t.map(in_default_graph)), take)
        }
        RdfFormat::TriG => {
            let parser = TriGParser::new();
            let parser = match base {
                Some(base) => parser.with_base_iri(base).map_err(|_| bad_base(base))?,
                None => parser,
            };
            each(room, parser.for_slice(text), take)
        }
        RdfFormat::JsonLd => json_ld::parse(text, base, room, take),
    }
}

fn in_default_graph(triple: oxrdf::Triple) -> Quad {
    triple.in_graph(GraphName::DefaultGraph)
}

fn each(
    room: &mut Room,
    mut quads: impl Iterator<Item = Result<Quad, TurtleSyntaxError>>,
    take: &mut dyn FnMut(Quad),
) -> Result<(), RdfError> {
    quads.try_for_each(|quad| room.admit(quad.map_err(|error| syntax(&error))?).map(&mut *take))
}

fn syntax(error: &TurtleSyntaxError) -> RdfError {
    let start = error.location().start;
    RdfError::Syntax { message: lower_first(error.message()), position: one_based(start.line, start.column) }
}

/// The parsers count from 0; positions for people count from 1.
pub(super) fn one_based(line: u64, column: u64) -> Position {
    let number = |n: u64| u32::try_from(n + 1).unwrap_or(u32::MAX);
    Position { line: number(line), column: number(column) }
}

pub(super) fn lower_first(message: &str) -> String {
    let mut chars = message.chars();
    chars.next().map(|c| c.to_lowercase().chain(chars).collect()).unwrap_or_default()
}

pub(super) fn bad_base(base: &str) -> RdfError {
    RdfError::Base { base: base.to_owned() }
}

fn decode(bytes: &[u8]) -> Result<&str, RdfError> {
    std::str::from_utf8(bytes).map_err(|error| {
        let good = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
        RdfError::Encoding { position: Position::of(&good, good.len()) }
    })
}

/// One pass over the bytes that skips strings, comments and IRIs and counts open brackets.
fn check_depth(text: &str) -> Result<(), RdfError> {
    let bytes = text.as_bytes();
    let (mut at, mut depth) = (0, 0_usize);
    while at < bytes.len() {
        let rest = &bytes[at..];
        at += match rest[0] {
            b'"' | b'\'' => string_len(rest),
            b'#' => rest.iter().position(|b| matches!(b, b'\n' | b'\r')).unwrap_or(rest.len()),
            b'\\' => 2,
            b'<' if !rest.starts_with(b"<<") => iri_len(rest),
            _ => {
                let (change, len) = bracket(rest);
                depth = depth.saturating_add_signed(change);
                if depth > MAX_DEPTH {
                    return Err(RdfError::Depth { position: Position::of(text, at) });
                }
                len
            }
        };
    }
    Ok(())
}

/// The change of depth at the start of `rest`, and the number of bytes it takes.
fn bracket(rest: &[u8]) -> (isize, usize) {
    let symbols: [(&[u8], isize); 10] = [
        (b"<<(", 1),
        (b")>>", -1),
        (b"<<", 1),
        (b">>", -1),
        (b"(", 1),
        (b")", -1),
        (b"[", 1),
        (b"]", -1),
        (b"{", 1),
        (b"}", -1),
    ];
    let found = symbols.iter().find(|(symbol, _)| rest.starts_with(symbol));
    found.map_or((0, 1), |(symbol, change)| (*change, symbol.len()))
}

/// The length of an IRI up to `>`. An illegal character ends the attempt, so that a stray `<` hides nothing.
fn iri_len(rest: &[u8]) -> usize {
    let end = rest.iter().skip(1).position(|b| matches!(b, b'>' | b'<' | b'"' | b'{' | b'}') || *b <= b' ');
    match end {
        Some(end) if rest[end + 1] == b'>' => end + 2,
        _ => 1,
    }
}

fn string_len(rest: &[u8]) -> usize {
    let quote = rest[0];
    let long = rest.starts_with(&[quote; 3]);
    let closing: &[u8] = if long { &[quote; 3] } else { &[quote] };
    let mut at = closing.len();
    while at < rest.len() && !rest[at..].starts_with(closing) {
        if !long && rest[at] == b'\n' {
            return at;
        }
        at += if rest[at] == b'\\' { 2 } else { 1 };
    }
    at + closing.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str, format: RdfFormat) -> Result<Vec<Quad>, RdfError> {
        parse_rdf(text.as_bytes(), format, Some("http://example.org/"))
    }

    #[test]
    fn the_four_formats_are_read() {
        assert_eq!(parse("<a:s> <a:p> \"o\" .", RdfFormat::NTriples).map(|q| q.len()), Ok(1));
        assert_eq!(parse("<a:s> <a:p> \"o\" <a:g> .", RdfFormat::NQuads).map(|q| q.len()), Ok(1));
        assert_eq!(parse("<s> <p> 1, [ <q> (1 2) ] .", RdfFormat::Turtle).map(|q| q.len()), Ok(7));
        let quads = parse("GRAPH <g> { <s> <p> 1 }", RdfFormat::TriG).expect("well formed");
        assert_eq!(quads[0].graph_name.to_string(), "<http://example.org/g>");
    }

    #[test]
    fn a_fault_has_line_and_column() {
        let error = parse("<s> <p> 1 .\n<s> ? 2 .", RdfFormat::Turtle).expect_err("no predicate");
        assert_eq!((error.code(), error.position().map(|p| p.line)), ("rdf.syntax", Some(2)));
        let error = parse_rdf(b"# ok\n\"\xff", RdfFormat::Turtle, None).expect_err("not UTF-8");
        assert_eq!((error.code(), error.position()), ("rdf.encoding", Some(Position { line: 2, column: 2 })));
        let error = parse_rdf(b"", RdfFormat::Turtle, Some("no")).expect_err("relative base");
        assert_eq!(error.code(), "iri.invalid");
    }

    #[test]
    fn deep_nesting_is_refused_before_parsing() {
        for (open, inner, close) in [("<<( <a:s> <a:p> ", "<a:o>", " )>>"), ("[ <a:p> ", "1", " ]"), ("( ", "", " )")] {
            let nested = |n: usize| format!("<a:s> <a:p> {}{inner}{} .", open.repeat(n), close.repeat(n));
            assert!(parse(&nested(100), RdfFormat::Turtle).is_ok(), "{open}");
            let error = parse(&nested(10_000), RdfFormat::Turtle).expect_err(open);
            assert_eq!(error.code(), "limit.depth");
        }
    }

    #[test]
    fn brackets_in_strings_comments_and_iris_do_not_count() {
        let many = "([{<<".repeat(200);
        let text = format!("# {many}\n<s> <p> \"{many}\", '''{many}'''.\n<{}> <p> 1 .", "([".repeat(200));
        assert_ne!(parse(&text, RdfFormat::Turtle).err().map(|e| e.code()), Some("limit.depth"));
    }
}
