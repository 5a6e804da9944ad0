//! Three-way chain join over count windows: the engine against a hand-written loop, in one run.
//!
//! `S1(a,b) ⋈ S2(b,c) ⋈ S3(c,d)`, W triples per stream, keys uniform over W values, streams in rotation; one event is
//! one arrival and one expiry, and yields about one result. The kernel hard-codes the schema, the windows and the
//! probing order, so the difference to the engine is the price of generality. Both count the results and add up their
//! values, so that a fast wrong answer is detected. A third runner is the engine with an injected clock, which measures
//! evaluation time: its overhead must be negligible.
//!
//! Times are CPU time of this thread, and include draining the results and adding them up. `WHORL_WIDTH`,
//! `WHORL_EVENTS` and `WHORL_ROUNDS` set the window, the number of measured events and the rounds.
//! `WHORL_RUNNER=kernel` or `engine` runs one alone, for a profiler: `valgrind --tool=callgrind
//! --toggle-collect='*Running::measured*'` counts only the measured part of the engine, `'*measured_kernel*'` that of
//! the kernel.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

mod kernel;

use kernel::{Chain, Event, Tally};
use std::sync::{LazyLock, OnceLock};
use std::time::{Duration, Instant};
use whorl_engine::rdf::{Literal, NamedNode};
use whorl_engine::{Answered, Engine, EngineOptions, ParseOptions, QueryId, StreamId, TermId, Timestamp};

fn setting(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// Results are drained often enough to stay in the cache, as with a subscriber.
const TAKEN_EVERY: usize = 64;

/// Events before the measurement: each window is filled three times, after which each store is a single ring.
fn filled(width: usize) -> usize {
    9 * width
}

fn events(width: usize, measured: usize) -> Vec<Event> {
    let mut state = 42_u64;
    let mut key = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        ((state >> 20) % width as u64) as u32
    };
    (0..filled(width) + measured).map(|i| Event { stream: i % 3, subject: key(), object: key() }).collect()
}

struct Running {
    engine: Engine,
    query: QueryId,
    streams: [StreamId; 3],
    predicates: [TermId; 3],
    numbers: Vec<TermId>,
    now: i64,
}

/// A clock such as a host injects.
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

    /// Drains the results. The numbers are inlined in their ids, so reading them back costs nothing.
    fn take(&mut self, tally: &mut Tally) {
        let zero = self.numbers[0].to_bits();
        for result in self.engine.drain(self.query).expect("the query runs") {
            let Answered::Bindings { inserted, .. } = result.answer else { continue };
            for row in inserted.iter() {
                tally.add(&[row[0], row[1], row[2], row[3]].map(|id| (id.to_bits() - zero) as u32));
            }
        }
    }

    fn run(&mut self, events: &[Event], tally: &mut Tally) {
        for chunk in events.chunks(TAKEN_EVERY) {
            chunk.iter().for_each(|event| self.push(*event));
            self.take(tally);
        }
    }

    #[inline(never)]
    fn measured(&mut self, events: &[Event]) -> (Duration, Tally) {
        let (start, mut tally) = (processor_time(), Tally::default());
        self.run(events, &mut tally);
        (processor_time() - start, tally)
    }
}

/// The CPU time of this thread, if the system provides it, so that other load on the machine has no effect.
fn processor_time() -> Duration {
    static BEGIN: LazyLock<Instant> = LazyLock::new(Instant::now);
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let ns = told.and_then(|text| text.split(' ').next()?.parse().ok());
    ns.map_or_else(|| BEGIN.elapsed(), Duration::from_nanos)
}

fn measure_kernel(width: usize, events: &[Event]) -> (Duration, Tally) {
    let mut kernel = Chain::new(3, width);
    events[..filled(width)].iter().for_each(|event| kernel.push(*event, &mut Tally::default()));
    measured_kernel(&mut kernel, &events[filled(width)..])
}

/// Not inlined, so that a profiler can distinguish the measurement from filling the windows.
#[inline(never)]
fn measured_kernel(kernel: &mut Chain, events: &[Event]) -> (Duration, Tally) {
    let (start, mut tally) = (processor_time(), Tally::default());
    events.iter().for_each(|event| kernel.push(*event, &mut tally));
    (processor_time() - start, tally)
}

/// CPU time, results, and the evaluation time by the injected clock, if there is one.
fn measure_engine(width: usize, events: &[Event], clock: Option<fn() -> u64>) -> (Duration, Tally, Duration) {
    let mut running = Running::new(width, clock);
    let (first, last) = (running.numbers[0].to_bits(), running.numbers[width - 1].to_bits());
    assert_eq!(last - first, width as u64 - 1, "numbers are in their ids");
    running.run(&events[..filled(width)], &mut Tally::default());
    let evaluated = |running: &Running| running.engine.evaluation_times().map(|(_, time)| time).sum::<Duration>();
    let before = evaluated(&running);
    let (spent, tally) = running.measured(&events[filled(width)..]);
    (spent, tally, evaluated(&running) - before)
}

/// Runs one runner alone.
fn run_alone(runner: &str, width: usize, events: &[Event], ns: impl Fn(Duration) -> f64) {
    let (spent, tally) = match runner {
        "kernel" => measure_kernel(width, events),
        "engine" => {
            let (spent, tally, _) = measure_engine(width, events, None);
            (spent, tally)
        }
        _ => panic!("WHORL_RUNNER is kernel or engine"),
    };
    println!("join3 W={width}: {runner} {:.0} ns/event, {} results", ns(spent), tally.results);
}

fn main() {
    let (measured, rounds, only) =
        (setting("WHORL_EVENTS", 600_000), setting("WHORL_ROUNDS", 7), setting("WHORL_WIDTH", 0));
    let runner = std::env::var("WHORL_RUNNER").ok();
    let ns = |time: Duration| time.as_secs_f64() * 1e9 / measured as f64;
    for width in [1_000, 10_000, 100_000, 1_000_000].into_iter().filter(|width| only == 0 || only == *width) {
        let events = events(width, measured);
        if let Some(runner) = &runner {
            run_alone(runner, width, &events, ns);
            continue;
        }
        let (mut pairs, mut clocked) = (Vec::new(), Vec::new());
        for round in 0..rounds {
            let (kernel, expected) = measure_kernel(width, &events);
            let with_clock = || measure_engine(width, &events, Some(now_ns));
            // The runners take turns in going first, because the second one runs on a warmer machine.
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
