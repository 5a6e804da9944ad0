//! Three-way chain join over count windows: the engine against a hand-written loop, in one run.
//!
//! `S1(a,b) ⋈ S2(b,c) ⋈ S3(c,d)`, W triples per stream, keys uniform over W values, arrivals in turn;
//! one event is one arrival and one expiry, and gives about one result. The kernel knows the
//! schema, the windows and the order of probing; what the engine costs beyond it is the price of
//! generality. Both count results and add them up, so a fast wrong answer shows. A third runner is the engine with a clock,
//! which measures how long its query is evaluated: that must cost next to nothing.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

mod kernel;

use kernel::{Chain, Event, Tally};
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use whorl_engine::rdf::{Literal, NamedNode};
use whorl_engine::{Answered, Engine, EngineOptions, ParseOptions, QueryId, StreamId, TermId, Timestamp};

/// Events measured and rounds of kernel and engine in turn; fewer for a look under a profiler.
fn setting(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// Reading an answer back is the benchmark's work: it must not weigh on the engine.
type NumberOf = std::collections::HashMap<TermId, u32, foldhash::fast::FixedState>;

/// Results are taken often enough to stay in the cache, as a subscriber would.
const TAKEN_EVERY: usize = 64;

fn events(width: usize, measured: usize) -> Vec<Event> {
    let mut state = 42_u64;
    let mut key = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        ((state >> 20) % width as u64) as u32
    };
    (0..3 * width + measured).map(|i| Event { stream: i % 3, subject: key(), object: key() }).collect()
}

struct Running {
    engine: Engine,
    query: QueryId,
    streams: [StreamId; 3],
    predicates: [TermId; 3],
    numbers: Vec<TermId>,
    now: i64,
}

/// The clock a host would lend.
fn now_ns() -> u64 {
    static BEGINNING: OnceLock<Instant> = OnceLock::new();
    BEGINNING.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

impl Running {
    fn new(width: usize, clock: Option<fn() -> u64>) -> Self {
        let mut engine = Engine::new(EngineOptions::default());
        clock.into_iter().for_each(|now_ns| engine.lend_clock(now_ns));
        let text = format!(
            "PREFIX : <http://ex/> SELECT ?a ?b ?c ?d WHERE {{
               STREAM :s0 [TRIPLES {width}] {{ ?a :p0 ?b }}
               STREAM :s1 [TRIPLES {width}] {{ ?b :p1 ?c }}
               STREAM :s2 [TRIPLES {width}] {{ ?c :p2 ?d }} }}"
        );
        let query = engine.register(&text, &ParseOptions::default()).expect("the query registers");
        let stream =
            |engine: &Engine, n: usize| engine.stream_id(&format!("http://ex/s{n}")).expect("declared by the query");
        let streams = [stream(&engine, 0), stream(&engine, 1), stream(&engine, 2)];
        let mut predicate = |n: usize| engine.pin(&NamedNode::new_unchecked(format!("http://ex/p{n}")).into());
        let predicates = [predicate(0), predicate(1), predicate(2)];
        let numbers = (0..width as i64).map(|n| engine.pin(&Literal::from(n).into())).collect();
        Self { engine, query, streams, predicates, numbers, now: 0 }
    }

    fn push(&mut self, event: Event) {
        self.now += 1;
        let triple =
            [self.numbers[event.subject as usize], self.predicates[event.stream], self.numbers[event.object as usize]];
        self.engine.push_encoded(self.streams[event.stream], Timestamp::from_millis(self.now), &[triple]);
    }

    fn take(&mut self, tally: &mut Tally, number_of: &NumberOf) {
        for result in self.engine.drain(self.query).expect("the query runs") {
            let Answered::Bindings { inserted, .. } = result.answer else { continue };
            for row in inserted.iter() {
                tally.add(&[row[0], row[1], row[2], row[3]].map(|id| number_of[&id]));
            }
        }
    }
}

fn measure_kernel(width: usize, events: &[Event]) -> (Duration, Tally) {
    let mut kernel = Chain::new(3, width);
    events[..3 * width].iter().for_each(|event| kernel.push(*event, &mut Tally::default()));
    let mut tally = Tally::default();
    let start = Instant::now();
    events[3 * width..].iter().for_each(|event| kernel.push(*event, &mut tally));
    (start.elapsed(), tally)
}

/// The engine's time includes taking its results; turning ids back into numbers is not counted.
fn measure_engine(width: usize, events: &[Event], clock: Option<fn() -> u64>) -> (Duration, Tally, Duration) {
    let mut running = Running::new(width, clock);
    let number_of: NumberOf = running.numbers.iter().enumerate().map(|(n, id)| (*id, n as u32)).collect();
    for chunk in events[..3 * width].chunks(TAKEN_EVERY) {
        chunk.iter().for_each(|event| running.push(*event));
        running.take(&mut Tally::default(), &number_of);
    }
    let evaluated = |running: &Running| running.engine.evaluation_times().map(|(_, time)| time).sum::<Duration>();
    let before = evaluated(&running);
    let (mut spent, mut tally) = (Duration::ZERO, Tally::default());
    for chunk in events[3 * width..].chunks(TAKEN_EVERY) {
        let start = Instant::now();
        chunk.iter().for_each(|event| running.push(*event));
        spent += start.elapsed();
        running.take(&mut tally, &number_of);
    }
    (spent, tally, evaluated(&running) - before)
}

fn main() {
    let (measured, rounds, only) =
        (setting("WHORL_EVENTS", 600_000), setting("WHORL_ROUNDS", 7), setting("WHORL_WIDTH", 0));
    let ns = |time: Duration| time.as_secs_f64() * 1e9 / measured as f64;
    for width in [1_000, 10_000, 100_000].into_iter().filter(|width| only == 0 || only == *width) {
        let events = events(width, measured);
        let (mut pairs, mut clocked) = (Vec::new(), Vec::new());
        for round in 0..rounds {
            let (kernel, expected) = measure_kernel(width, &events);
            let with_clock = || measure_engine(width, &events, Some(now_ns));
            // Each goes first in turn: who comes second finds a warmer machine.
            let first = (round % 2 == 0).then(with_clock);
            let (engine, got, _) = measure_engine(width, &events, None);
            let (timed, got_timed, evaluated) = first.unwrap_or_else(with_clock);
            assert_eq!((got, got_timed), (expected, expected), "the engine gives the kernel's results");
            pairs.push((ns(kernel), ns(engine)));
            clocked.push((timed.as_secs_f64() / engine.as_secs_f64(), evaluated.as_secs_f64() / timed.as_secs_f64()));
        }
        clocked.sort_by(|a, b| a.0.total_cmp(&b.0));
        pairs.sort_by(|a, b| (a.1 / a.0).total_cmp(&(b.1 / b.0)));
        let (kernel, engine) = pairs[rounds / 2];
        let ratios: Vec<String> = pairs.iter().map(|(k, e)| format!("{:.1}", e / k)).collect();
        println!(
            "join3 W={width}: kernel {kernel:.0} ns/event, engine {engine:.0} ns/event, ratio {:.1} (all: {})",
            engine / kernel,
            ratios.join(" ")
        );
        let (cost, share) = clocked[rounds / 2];
        let costs: Vec<String> = clocked.iter().map(|(cost, _)| format!("{:+.1}", (cost - 1.0) * 100.0)).collect();
        println!(
            "join3 W={width}: with a clock {:+.1} % (all: {}), evaluation is {:.0} % of the time",
            (cost - 1.0) * 100.0,
            costs.join(" "),
            share * 100.0
        );
    }
}
