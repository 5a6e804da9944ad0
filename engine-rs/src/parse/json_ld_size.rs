//! How many bytes of terms a JSON-LD document stands for, at most, before it is expanded.
//!
//! The parser holds a node back until its end and then expands all that is in it at once, so counting its quads comes
//! too late: 300 kB of names with a long base were 138 MiB before the first quad. Here the JSON alone is read. Each string
//! counts as long as some context of the document could make it, each value counts with its subject, its predicate and
//! its graph. Linear in the bytes; documents whose strings are all short are let through without a second pass.

use super::rdf::RdfError;
use super::unfolding::Room;
use json_event_parser::{JsonEvent, JsonSyntaxError, SliceJsonParser};
use std::collections::{HashMap, HashSet};

/// Definitions by definitions are followed this far; beyond, a term counts as long as all definitions together.
const ROUNDS: usize = 8;
/// The label of a blank node, and the IRI of a usual datatype or of `rdf:type`.
const BLANK: usize = 32;
const USUAL: usize = 48;
/// What the datatype of a text with a language is longer than a usual one.
const LANGUAGE: usize = 8;
/// The two quads that each member of a list has.
const LIST: usize = 2 * (BLANK + USUAL) + BLANK;

/// What the first pass over a document finds.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Strings, numbers and objects: each is at most one quad, and two more in a list.
    n_values: usize,
    longest: usize,
    /// The open objects of a context, each with its last key.
    keys: Vec<String>,
    /// The strings in contexts, each with the term it defines.
    definitions: Vec<(String, String)>,
    coerced: HashSet<String>,
    aliases: HashMap<String, String>,
    has_lists: bool,
    has_maps: bool,
    language: usize,
}

impl Found {
    pub(super) fn event(&mut self, event: &JsonEvent<'_>, is_context: bool) {
        match event {
            JsonEvent::ObjectKey(text) | JsonEvent::String(text) => self.longest = self.longest.max(text.len()),
            _ => {}
        }
        self.n_values += usize::from(matches!(
            event,
            JsonEvent::String(_) | JsonEvent::Number(_) | JsonEvent::Boolean(_) | JsonEvent::StartObject
        ));
        self.has_lists |= matches!(event, JsonEvent::ObjectKey(key) if key == "@list");
        if !is_context {
            return self.keys.clear();
        }
        match event {
            JsonEvent::StartObject => self.keys.push(String::new()),
            JsonEvent::EndObject => drop(self.keys.pop()),
            JsonEvent::ObjectKey(key) => {
                // A term that has no IRI of its own is defined by its name.
                self.definitions.push((key.to_string(), key.to_string()));
                if let Some(last) = self.keys.last_mut() {
                    key.as_ref().clone_into(last);
                }
            }
            JsonEvent::String(text) => self.definition(text),
            _ => {}
        }
    }

    fn definition(&mut self, text: &str) {
        let Some(key) = self.keys.last() else { return };
        let is_name = |key: &&String| !key.starts_with('@') || matches!(key.as_str(), "@vocab" | "@base");
        let name = self.keys.iter().rev().find(is_name).cloned().unwrap_or_default();
        match (key.as_str(), text) {
            ("@type", "@id" | "@vocab") => drop(self.coerced.insert(name)),
            ("@container", "@list") => self.has_lists = true,
            ("@container", "@set") => {}
            ("@container", _) => self.has_maps = true,
            ("@language", _) => self.language = self.language.max(text.len() + LANGUAGE),
            (_, keyword) if keyword.starts_with('@') => {
                self.has_lists |= keyword == "@list";
                self.aliases.insert(name, keyword.to_owned());
            }
            _ => self.definitions.push((name, text.to_owned())),
        }
    }

    /// Refuses a document that may become more than there is room for.
    pub(super) fn check(self, text: &str, base: Option<&str>, room: &Room) -> Result<(), RdfError> {
        let names = Names::new(self, base.map_or(0, str::len));
        if names.most() <= room.left() {
            return Ok(());
        }
        let mut sum = Sum { names, frames: vec![Frame::default()], bytes: 0 };
        let mut parser = SliceJsonParser::new(text.as_bytes());
        let refused = |_: JsonSyntaxError| RdfError::JsonLd { message: "the document is not JSON".to_owned() };
        while sum.bytes <= room.left() {
            match parser.parse_next().map_err(refused)? {
                JsonEvent::Eof => return Ok(()),
                event => sum.event(&event),
            }
        }
        Err(room.exceeded())
    }
}

/// How long names may become.
#[derive(Debug)]
struct Names {
    found: Found,
    /// The longest IRI of each term, `@vocab` and `@base` among them.
    terms: HashMap<String, usize>,
    /// What may come before a relative name.
    around: usize,
}

impl Names {
    fn new(mut found: Found, base: usize) -> Self {
        let definitions = std::mem::take(&mut found.definitions);
        let is_relative = |(name, text): &&(String, String)| is_around(name) && !text.contains(':');
        let relative = definitions.iter().filter(is_relative).map(|(_, text)| text.len()).sum::<usize>();
        let mut names = Self { found, terms: HashMap::new(), around: base + relative };
        for _ in 0..ROUNDS {
            if !names.follow(&definitions, base + relative) {
                return names;
            }
        }
        let all = definitions.iter().map(|(_, text)| text.len()).sum::<usize>() + base;
        names.terms.values_mut().for_each(|len| *len = all);
        names.around = all;
        names
    }

    /// One round; whether a term has become longer.
    fn follow(&mut self, definitions: &[(String, String)], fixed: usize) -> bool {
        let mut is_longer = false;
        for (name, text) in definitions {
            let len = match is_around(name) && !text.contains(':') {
                true => self.terms.get(text).copied().unwrap_or(0),
                false => self.longest(text),
            };
            let known = self.terms.entry(name.clone()).or_insert(0);
            is_longer |= len > *known;
            *known = len.max(*known);
        }
        let of = |name: &str| self.terms.get(name).copied().unwrap_or(0);
        let around = fixed + of("@vocab") + of("@base");
        is_longer |= around > self.around;
        self.around = around;
        is_longer
    }

    /// The longest IRI that a name may stand for.
    fn longest(&self, name: &str) -> usize {
        let own = self.terms.get(name).copied().unwrap_or(0);
        let whole = match name.split_once(':') {
            Some((prefix, rest)) => self.terms.get(prefix).map_or(0, |len| len + rest.len()).max(name.len()),
            None => self.around + name.len(),
        };
        own.max(whole)
    }

    /// More than any document with so many values of such lengths can become.
    fn most(&self) -> usize {
        let longest = self.terms.values().copied().max().unwrap_or(0).max(self.around).max(USUAL) + self.found.longest;
        let quad = (4 * longest).saturating_add(self.found.language).saturating_add(self.list());
        self.found.n_values.saturating_mul(quad)
    }

    fn list(&self) -> usize {
        if self.found.has_lists { LIST } else { 0 }
    }

    /// The keyword that a key is, or may be.
    fn keyword<'a>(&'a self, key: &'a str) -> Option<&'a str> {
        if key.starts_with('@') { Some(key) } else { self.found.aliases.get(key).map(String::as_str) }
    }
}

fn is_around(name: &str) -> bool {
    matches!(name, "@vocab" | "@base")
}

/// An open object.
#[derive(Debug, Default)]
struct Frame {
    key: String,
    /// The lengths of the predicate that the last key is, and of the one that the object is a value of.
    predicate: usize,
    outer: usize,
    /// The length of its `@id`.
    id: usize,
    /// Values of its own keys, and those that belong to the object around it.
    quads: usize,
    through: usize,
    /// All quads in it.
    inside: usize,
    is_graph: bool,
}

#[derive(Debug)]
struct Sum {
    names: Names,
    /// The open objects; the first stands for what is around the document.
    frames: Vec<Frame>,
    bytes: usize,
}

impl Sum {
    fn event(&mut self, event: &JsonEvent<'_>) {
        match event {
            JsonEvent::StartObject => {
                let outer = self.frames.last().map_or(0, |frame| frame.predicate);
                self.frames.push(Frame { outer, predicate: outer, id: BLANK, ..Frame::default() });
            }
            JsonEvent::EndObject => self.end(),
            JsonEvent::ObjectKey(key) => self.key(key),
            JsonEvent::String(text) => self.string(text),
            JsonEvent::Number(text) => self.literal(text.len()),
            JsonEvent::Boolean(_) => self.literal(USUAL),
            _ => {}
        }
    }

    fn key(&mut self, key: &str) {
        let keyword = self.names.keyword(key);
        let is_graph = keyword == Some("@graph");
        let own = if key.starts_with('@') { USUAL } else { self.names.longest(key) };
        let has_maps = self.names.found.has_maps;
        let is_through = keyword.is_some() || has_maps;
        if let Some(frame) = self.frames.last_mut() {
            key.clone_into(&mut frame.key);
            frame.predicate = if is_through { own.max(frame.outer) } else { own };
            frame.is_graph |= is_graph || has_maps;
        }
    }

    fn string(&mut self, text: &str) {
        let Some(frame) = self.frames.last_mut() else { return };
        let keyword = self.names.keyword(&frame.key);
        let name = self.names.longest(text);
        if keyword == Some("@id") {
            frame.id = frame.id.max(name);
        }
        let is_name = keyword == Some("@type") || self.names.found.coerced.contains(&frame.key);
        match frame.key == "@id" {
            true => {}
            false if is_name => self.value(name),
            false => self.literal(text.len() + self.names.found.language),
        }
    }

    fn literal(&mut self, len: usize) {
        let coerced = self.frames.last().and_then(|frame| self.names.terms.get(&frame.key));
        self.value(len + coerced.copied().unwrap_or(0).max(USUAL));
    }

    /// Counts a value of the last key: its predicate, itself, and later its subject.
    fn value(&mut self, len: usize) {
        let list = self.names.list();
        let Some(frame) = self.frames.last_mut() else { return };
        let is_through = self.names.keyword(&frame.key).is_some();
        frame.quads += usize::from(!is_through);
        frame.through += usize::from(is_through);
        frame.inside += 1;
        self.bytes = self.bytes.saturating_add(frame.predicate + len + list);
    }

    /// Counts what the end of an object settles: how often its name is a subject and the name of a graph.
    fn end(&mut self) {
        let Some(frame) = self.frames.pop() else { return };
        let has_maps = self.names.found.has_maps;
        let Some(around) = self.frames.last_mut() else { return };
        let id = if has_maps { frame.id.max(self.names.longest(&around.key)) } else { frame.id };
        let is_nested = self.names.keyword(&around.key).is_some() || has_maps;
        let subjects = frame.quads + frame.through + if frame.is_graph && id > BLANK { frame.inside } else { 0 };
        self.bytes = self.bytes.saturating_add(subjects.saturating_mul(id));
        around.inside += frame.inside;
        around.quads += frame.through + if is_nested { frame.quads } else { 0 };
        // It is a value itself, unless it is only in a graph.
        if around.key != "@graph" {
            self.value(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::json_ld::scanned;
    use super::super::rdf::{RdfFormat, parse_rdf};
    use super::*;

    /// What is foreseen, and what the quads of the document come to.
    fn sizes(text: &str) -> (usize, usize) {
        let base = "http://example.org/";
        let names = Names::new(scanned(text).expect("contexts"), base.len());
        let most = names.most();
        let mut sum = Sum { names, frames: vec![Frame::default()], bytes: 0 };
        let mut parser = SliceJsonParser::new(text.as_bytes());
        loop {
            match parser.parse_next().expect("JSON") {
                JsonEvent::Eof => break,
                event => sum.event(&event),
            }
        }
        let quads = parse_rdf(text.as_bytes(), RdfFormat::JsonLd, Some(base)).expect(text);
        assert!(!quads.is_empty(), "{text}");
        let mut room = Room::of(&vec![0; 1 << 20]);
        let before = room.left();
        quads.into_iter().for_each(|quad| drop(room.admit(quad).expect("room")));
        assert!(most >= sum.bytes.min(before - room.left()), "{most} {text}");
        (sum.bytes, before - room.left())
    }

    fn long(name: &str) -> String {
        format!("http://ex/{}/", name.repeat(300))
    }

    #[test]
    fn no_document_becomes_more_than_is_foreseen() {
        let (v, b) = (long("v"), long("b"));
        let many = (0..50).map(|n| n.to_string()).collect::<Vec<_>>().join(",");
        let ids = (0..50).map(|n| format!(r#"{{"@id":"i{n}"}}"#)).collect::<Vec<_>>().join(",");
        let words = (0..50).map(|n| format!("\"w{n}\"")).collect::<Vec<_>>().join(",");
        for text in [
            format!(r#"{{"@context":{{"@vocab":"{v}"}},"@id":"a","p":[{many}]}}"#),
            format!(r#"{{"p":[{words}],"@id":"a","@context":{{"@base":"{b}","@vocab":"{v}"}}}}"#),
            format!(r#"{{"@context":{{"@base":"{b}"}},"@graph":[{ids}],"@id":"g","urn:p":[{ids}]}}"#),
            format!(r#"{{"@context":{{"@base":"{b}"}},"@id":"g","@graph":[{{"@id":"x","urn:p":[{words}]}}]}}"#),
            format!(r#"{{"@context":{{"p":{{"@id":"{v}","@type":"@id"}},"@base":"{b}"}},"p":[{words}]}}"#),
            format!(r#"{{"@context":{{"p":{{"@id":"urn:p","@type":"@vocab"}},"@vocab":"{v}"}},"p":[{words}]}}"#),
            format!(r#"{{"@context":{{"p":{{"@id":"urn:p","@type":"{v}"}}}},"p":[{many}]}}"#),
            format!(r#"{{"@context":{{"@language":"en{}"}},"urn:p":[{words}]}}"#, "-abcdefgh".repeat(300)),
            format!(r#"{{"@context":{{"a":"{v}","b":"a:{}","c":"b:c"}},"c":[{many}]}}"#, "x".repeat(500)),
            format!(r#"{{"@context":{{"a":"{v}","a:c":{{"@type":"@id"}}}},"@id":"urn:a","a:c":[{words}]}}"#),
            format!(r#"{{"@context":{{"n":"@nest","id":"@id","@vocab":"{v}"}},"id":"{b}","n":{{"p":[{many}]}}}}"#),
            format!(r#"{{"@id":"{b}","@reverse":{{"urn:p":[{ids}]}}}}"#),
            format!(r#"{{"@context":{{"r":{{"@reverse":"{v}"}}}},"@id":"{b}","r":[{ids}]}}"#),
            format!(r#"{{"@context":{{"l":{{"@id":"{v}","@container":"@list"}}}},"l":[{many}]}}"#),
            format!(r#"{{"@id":"{b}","{v}":{{"@list":[{many}]}}}}"#),
            format!(r#"{{"@id":"{b}","{v}":{{"@set":[{words}]}}}}"#),
            format!(r#"{{"@context":{{"s":"@set"}},"@id":"{b}","{v}":{{"s":[{words}]}}}}"#),
            format!(r#"{{"@context":{{"t":"@type","@vocab":"{v}"}},"@id":"{b}","t":[{words}]}}"#),
            format!(r#"{{"@id":"{b}","{v}":{{"@value":"x","@type":"{v}"}}}}"#),
            format!(
                r#"{{"@context":{{"m":{{"@id":"{v}","@container":"@language"}}}},"@id":"{b}","m":{{"en":[{words}]}}}}"#
            ),
            format!(
                r#"{{"@context":{{"@base":"{b}","m":{{"@id":"urn:m","@container":"@id"}}}},"@id":"x","m":{{"k":{{"urn:p":[{many}]}}}}}}"#
            ),
            format!(
                r#"{{"@context":{{"@base":"{b}","m":{{"@id":"{v}","@container":["@graph","@id"]}}}},"m":{{"k":{{"urn:p":[{many}]}}}}}}"#
            ),
            format!(
                r#"{{"@context":{{"p":{{"@context":{{"q":"urn:q"}},"@id":"{v}"}}}},"@id":"{b}","p":[{ids},{{"q":[{many}]}}]}}"#
            ),
            format!(r#"{{"@context":[{{"@vocab":"{v}"}},{{"@vocab":"{}"}}],"p":[{many}]}}"#, "w".repeat(500)),
            format!(r#"{{"@id":"{b}","urn:p":{{"@included":[{ids}],"@id":"x","urn:q":[{many}]}}}}"#),
        ] {
            let (foreseen, real) = sizes(&text);
            assert!(foreseen >= real, "{foreseen} are fewer than {real}: {text}");
        }
    }

    #[test]
    fn usual_documents_are_not_taken_for_much_larger_ones() {
        let nodes: Vec<String> = (0..200)
            .map(|n| {
                format!(
                    r#"{{"@id":"obs{n}","@type":"Observation","madeBy":"sensor{n}","value":{n}.5,"at":"2026-01-01"}}"#
                )
            })
            .collect();
        let context =
            r#"{"@vocab":"http://www.w3.org/ns/sosa/","@base":"http://ex.org/data/","madeBy":{"@type":"@id"}}"#;
        let (foreseen, real) = sizes(&format!(r#"{{"@context":{context},"@graph":[{}]}}"#, nodes.join(",")));
        assert!(foreseen < 3 * real, "{foreseen} and {real}");
    }

    #[test]
    fn definitions_in_a_circle_or_in_a_long_row_end() {
        let names = |context: &str| {
            let text = format!(r#"{{"@context":{{{context}}},"p":1}}"#);
            Names::new(scanned(&text).expect("contexts"), 0)
        };
        assert!(names(r#""a":"b:x","b":"a:y""#).longest("a:z") >= 6);
        let row: Vec<String> = (0..100).map(|n| format!(r#""t{n}":"t{}:x""#, n + 1)).collect();
        assert!(names(&format!(r#"{},"t100":"http://ex/""#, row.join(","))).longest("t0") >= 110);
    }

    #[test]
    fn long_names_are_refused_before_they_are_written_out() {
        let nodes: Vec<String> = (0..9000).map(|n| format!(r#"{{"@id":"{n}","urn:p":1}}"#)).collect();
        let text = format!(r#"{{"@context":{{"@base":"urn:{}/"}},"@graph":[{}]}}"#, "y".repeat(9000), nodes.join(","));
        let error = scanned(&text).and_then(|found| found.check(&text, None, &Room::of(text.as_bytes())));
        assert_eq!(error.expect_err("81 MB of names").code(), "limit.unfolding");
    }
}
