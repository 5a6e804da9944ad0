//! What one event costs in the operators above the join, as more is kept below them.
//!
//! Plain rows and aggregates over 1,000 groups as the window grows; NOT EXISTS, MINUS and OPTIONAL as the rows of a key
//! grow in a window of fixed size; the longest push of a window that steps. Figures are processor time per event, the median of several rounds, and the ratio to the first of the line.
//! `LINE` chooses lines by a part of their name, `MOST` bounds the sizes.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::sync::LazyLock;
use std::time::{Duration, Instant};
use whorl_engine::rdf::{Literal, NamedNode, Term};
use whorl_engine::{Engine, EngineOptions, ParseOptions, QueryId, StreamId, TermId, Timestamp};

const GROUPS: usize = 1_000;
/// More values than the largest window has events: a copy would only renew what is there.
const VALUES: usize = 2_000_003;

fn setting(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// Events of 1 ms each; subjects and values drawn at random, values without copies in a window.
struct Source {
    stream: StreamId,
    subjects: Vec<TermId>,
    predicates: [TermId; 2],
    values: Vec<TermId>,
    at: usize,
    state: u64,
}

impl Source {
    fn new(engine: &mut Engine, subjects: usize) -> Self {
        let node = |name: String| Term::from(NamedNode::new_unchecked(format!("http://ex/{name}")));
        Self {
            stream: engine.stream_id("http://ex/s").expect("declared by the query"),
            subjects: (0..subjects).map(|n| engine.pin(&node(format!("s{n}")))).collect(),
            predicates: ["p", "q"].map(|name| engine.pin(&node(name.to_owned()))),
            // 7,919 and the number of values have no common divisor: neighbours in time are far apart in value.
            values: (0..VALUES).map(|n| engine.pin(&Literal::from((n * 7_919 % VALUES) as i64).into())).collect(),
            at: 0,
            state: 7,
        }
    }

    fn push(&mut self, engine: &mut Engine, predicate: usize) {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        let subject = self.subjects[(self.state >> 20) as usize % self.subjects.len()];
        self.at += 1;
        let triple = [subject, self.predicates[predicate], self.values[self.at % VALUES]];
        engine.push_encoded(self.stream, Timestamp::from_millis(self.at as i64), &[triple]);
    }
}

/// An engine with one query, and its source of events.
fn running(query: &str, subjects: usize) -> (Engine, QueryId, Source) {
    let mut engine = Engine::new(EngineOptions::default());
    let id = engine.register(&format!("PREFIX : <http://ex/> {query}"), &ParseOptions::default()).expect("a query");
    let source = Source::new(&mut engine, subjects);
    (engine, id, source)
}

/// Pushes events and takes their results; `predicates` of them in turn.
fn push(engine: &mut Engine, query: QueryId, source: &mut Source, events: usize, predicates: usize) -> usize {
    let mut results = 0;
    for n in 0..events {
        source.push(engine, n % predicates);
        if n % 64 == 0 {
            results += engine.drain(query).expect("it runs").len();
        }
    }
    results + engine.drain(query).expect("it runs").len()
}

/// Time per event with a full window.
fn per_event(query: &str, subjects: usize, window: usize, predicates: usize) -> Duration {
    let (mut engine, id, mut source) = running(query, subjects);
    push(&mut engine, id, &mut source, window + window / 8, predicates);
    let events = setting("EVENTS", 50_000);
    let rounds = (0..setting("ROUNDS", 5)).map(|_| {
        let start = processor_time();
        let results = push(&mut engine, id, &mut source, events, predicates);
        // The least of many values changes rarely, and where every key has witnesses there is nothing to say.
        assert!(results > 0 || predicates > 1, "events are answered");
        (processor_time() - start) / events as u32
    });
    median(rounds.collect())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn line(name: &str, sizes: &[usize], measure: impl Fn(usize) -> Duration) {
    if !name.contains(&std::env::var("LINE").unwrap_or_default()) {
        return;
    }
    let mut first = None;
    for size in sizes.iter().filter(|size| **size <= setting("MOST", usize::MAX)) {
        let time = measure(*size);
        let ratio = time.as_secs_f64() / first.get_or_insert(time).as_secs_f64();
        println!("{name}, {size}: {:.3} µs, {ratio:.2} × the first", time.as_secs_f64() * 1e6);
    }
}

fn aggregate(name: &str) {
    let text = |window: usize| {
        format!("SELECT ?g ({name} AS ?x) WHERE {{ STREAM :s [RANGE {window}ms] {{ ?g :p ?v }} }} GROUP BY ?g")
    };
    line(name, &[10_000, 100_000, 1_000_000], |window| per_event(&text(window), GROUPS, window, 1));
}

/// Two predicates in turn; a key has as many rows of each as the size says.
fn negation(name: &str, left_over: &str) {
    const WINDOW: usize = 200_000;
    let text = format!("SELECT ?k ?v WHERE {{ STREAM :s [RANGE {WINDOW}ms] {{ ?k :p ?v {left_over} }} }}");
    line(name, &[1, 10, 100, 1_000, 10_000, 100_000], |rows| per_event(&text, WINDOW / 2 / rows, WINDOW, 2));
}

/// OPTIONAL makes a row for each pair: one right row for each key, which stays, and as many left rows as the size says.
fn optional() {
    const WINDOW: usize = 100_000;
    let text = format!(
        "SELECT ?k ?v ?w WHERE {{ STREAM :s [RANGE {WINDOW}ms] {{ ?k :p ?v }}
         OPTIONAL {{ STREAM :s [RANGE 1000000000ms] {{ ?k :q ?w }} }} }}"
    );
    line("OPTIONAL", &[1, 10, 100, 1_000, 10_000, 100_000], |rows| {
        let (mut engine, id, mut source) = running(&text, (WINDOW / rows).max(1));
        for subject in source.subjects.clone() {
            source.at += 1;
            let triple = [subject, source.predicates[1], source.values[0]];
            engine.push_encoded(source.stream, Timestamp::from_millis(source.at as i64), &[triple]);
        }
        push(&mut engine, id, &mut source, WINDOW + WINDOW / 8, 1);
        let events = setting("EVENTS", 50_000);
        let rounds = (0..setting("ROUNDS", 5)).map(|_| {
            let start = processor_time();
            push(&mut engine, id, &mut source, events, 1);
            (processor_time() - start) / events as u32
        });
        median(rounds.collect())
    });
}

/// The longest push of a window of so many events that closes all of them at once, or a tenth.
fn closing(name: &str, step: usize) {
    line(name, &[10_000, 100_000, 1_000_000], |window| {
        let text = format!(
            "SELECT ?g (SUM(?v) AS ?x) FROM NAMED WINDOW :w ON :s [RANGE {window}ms STEP {}ms]
             WHERE {{ WINDOW :w {{ ?g :p ?v }} }} GROUP BY ?g",
            window / step
        );
        let (mut engine, id, mut source) = running(&text, GROUPS);
        let mut longest = Duration::ZERO;
        for _ in 0..2 * window + 2 {
            let start = processor_time();
            source.push(&mut engine, 0);
            longest = longest.max(processor_time() - start);
        }
        assert!(!engine.drain(id).expect("it runs").is_empty(), "the window closed");
        longest
    });
}

/// How long this thread has been on a processor, where the system tells: a busy machine must not show.
fn processor_time() -> Duration {
    static BEGIN: LazyLock<Instant> = LazyLock::new(Instant::now);
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let ns = told.and_then(|text| text.split(' ').next()?.parse().ok());
    ns.map_or_else(|| BEGIN.elapsed(), Duration::from_nanos)
}

fn main() {
    let plain = |window: usize| format!("SELECT ?g ?v WHERE {{ STREAM :s [RANGE {window}ms] {{ ?g :p ?v }} }}");
    line("plain rows", &[10_000, 100_000, 1_000_000], |window| per_event(&plain(window), GROUPS, window, 1));
    for name in ["COUNT(?v)", "SUM(?v)", "AVG(?v)", "MIN(?v)", "MAX(?v)", "MEDIAN(?v)"] {
        aggregate(name);
    }
    aggregate("PERCENTILE(?v, 0.95)");
    aggregate("COUNT(DISTINCT ?v)");
    negation("NOT EXISTS", "FILTER NOT EXISTS { ?k :q ?w }");
    negation("MINUS", "MINUS { ?k :q ?w }");
    optional();
    closing("closing a tumbling window, longest push", 1);
    closing("a step of a tenth, longest push", 10);
}
