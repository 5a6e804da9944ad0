//! The experiments of the papers that stream encoded values: indexes, joins, aggregates, memory.
//!
//! `whorl bench` runs it with `key=value` arguments and reads the line of JSON that it prints. Results are counted and
//! added up, so that a fast wrong answer is detected: engine, kernel, relational twin and the other engines must agree
//! on the sum.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

mod by_hand;
mod experiment;
#[path = "../kernel/mod.rs"]
mod kernel;
mod relational;

use by_hand::ByHand;
use experiment::{Experiment, Mode, Size, thousandths};
use kernel::{Event, Tally};
use std::collections::HashMap;
use std::time::{Duration, Instant};
use whorl_engine::rdf::{Literal, NamedNode, Term};
use whorl_engine::{
    Answered, Engine, EngineOptions, ParseOptions, Probing, QueryId, QueryResult, Retraction, StreamId, TermId,
    Timestamp,
};

/// Results are drained often enough to stay in the cache, as with a subscriber.
const TAKEN_EVERY: usize = 64;

/// The measurement to run, as `key=value` words.
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

    /// Adds up the rows of results: all of their values, or, for a row of a window, its key and its value.
    fn add_up(&self, results: &[QueryResult], mode: Mode, tally: &mut Tally) {
        for result in results {
            let Answered::Bindings { inserted, .. } = &result.answer else { continue };
            for row in inserted.iter() {
                let read = if matches!(mode, Mode::Insert | Mode::Probe) { &row[..2] } else { row };
                let values: Vec<_> = read.iter().map(|id| self.value(*id)).collect();
                tally.add(&values);
            }
        }
    }

    /// A streamed number, or a mean.
    fn value(&self, id: TermId) -> u32 {
        self.numbers.get(&id).copied().unwrap_or_else(|| match self.engine.dictionary().term(id) {
            Term::Literal(mean) => thousandths(mean.value().parse().expect("a number")),
            other => panic!("{other:?} is no value of this experiment"),
        })
    }
}

/// The time and the results of a run.
struct Measured {
    cpu: Duration,
    wall: Duration,
    tally: Tally,
    bytes: u64,
}

/// Processor and wall time since it began.
struct Watch {
    cpu: Duration,
    wall: Instant,
}

impl Watch {
    fn start() -> Self {
        Self { cpu: processor_time(), wall: Instant::now() }
    }

    fn elapsed(&self) -> (Duration, Duration) {
        (processor_time().saturating_sub(self.cpu), self.wall.elapsed())
    }
}

/// The time for the measured events and for draining their results; converting ids back to numbers belongs to the
/// benchmark.
fn run_engine(experiment: &Experiment, options: EngineOptions) -> Measured {
    let before = resident_bytes();
    let mut running = Running::new(experiment, options);
    for chunk in experiment.filling.chunks(TAKEN_EVERY) {
        chunk.iter().for_each(|event| running.push(*event));
        drop(running.take());
    }
    let bytes = resident_bytes().saturating_sub(before);
    let (mut tally, mut own, mut results, watch) = (Tally::default(), Duration::ZERO, Vec::new(), Watch::start());
    let mut own_wall = Duration::ZERO;
    for chunk in experiment.measured.chunks(TAKEN_EVERY) {
        chunk.iter().for_each(|event| running.push(*event));
        results.append(&mut running.take());
        if experiment.mode == Mode::Average {
            // The dictionary frees computed values, so they are read now.
            let reading = Watch::start();
            running.add_up(&std::mem::take(&mut results), experiment.mode, &mut tally);
            let (cpu, wall) = reading.elapsed();
            (own, own_wall) = (own + cpu, own_wall + wall);
        }
    }
    let (cpu, wall) = watch.elapsed();
    running.add_up(&results, experiment.mode, &mut tally);
    for event in &experiment.showing {
        running.push(*event);
        let results = running.take();
        running.add_up(&results, experiment.mode, &mut tally);
    }
    Measured { cpu: cpu.saturating_sub(own), wall: wall.saturating_sub(own_wall), tally, bytes }
}

fn run_by_hand(experiment: &Experiment, make: fn(&Experiment) -> Box<dyn ByHand>) -> Measured {
    let before = resident_bytes();
    let mut running = make(experiment);
    experiment.filling.iter().for_each(|event| running.push(*event, &mut Tally::default()));
    let bytes = resident_bytes().saturating_sub(before);
    let (mut tally, watch) = (Tally::default(), Watch::start());
    experiment.measured.iter().for_each(|event| running.push(*event, &mut tally));
    let (cpu, wall) = watch.elapsed();
    running.show(experiment.sample as u32, &mut tally);
    Measured { cpu, wall, tally, bytes }
}

/// The CPU time of this process, which has one thread, or wall time if the system does not provide it. The system
/// updates the count when a thread yields, otherwise only a few hundred times a second.
fn processor_time() -> Duration {
    std::thread::yield_now();
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
    // `cargo test` and `cargo bench` run it without a mode; it then prints nothing.
    if !arguments.0.contains_key("mode") {
        return;
    }
    let width = arguments.number("width", 10_000);
    let size = Size { width, keys: arguments.number("keys", width), events: arguments.number("events", 100_000) };
    let (mode, index) = (arguments.text("mode", "join"), arguments.text("index", "hash"));
    let experiment = Experiment::new(&mode, size, arguments.number("ways", 3), &index);
    let Measured { cpu, wall, tally, bytes } = match arguments.text("contestant", "engine").as_str() {
        "engine" => run_engine(&experiment, arguments.options()),
        "kernel" => run_by_hand(&experiment, by_hand::kernel),
        "relational" => run_by_hand(&experiment, by_hand::relational),
        other => panic!("there is no contestant {other}"),
    };
    println!(
        "{{\"events\": {}, \"cpu_ns\": {}, \"wall_ns\": {}, \"results\": {}, \"rss_bytes\": {bytes}, \
         \"checksum\": \"{}:{}\"}}",
        experiment.measured.len(),
        cpu.as_nanos(),
        wall.as_nanos(),
        tally.results,
        tally.results,
        tally.sum
    );
}
