//! The cost of one event when many queries are registered: it must not depend on the number of queries that the event
//! does not concern.
//!
//! Every event yields one row, whatever the number of queries, so that only the cost of finding the query can grow.
//! Figures are CPU time per event, the median of several rounds; each line also has the ratio to its first figure.
//! `ALONE=10000` runs one template with this many queries alone, for a profiler: `valgrind --tool=callgrind
//! --cache-sim=yes --toggle-collect='*queries::measured*'` counts the instructions of an event and its waits for memory.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::sync::LazyLock;
use std::time::{Duration, Instant};
use whorl_engine::rdf::{Literal, NamedNode, Term};
use whorl_engine::{Engine, EngineOptions, ParseOptions, QueryId, RdfFormat, StreamId, TermId, Timestamp};

const EVENTS: usize = 20_000;
const ROUNDS: usize = 5;
/// More than a window has events, so that an arriving reading never equals one that expires at the same instant and
/// would cancel it.
const VALUES: usize = 3_001;

fn setting(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// How the queries of a family differ from each other.
#[derive(Clone, Copy)]
enum Family {
    /// One pattern with a different constant.
    Constant,
    /// Two patterns with a different constant.
    Joined,
    /// One query reads the events, the others read predicates that never occur.
    Untouched,
    /// A different constant and a different window.
    Window,
    /// One pattern, joined with static data by a different constant.
    Static,
}

impl Family {
    fn text(self, n: usize) -> String {
        let range = if matches!(self, Self::Window) { 1_000 + n } else { 1_000 };
        let body = match self {
            Self::Constant | Self::Window => format!(":s{n} :p0 ?v"),
            Self::Joined => format!(":s{n} :p0 ?v . :s{n} :unit ?u"),
            Self::Untouched => format!("?s :p{n} ?v"),
            Self::Static => "?s :p0 ?v".to_owned(),
        };
        let and = if matches!(self, Self::Static) { format!("?s :name 'name {n}'") } else { String::new() };
        format!("PREFIX : <http://ex/> SELECT * WHERE {{ STREAM :s [RANGE {range}ms] {{ {body} }} {and} }}")
    }

    /// The number of subjects of events.
    fn n_subjects(self, queries: usize) -> usize {
        if matches!(self, Self::Untouched) { 1 } else { queries }
    }
}

fn node(name: &str) -> Term {
    NamedNode::new_unchecked(format!("http://ex/{name}")).into()
}

/// A stream of readings, each of a subject that some query selects.
struct Source {
    stream: StreamId,
    subjects: Vec<TermId>,
    predicate: TermId,
    values: Vec<TermId>,
    at: i64,
    state: u64,
}

impl Source {
    fn new(engine: &mut Engine, subjects: usize) -> Self {
        Self {
            stream: engine.stream_id("http://ex/s").expect("declared by the queries"),
            subjects: (0..subjects).map(|n| engine.pin(&node(&format!("s{n}")))).collect(),
            predicate: engine.pin(&node("p0")),
            values: (0..VALUES as i64).map(|n| engine.pin(&Literal::from(n).into())).collect(),
            at: 0,
            state: 7,
        }
    }

    fn push(&mut self, engine: &mut Engine) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        let subject = (self.state >> 20) as usize % self.subjects.len();
        self.at += 1;
        let triple = [self.subjects[subject], self.predicate, self.values[self.at as usize % VALUES]];
        engine.push_encoded(self.stream, Timestamp::from_millis(self.at), &[triple]);
        subject
    }
}

fn registered(family: Family, queries: usize) -> (Engine, Vec<QueryId>) {
    let mut engine = Engine::new(EngineOptions::default());
    let options = ParseOptions::default();
    if matches!(family, Family::Static) {
        let name = |n| format!("<http://ex/s{n}> <http://ex/name> \"name {n}\" .\n");
        let document: String = (0..queries).map(name).collect();
        engine.load(None, document.as_bytes(), RdfFormat::NTriples).expect("static data");
    }
    let ids = (0..queries).map(|n| engine.register(&family.text(n), &options).expect("a query")).collect();
    (engine, ids)
}

/// Time per event.
fn run(family: Family, queries: usize, events: usize) -> Duration {
    let (mut engine, ids) = registered(family, queries);
    let mut source = Source::new(&mut engine, family.n_subjects(queries));
    if matches!(family, Family::Joined) {
        // One unit per subject, in a single event that stays for the whole run.
        let unit = engine.pin(&node("unit"));
        let triples: Vec<_> = source.subjects.iter().map(|subject| [*subject, unit, source.values[0]]).collect();
        engine.push_encoded(source.stream, Timestamp::from_millis(1), &triples);
        return measured(&mut engine, &ids, &mut source, 900);
    }
    for _ in 0..2_000 {
        source.push(&mut engine);
    }
    measured(&mut engine, &ids, &mut source, events)
}

/// Not inlined, so that a profiler can tell what is measured from what prepares it.
#[inline(never)]
fn measured(engine: &mut Engine, ids: &[QueryId], source: &mut Source, events: usize) -> Duration {
    ids.iter().for_each(|id| drop(engine.drain(*id).expect("it runs")));
    let (mut rows, start) = (0, processor_time());
    for _ in 0..events {
        let subject = source.push(engine);
        rows += engine.drain(ids[subject]).expect("it runs").len();
    }
    let time = (processor_time() - start) / events as u32;
    assert_eq!(rows, events, "each event gives one row");
    time
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn line(name: &str, family: Family, sizes: &[usize]) {
    let mut first = None;
    for queries in sizes {
        // Few rounds if each takes long: the figure is then far from the limit that it is compared with.
        let events = setting("EVENTS", EVENTS);
        let time = median((0..setting("ROUNDS", ROUNDS)).map(|_| run(family, *queries, events)).collect());
        let first = *first.get_or_insert(time);
        let ratio = time.as_secs_f64() / first.as_secs_f64();
        println!("{name}, {queries} queries: {:.3} µs an event, {ratio:.2} × one", time.as_secs_f64() * 1e6);
    }
}

/// The CPU time of this thread, if the system provides it, so that other load on the machine has no effect.
fn processor_time() -> Duration {
    static BEGIN: LazyLock<Instant> = LazyLock::new(Instant::now);
    // The system updates its CPU accounting when a thread yields, and otherwise only at intervals.
    std::thread::yield_now();
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let ns = told.and_then(|text| text.split(' ').next()?.parse().ok());
    ns.map_or_else(|| BEGIN.elapsed(), Duration::from_nanos)
}

/// Resident memory in bytes, if the system provides it.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("0 kB");
    line.trim().trim_end_matches("kB").trim().parse::<u64>().unwrap_or(0) * 1024
}

fn registration(name: &str, family: Family, queries: usize) {
    let (before, start) = (resident(), processor_time());
    let engine = registered(family, queries);
    let (time, bytes) =
        ((processor_time() - start) / queries as u32, resident().saturating_sub(before) / queries as u64);
    println!("{name}, {queries} registered: {:.1} µs and {bytes} bytes each", time.as_secs_f64() * 1e6);
    drop(engine);
}

/// Adds one triple to many, and pushes an event that makes every query see it; `graph` contains the triples, if it is
/// given.
fn static_triple(triples: usize, queries: usize, graph: Option<&str>) {
    let mut engine = Engine::new(EngineOptions::default());
    let document: String =
        (0..triples).map(|n| format!("<http://ex/s{n}> <http://ex/in> <http://ex/r{}> .\n", n % 100)).collect();
    engine.load(graph, document.as_bytes(), RdfFormat::NTriples).expect("static data");
    let of = graph.map_or("?s :in ?r".to_owned(), |graph| format!("GRAPH <{graph}> {{ ?s :in ?r }}"));
    let text = &format!("PREFIX : <http://ex/> SELECT * WHERE {{ STREAM :s [RANGE 1s] {{ ?s :p0 ?v }} {of} }}");
    let (before, start) = (resident(), processor_time());
    let ids: Vec<_> = (0..queries).map(|_| engine.register(text, &ParseOptions::default()).expect("a query")).collect();
    let (registered, bytes) =
        ((processor_time() - start) / queries as u32, resident().saturating_sub(before) / queries as u64);
    let mut source = Source::new(&mut engine, 100);
    for _ in 0..100 {
        source.push(&mut engine);
    }
    let mut times = Vec::new();
    for round in 0..setting("ROUNDS", ROUNDS) {
        let added = format!("<http://ex/new{round}> <http://ex/in> <http://ex/r0> .");
        let start = processor_time();
        engine.load(graph, added.as_bytes(), RdfFormat::NTriples).expect("static data");
        source.push(&mut engine);
        times.push(processor_time() - start);
        ids.iter().for_each(|id| assert!(!engine.drain(*id).expect("it runs").is_empty(), "it is shown"));
    }
    let (time, each) = (median(times).as_secs_f64() * 1e6, registered.as_secs_f64() * 1e3);
    println!(
        "a static triple among {triples} in {}, {queries} queries: {time:.0} µs with the next event; a query {each:.1} ms, {} kB",
        graph.unwrap_or("the default graph"),
        bytes / 1024
    );
}

fn main() {
    let alone = setting("ALONE", 0);
    if alone > 0 {
        let time = run(Family::Constant, alone, setting("EVENTS", EVENTS));
        return println!("one template, {alone} queries: {:.3} µs an event", time.as_secs_f64() * 1e6);
    }
    let most = setting("QUERIES", 10_000);
    let upto = |sizes: &[usize]| sizes.iter().copied().filter(|size| *size <= most).collect::<Vec<_>>();
    line("one template", Family::Constant, &upto(&[1, 10, 100, 1_000, 10_000]));
    line("untouched", Family::Untouched, &upto(&[1, 1_000]));
    line("two patterns", Family::Joined, &upto(&[1, 1_000]));
    line("static constant", Family::Static, &upto(&[1, 1_000]));
    line("other windows", Family::Window, &upto(&[1, 1_000]));
    registration("one template", Family::Constant, most);
    registration("two patterns", Family::Joined, most);
    registration("other windows", Family::Window, most.min(1_000));
    for graph in [None, Some("http://ex/g")] {
        static_triple(setting("STATIC", 1_000_000), 10, graph);
    }
}
