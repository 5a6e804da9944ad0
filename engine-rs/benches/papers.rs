//! The experiments of the papers that stream encoded values: indexes, joins, aggregates, memory.
//!
//! `whorl bench` starts it with `key=value` arguments and reads the line of JSON it prints. Events are made of a seed, so
//! that other programs can make the same ones; results are counted and added up, so that a fast wrong answer shows.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::collections::HashMap;
use std::time::{Duration, Instant};
use whorl_engine::rdf::{Literal, NamedNode, Term};
use whorl_engine::{
    Answered, Engine, EngineOptions, ParseOptions, Probing, QueryId, QueryResult, Retraction, StreamId, TermId,
    Timestamp,
};

/// Results are taken often enough to stay in the cache, as a subscriber would.
const TAKEN_EVERY: usize = 64;

/// What is to be measured, as `key=value` words.
struct Arguments(HashMap<String, String>);

impl Arguments {
    fn read() -> Self {
        let words = std::env::args().skip(1).filter_map(|word| {
            let (key, value) = word.split_once('=')?;
            Some((key.to_owned(), value.to_owned()))
        });
        Self(words.collect())
    }

    fn text(&self, key: &str, default: &str) -> String {
        self.0.get(key).map_or_else(|| default.to_owned(), Clone::clone)
    }

    fn number(&self, key: &str, default: usize) -> usize {
        self.0.get(key).map_or(default, |value| value.parse().expect("a number"))
    }

    fn options(&self) -> EngineOptions {
        let retraction = match self.text("retraction", "auto").as_str() {
            "tree" => Retraction::Tree,
            "probe" => Retraction::Probe,
            _ => Retraction::Auto,
        };
        let probing =
            self.0.get("order").map_or(Probing::Adaptive, |seed| Probing::Fixed(seed.parse().expect("a number")));
        EngineOptions { retraction, probing, ..EngineOptions::default() }
    }
}

/// The numbers of all programs: xorshift from one seed.
struct Draws(u64);

impl Draws {
    fn below(&mut self, end: usize) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 20) % end as u64) as u32
    }
}

#[derive(Clone, Copy)]
struct Event {
    stream: usize,
    subject: u32,
    object: u32,
}

/// Results seen, and a sum that depends on every value of each.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Tally {
    results: u64,
    sum: u64,
}

impl Tally {
    fn add(&mut self, row: impl Iterator<Item = u32>) {
        self.results += 1;
        for (weight, value) in (3_u64..).step_by(2).zip(row) {
            self.sum = self.sum.wrapping_add(weight * u64::from(value));
        }
    }
}

/// An experiment: its streams, its query, the events that fill the windows and those that are measured.
struct Experiment {
    streams: usize,
    text: String,
    values: usize,
    filling: Vec<Event>,
    measured: Vec<Event>,
    /// Whether rows are joins of values, which kernels and peers can add up too.
    sums: bool,
}

impl Experiment {
    fn new(arguments: &Arguments) -> Self {
        let (width, events) = (arguments.number("width", 10_000), arguments.number("events", 100_000));
        let keys = arguments.number("keys", width);
        match arguments.text("mode", "join").as_str() {
            "join" => chain(arguments.number("ways", 3), width, keys, events),
            "insert" => insert(&arguments.text("index", "hash"), width, keys, events),
            "probe" => probe(&arguments.text("index", "hash"), width, keys, events),
            "avg" => average(width, keys, events),
            "min" => over_join("?a (MIN(?d) AS ?m)", "GROUP BY ?a", width, keys, events),
            "distinct" => over_join("DISTINCT ?a", "", width, keys, events),
            other => panic!("there is no mode {other}"),
        }
    }
}

fn stream_text(stream: usize, width: usize, pattern: &str) -> String {
    format!("STREAM :s{stream} [TRIPLES {width}] {{ {pattern} }}")
}

fn query(head: &str, parts: &[String], tail: &str) -> String {
    format!("PREFIX : <http://ex/> SELECT {head} WHERE {{ {} }} {tail}", parts.join(" "))
}

/// Arrivals in turn, both values uniform over the keys.
fn in_turn(streams: usize, keys: usize, count: usize, draws: &mut Draws) -> Vec<Event> {
    (0..count).map(|at| Event { stream: at % streams, subject: draws.below(keys), object: draws.below(keys) }).collect()
}

/// `S0(v0,v1) ⋈ S1(v1,v2) ⋈ …`: Figure 13a and Table 2.
fn chain(ways: usize, width: usize, keys: usize, events: usize) -> Experiment {
    let parts: Vec<_> = (0..ways).map(|n| stream_text(n, width, &format!("?v{n} :p{n} ?v{}", n + 1))).collect();
    let head: Vec<_> = (0..=ways).map(|n| format!("?v{n}")).collect();
    let mut draws = Draws(42);
    let filling = in_turn(ways, keys, ways * width, &mut draws);
    let measured = in_turn(ways, keys, events, &mut draws);
    Experiment { streams: ways, text: query(&head.join(" "), &parts, ""), values: keys, filling, measured, sums: true }
}

/// A window with an index that nobody probes yet: Figures 9 and 11.
fn insert(index: &str, width: usize, keys: usize, events: usize) -> Experiment {
    let mut draws = Draws(42);
    let filling = in_turn(1, keys, width, &mut draws);
    let measured = in_turn(1, keys, events, &mut draws);
    Experiment { streams: 2, text: indexed(index, width), values: keys, filling, measured, sums: false }
}

/// A full window probed by the other side, with keys that it does not have: Figures 10 and 12.
fn probe(index: &str, width: usize, keys: usize, events: usize) -> Experiment {
    let mut draws = Draws(42);
    let filling = in_turn(1, keys, width, &mut draws);
    // By the hash index a key above all others; by the ordered one nothing is below the least.
    let missing = |_| Event { stream: 1, subject: keys as u32 + draws.below(keys), object: 0 };
    let measured = (0..events).map(missing).collect();
    Experiment { streams: 2, text: indexed(index, width), values: 2 * keys, filling, measured, sums: false }
}

fn indexed(index: &str, width: usize) -> String {
    let window = stream_text(0, width, "?k :p0 ?v");
    match index {
        "tree" => query("?k ?v ?j ?w", &[window, stream_text(1, 1, "?j :p1 ?w"), String::from("FILTER(?k < ?w)")], ""),
        _ => query("?k ?v ?w", &[window, stream_text(1, 1, "?k :p1 ?w")], ""),
    }
}

/// AVG right above a window: Figure 13b. The groups are the keys.
fn average(width: usize, keys: usize, events: usize) -> Experiment {
    let mut draws = Draws(42);
    let parts = [stream_text(0, width, "?g :p0 ?v")];
    let mut drawn = |count: usize| -> Vec<Event> {
        (0..count).map(|_| Event { stream: 0, subject: draws.below(keys), object: draws.below(1_000) }).collect()
    };
    let (filling, measured) = (drawn(width), drawn(events));
    let text = query("?g (AVG(?v) AS ?mean)", &parts, "GROUP BY ?g");
    Experiment { streams: 1, text, values: keys.max(1_000), filling, measured, sums: false }
}

/// An operator above a join of two windows: Figures 13c and 13d. Selectivity is the width over the keys.
fn over_join(head: &str, tail: &str, width: usize, keys: usize, events: usize) -> Experiment {
    let mut draws = Draws(42);
    let parts = [stream_text(0, width, "?a :p0 ?b"), stream_text(1, width, "?b :p1 ?d")];
    let mut drawn = |count: usize| -> Vec<Event> {
        let event = |at: usize| match at % 2 {
            0 => Event { stream: 0, subject: draws.below(1_000), object: draws.below(keys) },
            _ => Event { stream: 1, subject: draws.below(keys), object: draws.below(1_000) },
        };
        (0..count).map(event).collect()
    };
    let (filling, measured) = (drawn(2 * width), drawn(events));
    Experiment { streams: 2, text: query(head, &parts, tail), values: keys.max(1_000), filling, measured, sums: false }
}

struct Running {
    engine: Engine,
    query: QueryId,
    streams: Vec<StreamId>,
    predicates: Vec<TermId>,
    values: Vec<TermId>,
    numbers: HashMap<TermId, u32, foldhash::fast::FixedState>,
    now: i64,
}

impl Running {
    fn new(experiment: &Experiment, options: EngineOptions) -> Self {
        let mut engine = Engine::new(options);
        let query = engine.register(&experiment.text, &ParseOptions::default()).expect("the query registers");
        let streams = (0..experiment.streams).map(|n| engine.stream_id(&format!("http://ex/s{n}")).expect("declared"));
        let streams = streams.collect();
        let node = |n: usize| -> Term { NamedNode::new_unchecked(format!("http://ex/p{n}")).into() };
        let predicates = (0..experiment.streams).map(|n| engine.pin(&node(n))).collect();
        let values: Vec<_> = (0..experiment.values as i64).map(|n| engine.pin(&Literal::from(n).into())).collect();
        let numbers = values.iter().enumerate().map(|(n, id)| (*id, n as u32)).collect();
        Self { engine, query, streams, predicates, values, numbers, now: 0 }
    }

    fn push(&mut self, event: Event) {
        self.now += 1;
        let triple =
            [self.values[event.subject as usize], self.predicates[event.stream], self.values[event.object as usize]];
        self.engine.push_encoded(self.streams[event.stream], Timestamp::from_millis(self.now), &[triple]);
    }

    fn take(&mut self) -> Vec<QueryResult> {
        self.engine.drain(self.query).expect("the query runs")
    }

    fn tally(&self, results: &[QueryResult], sums: bool) -> Tally {
        let mut tally = Tally::default();
        for result in results {
            let Answered::Bindings { inserted, .. } = &result.answer else { continue };
            for row in inserted.iter() {
                let values = row.iter().take(if sums { row.len() } else { 0 });
                tally.add(values.map(|id| self.numbers[id]));
            }
        }
        tally
    }
}

/// Time of the measured events and of taking their results; turning ids back into numbers is the benchmark's work.
fn run_engine(experiment: &Experiment, options: EngineOptions) -> (Duration, Tally, u64) {
    let before = resident_bytes();
    let mut running = Running::new(experiment, options);
    for chunk in experiment.filling.chunks(TAKEN_EVERY) {
        chunk.iter().for_each(|event| running.push(*event));
        drop(running.take());
    }
    let bytes = resident_bytes().saturating_sub(before);
    let (mut results, start) = (Vec::new(), processor_time());
    for chunk in experiment.measured.chunks(TAKEN_EVERY) {
        chunk.iter().for_each(|event| running.push(*event));
        results.append(&mut running.take());
    }
    let spent = processor_time().saturating_sub(start);
    (spent, running.tally(&results, experiment.sums), bytes)
}

/// A chain of windows by hand: it knows the schema, the windows and the order of probing.
struct Kernel {
    windows: Vec<Window>,
}

/// Rows in a ring with one chained index per side: newest first, and a row is expired when its position is too old, so
/// nothing is ever deleted.
struct Window {
    rows: Vec<[u32; 4]>,
    heads: [Vec<u32>; 2],
    mask: u32,
    shift: u32,
    next: u32,
    width: u32,
}

impl Window {
    fn new(width: usize) -> Self {
        let (capacity, buckets) = ((width + 1).next_power_of_two(), width.next_power_of_two().max(2));
        Self {
            rows: vec![[0; 4]; capacity],
            heads: [vec![0; buckets], vec![0; buckets]],
            mask: capacity as u32 - 1,
            shift: 64 - buckets.trailing_zeros(),
            next: 1,
            width: width as u32,
        }
    }

    fn bucket(&self, key: u32) -> usize {
        (u64::from(key).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> self.shift) as usize
    }

    fn push(&mut self, keys: [u32; 2]) {
        let [left, right] = keys.map(|key| self.bucket(key));
        let older = [
            std::mem::replace(&mut self.heads[0][left], self.next),
            std::mem::replace(&mut self.heads[1][right], self.next),
        ];
        self.rows[(self.next & self.mask) as usize] = [keys[0], keys[1], older[0], older[1]];
        self.next += 1;
    }

    fn each(&self, side: usize, key: u32, visit: &mut dyn FnMut(u32)) {
        let oldest = self.next.saturating_sub(self.width).max(1);
        let mut position = self.heads[side][self.bucket(key)];
        while position >= oldest {
            let row = self.rows[(position & self.mask) as usize];
            if row[side] == key {
                visit(row[1 - side]);
            }
            position = row[2 + side];
        }
    }
}

impl Kernel {
    fn push(&mut self, event: Event, tally: &mut Tally) {
        self.windows[event.stream].push([event.subject, event.object]);
        let mut row = vec![0; self.windows.len() + 1];
        row[event.stream] = event.subject;
        row[event.stream + 1] = event.object;
        self.leftwards(event.stream, event.stream + 1, &mut row, tally);
    }

    /// Everything before `at` is found first, then what comes from `right` on.
    fn leftwards(&self, at: usize, right: usize, row: &mut [u32], tally: &mut Tally) {
        if at == 0 {
            return self.rightwards(right, row, tally);
        }
        let mut found = Vec::new();
        self.windows[at - 1].each(1, row[at], &mut |value| found.push(value));
        for value in found {
            row[at - 1] = value;
            self.leftwards(at - 1, right, row, tally);
        }
    }

    fn rightwards(&self, at: usize, row: &mut [u32], tally: &mut Tally) {
        if at == self.windows.len() {
            return tally.add(row.iter().copied());
        }
        let mut found = Vec::new();
        self.windows[at].each(0, row[at], &mut |value| found.push(value));
        for value in found {
            row[at + 1] = value;
            self.rightwards(at + 1, row, tally);
        }
    }
}

fn run_kernel(experiment: &Experiment, width: usize) -> (Duration, Tally, u64) {
    let before = resident_bytes();
    let mut kernel = Kernel { windows: (0..experiment.streams).map(|_| Window::new(width)).collect() };
    experiment.filling.iter().for_each(|event| kernel.push(*event, &mut Tally::default()));
    let (mut tally, start) = (Tally::default(), processor_time());
    experiment.measured.iter().for_each(|event| kernel.push(*event, &mut tally));
    (processor_time().saturating_sub(start), tally, resident_bytes().saturating_sub(before))
}

/// Processor time of this process, which has one thread; wall time where the system does not say.
fn processor_time() -> Duration {
    std::fs::read_to_string("/proc/self/schedstat")
        .ok()
        .and_then(|text| text.split(' ').next()?.parse().ok().map(Duration::from_nanos))
        .unwrap_or_else(wall_time)
}

fn wall_time() -> Duration {
    static BEGINNING: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    BEGINNING.get_or_init(Instant::now).elapsed()
}

fn resident_bytes() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").ok();
    let pages = pages.and_then(|text| text.split(' ').nth(1)?.parse::<u64>().ok());
    pages.unwrap_or(0) * 4096
}

fn main() {
    let arguments = Arguments::read();
    // `cargo test` and `cargo bench` start it without a mode: then it has nothing to say.
    if !arguments.0.contains_key("mode") {
        return;
    }
    let experiment = Experiment::new(&arguments);
    let start = Instant::now();
    let (cpu, tally, bytes) = match arguments.text("contestant", "engine").as_str() {
        "kernel" => run_kernel(&experiment, arguments.number("width", 10_000)),
        _ => run_engine(&experiment, arguments.options()),
    };
    println!(
        "{{\"events\": {}, \"cpu_ns\": {}, \"wall_ns\": {}, \"results\": {}, \"rss_bytes\": {bytes}, \
         \"checksum\": \"{}:{}\"}}",
        experiment.measured.len(),
        cpu.as_nanos(),
        start.elapsed().as_nanos(),
        tally.results,
        tally.results,
        tally.sum
    );
}
