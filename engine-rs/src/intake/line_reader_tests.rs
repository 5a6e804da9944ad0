//! The reader of lines against the parser of the format alone: same acceptance, same events, same errors and places.

use super::body::{BodyFormat, Buffers, Content, Intake, Reading, Refused};
use super::document::{Token, TokenTerm};
use super::event::{GENERATED_AT, time_of};
use super::lines;
use crate::encode::with_tags_in_form;
use crate::error::EngineError;
use crate::parse::{RdfFormat, parse_rdf};
use crate::time::Timestamp;
use oxrdf::{GraphName, NamedOrBlankNode, Quad, Term, TermRef};
use std::path::{Path, PathBuf};

/// An event: its time, its graph, its triples.
pub(super) type Event = (Option<Timestamp>, Option<Term>, Vec<[Term; 3]>);
/// Events or faults, and what was refused.
pub(super) type Outcome = Result<(Vec<Result<Event, EngineError>>, Vec<Refused>), EngineError>;

const AT: Option<Timestamp> = Some(Timestamp::EPOCH);

/// The events of a body according to the format's parser.
pub(super) fn reference(body: &[u8], format: RdfFormat, atomic: bool) -> Outcome {
    let mut refused = Vec::new();
    let quads = match parse_rdf(body, format, None) {
        Ok(quads) => quads,
        Err(_) if !atomic && lines::has_lines(format) => {
            let mut quads = Vec::new();
            lines::good_quads(body, format, &mut refused, &mut |quad| quads.push(quad));
            quads
        }
        Err(error) => return Err(error.into()),
    };
    if quads.is_empty() && !refused.is_empty() {
        return Ok((Vec::new(), refused));
    }
    Ok((cut(&quads), refused))
}

fn cut(quads: &[Quad]) -> Vec<Result<Event, EngineError>> {
    let mut graphs: Vec<&GraphName> = Vec::new();
    for quad in quads.iter().filter(|quad| quad.graph_name != GraphName::DefaultGraph) {
        if !graphs.contains(&&quad.graph_name) {
            graphs.push(&quad.graph_name);
        }
    }
    if graphs.is_empty() {
        return vec![Ok((AT, None, triples(quads, &GraphName::DefaultGraph)))];
    }
    let time = |name: &Term| {
        let says = |quad: &&Quad| {
            let about = in_form(node(&quad.subject)) == *name;
            quad.graph_name == GraphName::DefaultGraph && quad.predicate.as_str() == GENERATED_AT && about
        };
        quads.iter().rfind(says).map_or(Ok(AT), |quad| time_of(quad.object.as_ref(), None).map(Some))
    };
    let event = |graph: &&GraphName| {
        let name = name_of(graph).expect("a named graph");
        time(&name).map(|at| (at, Some(name), triples(quads, graph)))
    };
    graphs.iter().map(event).collect()
}

fn triples(quads: &[Quad], graph: &GraphName) -> Vec<[Term; 3]> {
    let of_graph = quads.iter().filter(|quad| quad.graph_name == *graph);
    let terms = |quad: &Quad| [node(&quad.subject), quad.predicate.as_ref().into(), quad.object.as_ref()].map(in_form);
    of_graph.map(terms).collect()
}

fn name_of(graph: &GraphName) -> Option<Term> {
    match graph {
        GraphName::NamedNode(node) => Some(node.clone().into()),
        GraphName::BlankNode(node) => Some(node.clone().into()),
        GraphName::DefaultGraph => None,
    }
}

fn node(node: &NamedOrBlankNode) -> TermRef<'_> {
    match node {
        NamedOrBlankNode::NamedNode(node) => node.as_ref().into(),
        NamedOrBlankNode::BlankNode(node) => node.as_ref().into(),
    }
}

fn in_form(term: TermRef<'_>) -> Term {
    with_tags_in_form(term).unwrap_or_else(|| term.into_owned())
}

/// The events of a body according to the intake.
pub(super) fn outcome(body: &[u8], format: RdfFormat, atomic: bool, buffers: &mut Buffers) -> Outcome {
    let reading = Reading { at: AT, atomic, zone: None, is_known: &|_| false };
    let (kept, read) = Intake::read(body, BodyFormat::Rdf(format), reading, std::mem::take(buffers));
    *buffers = kept;
    let mut intake = read?;
    let term = |token: Token| match intake.term(token) {
        TokenTerm::Raw(raw) => raw.to_term().expect("no triple").into_owned(),
        TokenTerm::Triple(triple) => in_form(TermRef::Triple(triple)),
    };
    let mut events = Vec::new();
    for item in &intake.buffers.items {
        let Content::Event(event) = &item.content else { panic!("a control line") };
        let triples = intake.triples(event).iter().map(|triple| triple.map(term)).collect();
        events.push(Ok((event.at, event.graph.map(term), triples)));
    }
    let refused = std::mem::take(&mut intake.refused);
    *buffers = intake.buffers;
    Ok((events, refused))
}

/// Compares both readers on a body; returns whether it was accepted.
fn compare(body: &[u8], format: RdfFormat, buffers: &mut Buffers) -> bool {
    for atomic in [true, false] {
        let mut found = outcome(body, format, atomic, buffers);
        let mut expected = reference(body, format, atomic);
        if let (Ok(found), Ok(expected)) = (&mut found, &mut expected) {
            // Invalid events are refused by number; here it matters only that they are refused.
            let wrong = expected.0.iter().filter(|event| event.is_err()).count();
            if atomic && wrong > 0 {
                panic!("{:?} was accepted: {:?}", String::from_utf8_lossy(body), found);
            }
            expected.0.retain(Result::is_ok);
            let numbered = found.1.iter().filter(|refused| refused.index.is_some()).count();
            assert_eq!(numbered, wrong);
            found.1.retain(|refused| refused.index.is_none());
        }
        if let (Err(_), Ok((events, _))) = (&found, &expected) {
            assert!(atomic && events.iter().any(Result::is_err), "{:?} was refused", String::from_utf8_lossy(body));
            continue;
        }
        assert_eq!(found, expected, "{format:?} {:?}", String::from_utf8_lossy(body));
    }
    parse_rdf(body, format, None).is_ok()
}

pub(super) struct Random(pub u64);

impl Random {
    pub(super) fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n
    }

    pub(super) fn of<'a, T: ?Sized>(&mut self, those: &[&'a T]) -> &'a T {
        those[self.below(those.len())]
    }
}

const LINES: [&str; 24] = [
    "<http://ex.org/s> <http://ex.org/p> <http://ex.org/o> .",
    "<http://ex.org/s><http://ex.org/p><http://ex.org/o>.",
    "<http://ex.org/s> <http://ex.org/p> \"text\" .",
    "<http://ex.org/s> <http://ex.org/p> \"\" .",
    "<http://ex.org/s> <http://ex.org/p> \"a \\\"quote\\\" \\u00E9\" .",
    "<http://ex.org/s> <http://ex.org/p> \"grüße\"@de-AT .",
    "<http://ex.org/s> <http://ex.org/p> \"x\"@ar--rtl .",
    "<http://ex.org/s> <http://ex.org/p> \"5\"^^<http://www.w3.org/2001/XMLSchema#integer> .",
    "<http://ex.org/s> <http://ex.org/p> \"2.50\"^^<http://www.w3.org/2001/XMLSchema#double> .",
    "<http://ex.org/s> <http://ex.org/p> \"x\"^^<http://www.w3.org/2001/XMLSchema#string> .",
    "<http://ex.org/s> <http://ex.org/p> \"x\"^^<http://ex.org/type> .",
    "<http://ex.org/s> <http://ex.org/p> \"x\"^^<http://www.w3.org/1999/02/22-rdf-syntax-ns#langString> .",
    "_:b1 <http://ex.org/p> _:b-2_x .",
    "_:b.1 <urn:a:b> _:b2.",
    "<http://ex.org:80/s?q=1&r=%20#f> <mailto:a@b.c> <http://[::1]/> .",
    "<http://ex.org/ümlaut> <http://ex.org/p> <http://user@ex.org/a//b/../c> .",
    "<http://ex.org/s> <http://ex.org/p> <<( <http://ex.org/s> <http://ex.org/p> \"x\"@EN )>> .",
    "  \t<http://ex.org/s>\t<http://ex.org/p>  <http://ex.org/o>\t.  # comment",
    "# a comment",
    "",
    "<http://ex.org/s> <http://ex.org/p> <http://ex.org/o> <http://ex.org/g> .",
    "<http://ex.org/s> <http://ex.org/p> \"1\" _:g .",
    "<http://ex.org/g> <http://www.w3.org/ns/prov#generatedAtTime> \"2024-01-01T00:00:00Z\"^^<http://www.w3.org/2001/XMLSchema#dateTime> .",
    "_:g <http://www.w3.org/ns/prov#generatedAtTime> \"7\"^^<http://www.w3.org/2001/XMLSchema#integer> .",
];

const PIECES: [&str; 40] = [
    " ", "\t", "\r", "\n", ".", "<", ">", "\"", "\\", "#", "%", "%4", "%41", "^", "^^", "@", "@en", "_:", "_:a", ":",
    "/", "//", "?", "[", "]", "{", "|", "'", "\u{0}", "\u{7f}", "\u{a0}", "\u{e000}", "\u{fffe}", "é", "1", "a", "-",
    "<<(", ")>>", "\\u0041",
];

fn mutated(random: &mut Random) -> Vec<u8> {
    let mut body = Vec::new();
    for _ in 0..=random.below(4) {
        let mut line = random.of(&LINES).as_bytes().to_vec();
        for _ in 0..random.below(3) {
            let at = random.below(line.len() + 1);
            match random.below(5) {
                0 => line.truncate(at),
                1 if at < line.len() => _ = line.remove(at),
                2 if at < line.len() => line[at] = random.of(&PIECES).as_bytes()[0],
                // Not UTF-8, mostly.
                3 if random.below(20) == 0 => line.insert(at, 0xC3),
                _ => _ = line.splice(at..at, random.of(&PIECES).bytes()).count(),
            }
        }
        body.extend(line);
        body.extend(random.of(&["\n", "\n", "\n", "\r\n", "\r", "", "\n\n"]).as_bytes());
    }
    body
}

#[test]
fn mutated_lines_are_read_as_by_the_parser() {
    let is_long = std::env::var("WHORL_CAMPAIGN").is_ok_and(|value| value == "long");
    let n_lines = if is_long { 1_000_000 } else { 20_000 };
    let (mut random, mut buffers) = (Random(0x1234_5678_9ABC), Buffers::default());
    let (mut accepted, mut lines, mut bodies) = (0, 0, 0);
    while lines < n_lines {
        let body = mutated(&mut random);
        lines += body.split(|byte| *byte == b'\n').count();
        let format = if random.below(2) == 0 { RdfFormat::NTriples } else { RdfFormat::NQuads };
        accepted += usize::from(compare(&body, format, &mut buffers));
        bodies += 1;
    }
    assert!(accepted * 8 > bodies && accepted * 2 < bodies, "{accepted} of {bodies} bodies were accepted");
}

#[test]
fn the_w3c_files_are_read_as_by_the_parser() {
    let Some(folder) = w3c_files("lines") else { return };
    let mut files = Vec::new();
    find_files(&folder, &mut files);
    let mut buffers = Buffers::default();
    let mut compared = 0;
    for file in &files {
        let body = std::fs::read(file).expect("a file");
        let formats: &[RdfFormat] = match file.extension().and_then(|extension| extension.to_str()) {
            Some("nt" | "nq") => &[RdfFormat::NTriples, RdfFormat::NQuads],
            _ => continue,
        };
        formats.iter().for_each(|format| _ = compare(&body, *format, &mut buffers));
        compared += 1;
    }
    std::fs::remove_dir_all(&folder).expect("the folder is ours");
    assert!(compared > 300, "{compared} files");
}

/// The unpacked W3C tests; `None` if the archive is missing.
pub(super) fn w3c_files(purpose: &str) -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared");
    let data = std::env::var_os("WHORL_TEST_DATA").map_or_else(beside, PathBuf::from);
    let archive = data.join("data/w3c/rdf-tests.tar.gz");
    let folder = std::env::temp_dir().join(format!("whorl-w3c-{purpose}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).ok()?;
    let unpacked = std::process::Command::new("tar").arg("-xzf").arg(&archive).arg("-C").arg(&folder).status();
    unpacked.is_ok_and(|status| status.success()).then_some(folder)
}

pub(super) fn find_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() { find_files(&path, files) } else { files.push(path) }
    }
}
