//! rsp-rs: RSP-QL over one stream, evaluated by Oxigraph over a new store at every close of the window.
//!
//! Its windows run in threads of their own; processor time is that of all threads. It takes the query in a form of its own: a line for each
//! clause, the register clause behind the prefixes, and the numbers of RANGE and STEP in milliseconds. Its parser needs a release build, as
//! others print every window.

use oxigraph::io::{RdfFormat, RdfParser};
use oxigraph::model::{GraphName, Quad};
use rsp_rs::{BindingWithTimestamp, CSPARQLWindow, RDFStream, RSPEngine};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use whorl_peers_case::{Case, Change, Watch, resident_bytes, say};

/// Events are handed over in so many, and waited for, before the clock is looked at.
const CHUNK: usize = 256;

struct Running {
    stream: RDFStream,
    window: Arc<Mutex<CSPARQLWindow>>,
    results: Receiver<BindingWithTimestamp>,
    found: Vec<BindingWithTimestamp>,
    // Its threads end with it.
    _engine: RSPEngine,
}

impl Running {
    fn new(text: &str) -> Self {
        let mut engine = RSPEngine::new(text.to_owned());
        engine.initialize().expect("the query is taken");
        let results = engine.start_processing();
        let stream = engine.get_stream("http://example.org/s").expect("the stream of the case");
        let window = engine.get_window("http://example.org/w").expect("the window of the case");
        Self { stream, window, results, found: vec![], _engine: engine }
    }

    fn push(&mut self, events: &[(i64, Vec<Quad>)]) {
        for (at, quads) in events {
            self.stream.add_quads(quads.clone(), *at).expect("its thread runs");
        }
        let Some((last, _)) = events.last() else { return };
        // An event is through when there is a window that begins in the step before it.
        while self.newest() + STEP_MS <= *last {
            std::thread::sleep(Duration::from_micros(50));
        }
        self.found.extend(self.results.try_iter());
    }

    fn newest(&self) -> i64 {
        let ranges = self.window.lock().expect("its thread has not failed").get_active_window_ranges();
        ranges.iter().map(|(open, _)| *open).max().unwrap_or(i64::MIN / 2)
    }
}

const STEP_MS: i64 = 1_000;

/// `RANGE PT10S STEP PT1S` as `RANGE 10000 STEP 1000`, `ON :s` as `ON STREAM :s`.
fn rewritten(text: &str) -> String {
    text.replace("RANGE PT10S STEP PT1S", "RANGE 10000 STEP 1000")
        .replace("ON :s", "ON STREAM :s")
        .replace("REGISTER RSTREAM :out", "REGISTER RStream <http://example.org/out>")
}

fn quads(changes: &[Change]) -> Vec<(i64, Vec<Quad>)> {
    let parsed = |change: &Change| {
        let lines: String = change.placed.iter().map(|one| one.terms.join(" ") + " .\n").collect();
        let read = RdfParser::from_format(RdfFormat::NTriples).for_slice(lines.as_bytes());
        read.map(|quad| Quad { graph_name: GraphName::DefaultGraph, ..quad.expect("N-Triples") }).collect()
    };
    changes.iter().map(|change| (change.at, parsed(change))).collect()
}

/// The terms of a solution, all of them IRIs. rsp-rs returns its debug output: a quoted name, then a quoted IRI, and so on.
fn terms(text: &str) -> Vec<String> {
    text.split('"').skip(3).step_by(4).map(|iri| format!("<{iri}>")).collect()
}

fn main() {
    let case = Case::read();
    let (filling, measured) = (quads(&case.filling), quads(&case.measured));
    let before = resident_bytes();
    let mut running = Running::new(&rewritten(&case.query));
    running.push(&filling);
    running.found.clear();
    let bytes = resident_bytes().saturating_sub(before);
    let (mut events, watch) = (0, Watch::start());
    for chunk in measured.chunks(CHUNK) {
        running.push(chunk);
        events += chunk.len();
        if watch.elapsed().0 > case.limit {
            break;
        }
    }
    let took = watch.elapsed();
    // A window is named by the last event in it; it closes at the end of the step of that event.
    let closed = |found: &BindingWithTimestamp| (found.timestamp_from / STEP_MS + 1) * STEP_MS;
    let solutions: Vec<_> = running.found.iter().map(|found| (closed(found), terms(&found.bindings))).collect();
    case.answer(solutions.iter().map(|(at, terms)| (*at, terms.iter().map(String::as_str).collect())));
    say(events, took, running.found.len(), bytes);
    std::process::exit(0);
}
