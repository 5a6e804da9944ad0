//! JSON-LD text → quads.
//!
//! Nothing is fetched, so a document must contain its contexts. Before the parser runs, flat scans bound what it does
//! by recursion (nesting, and terms defined by other terms), what it repeats (contexts that are copied or applied at
//! every node), and what it writes out (names, by `json_ld_size`). Linear in the bytes.

use super::error::Position;
use super::json_ld_size::Found;
use super::rdf::{MAX_DEPTH, RdfError, bad_base, lower_first, one_based};
use super::unfolding::Room;
use json_event_parser::{JsonEvent, JsonSyntaxError, SliceJsonParser};
use oxjsonld::{JsonLdErrorCode, JsonLdParser, JsonLdSyntaxError};
use oxrdf::Quad;

/// Entries of one context. A term may be defined by the next one, and the parser follows the chain recursively.
const MAX_ENTRIES: usize = 512;
/// Limit on the entries of the largest context times the number of times a context may be copied or applied.
const MAX_WORK: usize = 20_000_000;

/// Parses a whole text whose depth has been checked.
pub(super) fn parse(
    text: &str,
    base: Option<&str>,
    room: &mut Room,
    take: &mut dyn FnMut(Quad),
) -> Result<(), RdfError> {
    scanned(text)?.check(text, base, room)?;
    let parser = JsonLdParser::new();
    let parser = match base {
        Some(base) => parser.with_base_iri(base).map_err(|_| bad_base(base))?,
        None => parser,
    };
    let parser = parser.for_slice(text);
    let mut quads = parser.with_load_document_callback(|_, _| Err("it is not in the document".into()));
    quads.try_for_each(|quad| room.admit(quad.map_err(|error| refused(&error))?).map(&mut *take))
}

/// One pass over the bytes that skips strings and counts open brackets.
pub(super) fn check_depth(text: &str) -> Result<(), RdfError> {
    let (mut depth, mut in_string, mut is_escaped) = (0_usize, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = in_string,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => depth += 1,
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_DEPTH {
            return Err(RdfError::Depth { position: Position::of(text, at) });
        }
    }
    Ok(())
}

/// Statistics of the contexts of a document.
#[derive(Debug, Default)]
struct Contexts {
    n_contexts: usize,
    /// The depth at which the outermost open context began.
    open_at: Option<usize>,
    /// The entries of the outermost open context, including nested contexts.
    entries: usize,
    entries_max: usize,
    /// Whether a context contains contexts, which apply wherever their term is used.
    are_scoped: bool,
    n_keys: usize,
}

impl Contexts {
    fn key(&mut self, key: &str, depth: usize) {
        self.n_keys += 1;
        self.entries += usize::from(self.open_at.is_some());
        if key == "@context" {
            self.n_contexts += 1;
            self.are_scoped |= self.open_at.is_some();
            self.open_at.get_or_insert(depth);
        }
    }

    /// Records that a value has ended at this depth; if it was the value of a context, the context has ended.
    fn value(&mut self, depth: usize) {
        if self.open_at == Some(depth) {
            self.open_at = None;
            self.entries_max = self.entries_max.max(std::mem::take(&mut self.entries));
        }
    }

    fn check(&self) -> Result<(), RdfError> {
        let refused = |message: String| Err(RdfError::Contexts { message });
        let entries = self.entries_max;
        if entries > MAX_ENTRIES {
            return refused(format!("a context has {entries} entries, at most {MAX_ENTRIES} are allowed"));
        }
        let times = self.n_contexts + if self.are_scoped { self.n_keys } else { 0 };
        if entries.saturating_mul(times) > MAX_WORK {
            return refused(format!("a context of {entries} entries may be applied {times} times"));
        }
        Ok(())
    }
}

/// Checks the contexts, and gathers what tells how large the terms will be.
pub(super) fn scanned(text: &str) -> Result<Found, RdfError> {
    let mut parser = SliceJsonParser::new(text.as_bytes());
    let (mut contexts, mut found, mut depth) = (Contexts::default(), Found::default(), 0_usize);
    loop {
        let event = parser.parse_next().map_err(|error| not_json(&error))?;
        found.event(&event, contexts.open_at.is_some());
        match event {
            JsonEvent::Eof => return contexts.check().map(|()| found),
            JsonEvent::StartArray | JsonEvent::StartObject => depth += 1,
            JsonEvent::EndArray | JsonEvent::EndObject => {
                depth = depth.saturating_sub(1);
                contexts.value(depth);
            }
            JsonEvent::ObjectKey(key) => contexts.key(&key, depth),
            _ => contexts.value(depth),
        }
    }
}

fn refused(error: &JsonLdSyntaxError) -> RdfError {
    let message = lower_first(&error.to_string());
    match (error.code(), error.location()) {
        (Some(JsonLdErrorCode::LoadingRemoteContextFailed | JsonLdErrorCode::LoadingDocumentFailed), _) => {
            RdfError::RemoteContext { message }
        }
        (_, Some(range)) => RdfError::Syntax { message, position: one_based(range.start.line, range.start.column) },
        _ => RdfError::JsonLd { message },
    }
}

fn not_json(error: &JsonSyntaxError) -> RdfError {
    let start = error.location().start;
    RdfError::Syntax { message: lower_first(error.message()), position: one_based(start.line, start.column) }
}

#[cfg(test)]
mod tests {
    use super::super::rdf::{RdfFormat, parse_rdf};
    use super::*;

    fn parse(text: &str) -> Result<Vec<Quad>, RdfError> {
        parse_rdf(text.as_bytes(), RdfFormat::JsonLd, Some("http://example.org/"))
    }

    fn code(text: &str) -> &'static str {
        parse(text).expect_err("refused").code()
    }

    #[test]
    fn contexts_graphs_and_values_are_read() {
        let quads = parse(
            r#"{"@context": {"ex": "http://ex/", "limit": {"@id": "ex:limit", "@type": "http://www.w3.org/2001/XMLSchema#decimal"}},
                "@id": "ex:g", "@graph": [{"@id": "room", "limit": "20.5", "ex:name": {"@value": "hall", "@language": "en"}}]}"#,
        )
        .expect("well formed");
        let mut lines: Vec<String> = quads.iter().map(ToString::to_string).collect();
        lines.sort();
        assert_eq!(
            lines,
            [
                "<http://example.org/room> <http://ex/limit> \"20.5\"^^<http://www.w3.org/2001/XMLSchema#decimal> <http://ex/g>",
                "<http://example.org/room> <http://ex/name> \"hall\"@en <http://ex/g>",
            ]
        );
    }

    #[test]
    fn a_fault_in_the_json_has_line_and_column() {
        let error = parse("{\n \"@id\": }").expect_err("no value");
        assert_eq!((error.code(), error.position().map(|p| p.line)), ("rdf.syntax", Some(2)));
        assert_eq!(code(r#"{"@id": 5, "http://ex/p": 1}"#), "rdf.syntax");
        assert_eq!(code(""), "rdf.syntax");
    }

    #[test]
    fn nothing_is_fetched() {
        let error = parse(r#"{"@context": "http://ex/context", "@id": "a", "p": 1}"#).expect_err("remote");
        assert_eq!(error.code(), "rdf.remote_context");
        assert!(error.to_string().contains("http://ex/context"), "{error}");
        assert_eq!(code(r#"{"@context": {"@import": "http://ex/c"}, "@id": "a"}"#), "rdf.remote_context");
    }

    #[test]
    fn deep_nesting_is_refused_before_parsing() {
        for (open, inner, close) in [("[", "", "]"), (r#"{"http://ex/p":"#, "1", "}"), (r#"{"@context":"#, "{}", "}")] {
            let nested = |n: usize| format!("{}{inner}{}", open.repeat(n), close.repeat(n));
            assert_ne!(parse(&nested(60)).err().map(|e| e.code()), Some("limit.depth"), "{open}");
            assert_eq!(code(&nested(70_000)), "limit.depth");
            assert_eq!(code(&open.repeat(70_000)), "limit.depth");
        }
        let brackets = format!(r#"{{"http://ex/p": "{}\" [", "@id": "a"}}"#, "[{".repeat(500));
        assert_eq!(parse(&brackets).map(|quads| quads.len()), Ok(1));
    }

    #[test]
    fn terms_that_are_defined_by_terms_do_not_exhaust_the_stack() {
        let chain = |n: usize| {
            let entries: Vec<String> = (0..n).map(|i| format!(r#""t{i}": "t{}:x""#, i + 1)).collect();
            format!(r#"{{"@context": {{{}, "t{n}": "http://ex/"}}, "@id": "a", "t0": 1}}"#, entries.join(", "))
        };
        assert!(parse(&chain(MAX_ENTRIES - 1)).is_ok());
        assert_eq!(code(&chain(100_000)), "limit.contexts");
    }

    #[test]
    fn contexts_that_are_applied_at_every_node_are_bounded() {
        let entries: Vec<String> = (0..500).map(|i| format!(r#""t{i}": "http://ex/{i}""#)).collect();
        let nodes = |node: &str, n: usize| vec![node; n].join(",");
        let outer = |inner: &str| format!(r#"{{"@context": {{{}}}, "@graph": [{inner}]}}"#, entries.join(","));
        assert!(parse(&outer(&nodes(r#"{"@id":"a","t0":1}"#, 45_000))).is_ok());
        assert_eq!(code(&outer(&nodes(r#"{"@context":{}}"#, 45_000))), "limit.contexts");
        let scoped = format!(
            r#"{{"@context": {{"p": {{"@id": "http://ex/p", "@context": {{{}}}}}}}, "@graph": [{}]}}"#,
            entries.join(","),
            nodes(r#"{"p":{}}"#, 45_000)
        );
        assert_eq!(code(&scoped), "limit.contexts");
    }
}
