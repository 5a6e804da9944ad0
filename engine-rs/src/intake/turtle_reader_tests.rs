//! The reader of Turtle and TriG against the parser of the format alone: same acceptance, same events, same errors and
//! places.

use super::body::Buffers;
use super::document::Tokens;
use super::line_reader_tests::{Event, Outcome, Random, find_files, outcome, reference, w3c_files};
use super::turtle_reader;
use crate::parse::RdfFormat;
use oxrdf::{BlankNode, Term};
use std::collections::HashMap;

/// Numbers blank nodes in order of appearance: the parser invents labels for anonymous ones.
fn numbered(outcome: Outcome) -> Outcome {
    let mut labels: HashMap<BlankNode, usize> = HashMap::new();
    let mut number = |term: &mut Term| {
        if let Term::BlankNode(node) = term {
            let n = labels.len();
            let n = *labels.entry(node.clone()).or_insert(n);
            *term = BlankNode::new_unchecked(format!("n{n}")).into();
        }
    };
    let mut number_all = |(_, graph, triples): &mut Event| {
        graph.iter_mut().for_each(&mut number);
        triples.iter_mut().flatten().for_each(&mut number);
    };
    outcome.map(|(mut events, refused)| {
        events.iter_mut().filter_map(|event| event.as_mut().ok()).for_each(&mut number_all);
        (events, refused)
    })
}

/// Compares both readers on a body; returns whether it needed no parser.
fn compare(body: &[u8], format: RdfFormat, buffers: &mut Buffers) -> bool {
    for atomic in [true, false] {
        let found = numbered(outcome(body, format, atomic, buffers));
        let mut expected = numbered(reference(body, format, atomic));
        let mut is_wrong = false;
        if let Ok((events, _)) = &mut expected {
            is_wrong = events.iter().any(Result::is_err);
            events.retain(Result::is_ok);
        }
        // Events without a valid time are refused, each or all of them.
        match (&found, &expected) {
            (Err(_), Ok(_)) => assert!(atomic && is_wrong, "{:?} was refused", String::from_utf8_lossy(body)),
            (Ok(found), Ok(expected)) => {
                assert!(!(atomic && is_wrong), "{:?} was accepted", String::from_utf8_lossy(body));
                assert_eq!(found.0, expected.0, "{format:?} {:?}", String::from_utf8_lossy(body));
            }
            _ => assert_eq!(found, expected, "{format:?} {:?}", String::from_utf8_lossy(body)),
        }
    }
    let text = std::str::from_utf8(body);
    text.is_ok_and(|text| turtle_reader::read(text, format, &mut Tokens::default(), &|_| false).is_ok())
}

const HEADS: [&str; 8] = [
    "@prefix ex: <http://ex.org/> .\n",
    "@prefix ex: <http://ex.org/ns#> .\n@prefix : <urn:x:> .\n",
    "PREFIX ex: <http://ex.org/>\nPREFIX xsd: <http://www.w3.org/2001/XMLSchema#>\n",
    "prefix ex: <http://ex.org/>\n",
    "@prefix ex: <http://ex.org:80> .\n",
    "@prefix ex: <http://ex.org/é%20> .\n",
    "@base <http://base.org/> .\n@prefix ex: <x/> .\n",
    "",
];

const STATEMENTS: [&str; 34] = [
    "<http://ex.org/s> <http://ex.org/p> <http://ex.org/o> .",
    "ex:s ex:p ex:o .",
    "ex:s ex:p ex:o.",
    "ex:s a ex:Type ; ex:p ex:o , ex:o2 ; .",
    "ex:s ex:p \"text\" , \"\" ;; ex:q 'x' .",
    "ex:s ex:p 5 , -3 , +7 , 2.50 , 1e3 , .5 , 5. ex:s ex:p 1 .",
    "ex:s ex:p 5.",
    "ex:s ex:p true , false , truer .",
    "ex:s ex:p true.",
    "ex:s ex:p \"5\"^^<http://www.w3.org/2001/XMLSchema#integer> .",
    "ex:s ex:p \"2.50\"^^xsd:double ; ex:q \"x\"^^ex:type .",
    "@prefix xsd: <http://www.w3.org/2001/XMLSchema#> . ex:s ex:p \"2.50\"^^xsd:double , \"x\"^^xsd:string .",
    "ex:s ex:p \"grüße\"@de-AT .",
    "ex:s ex:p \"\"\"long \"text\" \"\"\" .",
    "ex:s ex:p \"a \\\"quote\\\" \\u00E9\" .",
    "ex:a.b ex:p-q_r ex:1 .",
    "ex:a..b ex:p ex:c. ex:d ex:p ex:e .",
    "ex:a:b ex:p ex:%41 .",
    "ex: ex:p :o .",
    ":s ex:p ex:o\\,x .",
    "_:b1 ex:p _:b-2 , _:b1 .",
    "_:b.1 ex:p _:b2.",
    "[] ex:p [ ex:q ex:o ] .",
    "ex:s ex:p ( 1 2 ) .",
    "ex:s ex:p <<( ex:a ex:b ex:c )>> .",
    "ex:s <http://ex.org/ümlaut> <http://ex.org/a%20b#f> . # comment",
    "# a comment\nex:s ex:p ex:o . # another\r\n",
    "ex:s ex:p <relative> .",
    "ex:g { ex:s ex:p ex:o . ex:s2 a ex:o2 }",
    "GRAPH <http://ex.org/g> { ex:s ex:p 1 , 2 ; }",
    "<http://ex.org/g> {}",
    "_:g { ex:s ex:p ex:o . }",
    "{ ex:s ex:p ex:o }",
    "ex:g <http://www.w3.org/ns/prov#generatedAtTime> \"2024-01-01T00:00:00Z\"^^<http://www.w3.org/2001/XMLSchema#dateTime> .",
];

const PIECES: [&str; 48] = [
    " ", "\t", "\r", "\n", ".", ",", ";", "<", ">", "\"", "'", "\\", "#", "%", "%41", "^^", "@", "@en", "_:", "_:a",
    ":", "ex:", "/", "?", "[", "]", "{", "}", "(", ")", "|", "\u{0}", "\u{7f}", "\u{a0}", "\u{fffe}", "é", "1", "a",
    "a ", "-", "+", "e", "true", "GRAPH ", "PREFIX ", "@prefix ", "@base ", "\\u0041",
];

fn mutated(random: &mut Random) -> Vec<u8> {
    let mut body = random.of(&HEADS).as_bytes().to_vec();
    for _ in 0..=random.below(4) {
        body.extend(random.of(&STATEMENTS).as_bytes());
        body.extend(random.of(&["\n", "\n", " ", "", "\r\n"]).as_bytes());
    }
    for _ in 0..random.below(3) {
        let at = random.below(body.len() + 1);
        match random.below(6) {
            0 => body.truncate(at),
            1 if at < body.len() => _ = body.remove(at),
            2 if at < body.len() => body[at] = random.of(&PIECES).as_bytes()[0],
            // Not UTF-8, mostly.
            3 if random.below(20) == 0 => body.insert(at, 0xC3),
            _ => _ = body.splice(at..at, random.of(&PIECES).bytes()).count(),
        }
    }
    body
}

#[test]
fn mutated_documents_are_read_as_by_the_parser() {
    let is_long = std::env::var("WHORL_CAMPAIGN").is_ok_and(|value| value == "long");
    let documents = if is_long { 500_000 } else { 20_000 };
    let (mut random, mut buffers) = (Random(0x9876_5432_1ABC), Buffers::default());
    let mut without_parser = 0;
    for _ in 0..documents {
        let body = mutated(&mut random);
        let format = if random.below(2) == 0 { RdfFormat::Turtle } else { RdfFormat::TriG };
        without_parser += usize::from(compare(&body, format, &mut buffers));
    }
    assert!(without_parser * 50 > documents, "{without_parser} of {documents} documents needed no parser");
}

#[test]
fn the_w3c_documents_are_read_as_by_the_parser() {
    let Some(folder) = w3c_files("turtle") else { return };
    let mut files = Vec::new();
    find_files(&folder, &mut files);
    let (mut buffers, mut compared, mut without_parser) = (Buffers::default(), 0, 0);
    for file in &files {
        let is_turtle = file.extension().is_some_and(|extension| ["ttl", "trig"].iter().any(|own| extension == *own));
        let body = if is_turtle { std::fs::read(file).expect("a file") } else { continue };
        // The parser invents labels, and a triple term may have them inside.
        if body.windows(2).any(|pair| pair == b"<<" || pair == b"{|") {
            continue;
        }
        for format in [RdfFormat::Turtle, RdfFormat::TriG] {
            without_parser += usize::from(compare(&body, format, &mut buffers));
        }
        compared += 1;
    }
    std::fs::remove_dir_all(&folder).expect("the folder is ours");
    assert!(compared > 500 && without_parser > 100, "{compared} files, {without_parser} times without the parser");
}

/// Documents as most producers write them need no parser.
#[test]
fn usual_documents_need_no_parser() {
    let turtle = "@prefix ex: <http://ex.org/> .\n@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .\n\
                  # readings\nex:o1 a ex:Observation ; ex:by ex:s-1 ; ex:value \"2.5\"^^xsd:double , 3 ; ex:ok true .\n\
                  ex:o2 ex:at \"2024-01-01T00:00:00Z\"^^xsd:dateTime ; ex:note \"plain text\" ; ex:in _:room .\n";
    let trig = format!("{turtle}ex:g1 {{ ex:a ex:p 1 . ex:b ex:p 2 }}\nGRAPH ex:g2 {{ ex:a ex:p 3 . }}\n");
    let mut buffers = Buffers::default();
    assert!(compare(turtle.as_bytes(), RdfFormat::Turtle, &mut buffers));
    assert!(compare(trig.as_bytes(), RdfFormat::TriG, &mut buffers));
    assert!(!compare(trig.as_bytes(), RdfFormat::Turtle, &mut buffers), "Turtle has no graphs");
}

/// The bound on what a document expands to is that of the parser.
#[test]
fn a_document_that_expands_to_too_much_is_refused() {
    let text = format!("@prefix p: <http://ex/{}> .\n{}", "n".repeat(40_000), "p:a p:b p:c .\n".repeat(200));
    assert!(!compare(text.as_bytes(), RdfFormat::Turtle, &mut Buffers::default()));
    let subject = format!("<http://ex/{}> <http://ex/p> 0", "n".repeat(400_000));
    let many: String = (1..200).map(|n| format!(" , {n}")).collect();
    assert!(!compare(format!("{subject}{many} .").as_bytes(), RdfFormat::Turtle, &mut Buffers::default()));
}
