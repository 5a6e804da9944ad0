//! The cost of one event in the operators above the join, as the state below them grows.
//!
//! Plain rows and aggregates over 1,000 groups as the window grows; NOT EXISTS, MINUS and OPTIONAL as the rows per key
//! grow in a window of fixed size; the longest push into a stepping window. Figures are CPU time per event, the median
//! of several rounds, and the ratio to the first figure of the line. `LINE` selects lines by a part of their name,
//! `MOST` limits the sizes.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::sync::LazyLock;
use std::time::{Duration, Instant};
use whorl_engine::rdf::{Literal, NamedNode, Term};
use whorl_engine::{Engine, EngineOptions, ParseOptions, QueryId, StreamId, TermId, Timestamp};

const GROUPS: usize = 1_000;
/// More values than the largest window has events, because a copy would only renew an existing mapping.
const VALUES: usize = 2_000_003;

fn setting(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// Events at intervals of 1 ms; random subjects and values, with no value twice in a window.
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
            // 7,919 and the number of values are coprime: consecutive events have distant values.
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

/// Pushes events and drains their results; the events use `predicates` in rotation.
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
        // The minimum of many values changes rarely, and if every key has witnesses there is nothing to report.
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

/// Two predicates in rotation; the size is the number of rows of each per key.
fn negation(name: &str, left_over: &str) {
    const WINDOW: usize = 200_000;
    let text = format!("SELECT ?k ?v WHERE {{ STREAM :s [RANGE {WINDOW}ms] {{ ?k :p ?v {left_over} }} }}");
    line(name, &[1, 10, 100, 1_000, 10_000, 100_000], |rows| per_event(&text, WINDOW / 2 / rows, WINDOW, 2));
}

/// OPTIONAL creates a row per pair: one permanent right row per key, and as many left rows as the size.
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

/// The longest push in a window of this many events, all or a tenth of which a close removes. The first window, in
/// which structures grow, is not counted.
fn closing(name: &str, step: usize) {
    line(name, &[10_000, 100_000, 1_000_000], |window| {
        let text = format!(
            "SELECT ?g (SUM(?v) AS ?x) FROM NAMED WINDOW :w ON :s [RANGE {window}ms STEP {}ms]
             WHERE {{ WINDOW :w {{ ?g :p ?v }} }} GROUP BY ?g",
            window / step
        );
        let (mut engine, id, mut source) = running(&text, GROUPS);
        // Other processes delay some pushes, so the best time at each position of the window counts.
        let mut best = vec![Duration::MAX; window];
        for round in 0..4 {
            for place in &mut best {
                let start = Instant::now();
                source.push(&mut engine, 0);
                if round > 0 {
                    *place = start.elapsed().min(*place);
                }
            }
        }
        let longest = best.into_iter().max().unwrap_or_default();
        assert!(!engine.drain(id).expect("it runs").is_empty(), "the window closed");
        longest
    });
}

/// Two stars over one stream whose only link is a comparison of two numbers.
fn compared_stars() {
    line("two stars joined by <", &[1_000, 10_000, 100_000], |window| {
        let text = format!(
            "SELECT ?a ?b WHERE {{
               STREAM :s [RANGE {window}ms] {{ ?a :low ?x ; :p ?v }} STREAM :t [RANGE {window}ms] {{ ?b :high ?y ; :q ?w }}
               FILTER(?x > ?y) }}"
        );
        let mut engine = Engine::new(EngineOptions::default());
        let text = format!("PREFIX : <http://ex/> {text}");
        let id = engine.register(&text, &ParseOptions::default()).expect("a query");
        let node = |name: String| Term::from(NamedNode::new_unchecked(format!("http://ex/{name}")));
        let streams = ["s", "t"].map(|name| engine.stream_id(&format!("http://ex/{name}")).expect("it is declared"));
        let predicates = ["low", "p", "high", "q"].map(|name| engine.pin(&node(name.to_owned())));
        let subjects: Vec<TermId> = (0..2 * window).map(|n| engine.pin(&node(format!("s{n}")))).collect();
        let numbers: Vec<TermId> = (0..2_000_000).map(|n| engine.pin(&Literal::from(n as i64).into())).collect();
        let mut at = 0;
        let mut push = |engine: &mut Engine, events: usize| {
            for _ in 0..events {
                at += 1;
                let (side, subject) = (at % 2, subjects[at % subjects.len()]);
                // The numbers of the two sides overlap only at their ends, so that a star matches about one other.
                let overlap = (2_000_000.0 / (window as f64).sqrt()) as usize;
                let number = numbers[at * 7_919 % 1_000_000 + side * (1_000_000 - overlap)];
                let [first, second] = [predicates[2 * side], predicates[2 * side + 1]];
                let star = [[subject, first, number], [subject, second, subject]];
                engine.push_encoded(streams[side], Timestamp::from_millis(at as i64), &star);
                if at % 64 == 0 {
                    engine.drain(id).expect("it runs");
                }
            }
        };
        push(&mut engine, window + window / 8);
        let events = setting("EVENTS", 50_000).min(200_000_000 / window);
        let rounds = (0..setting("ROUNDS", 5)).map(|_| {
            let start = processor_time();
            push(&mut engine, events);
            (processor_time() - start) / events as u32
        });
        median(rounds.collect())
    });
}

/// Taxi trips as in the DEBS 2015 challenge, three per second, concentrated in moving hot cells.
struct Trips {
    stream: StreamId,
    trips: Vec<TermId>,
    taxis: Vec<TermId>,
    predicates: Vec<TermId>,
    at: usize,
    state: u64,
}

impl Trips {
    const PREDICATES: [&str; 9] =
        ["taxi", "pickupTime", "dropoffTime", "pickLon", "pickLat", "dropLon", "dropLat", "fare", "tip"];

    fn new(engine: &mut Engine) -> Self {
        let node = |name: String| Term::from(NamedNode::new_unchecked(format!("http://example.org/debs2015/{name}")));
        Self {
            stream: engine.stream_id("http://example.org/debs2015/trips").expect("declared by the query"),
            trips: (0..20_000).map(|n| engine.pin(&node(format!("trip/{n}")))).collect(),
            taxis: (0..8_000).map(|n| engine.pin(&Literal::from(format!("{n:032X}")).into())).collect(),
            predicates: Self::PREDICATES.map(|name| engine.pin(&node(name.to_owned()))).into(),
            at: 0,
            state: 7,
        }
    }

    fn draw(&mut self, below: u64) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state >> 20) % below
    }

    fn push(&mut self, engine: &mut Engine) {
        self.at += 1;
        let ms = self.at as i64 * 333;
        // The product of two draws is small more often than large.
        let mut place = |low: u64| low + self.draw(1_000) * self.draw(180);
        let [lon, lat, to_lon, to_lat] = [73_850_000, 40_600_000, 73_850_000, 40_600_000].map(&mut place);
        let typed = |text: String, datatype: &str| {
            let datatype = NamedNode::new_unchecked(format!("http://www.w3.org/2001/XMLSchema#{datatype}"));
            Term::from(Literal::new_typed_literal(text, datatype))
        };
        let degrees =
            |sign: &str, n: u64| typed(format!("{sign}{}.{:06}", n / 1_000_000, (n % 1_000_000) | 1), "decimal");
        let time = |ms: i64| {
            let (minutes, seconds) = (ms / 60_000, ms / 1_000 % 60);
            typed(
                format!(
                    "2013-01-{:02}T{:02}:{:02}:{seconds:02}Z",
                    1 + minutes / 1_440,
                    minutes / 60 % 24,
                    minutes % 60
                ),
                "dateTime",
            )
        };
        let length = self.draw(1_200_000) as i64;
        let (fare, tip) = (self.draw(60) + 3, self.draw(10));
        let terms = [
            time((ms - length).max(0)),
            time(ms),
            degrees("-", lon),
            degrees("", lat),
            degrees("-", to_lon),
            degrees("", to_lat),
            typed(format!("{fare}.5"), "decimal"),
            typed(format!("{tip}.25"), "decimal"),
        ];
        let taxi = self.draw(self.taxis.len() as u64) as usize;
        let values = [self.taxis[taxi]].into_iter().chain(terms.map(|term| engine.pin(&term)));
        let trip = self.trips[self.at % self.trips.len()];
        let triples: Vec<_> = self.predicates.iter().zip(values).map(|(name, value)| [trip, *name, value]).collect();
        engine.push_encoded(self.stream, Timestamp::from_millis(ms), &triples);
    }
}

/// The challenge's queries with full windows of 30 minutes, per trip; the size is the number of trips in a window.
fn debs(name: &str, text: &str) {
    line(name, &[5_400], |window| {
        let mut engine = Engine::new(EngineOptions::default());
        let id = engine.register(text, &ParseOptions::default()).expect("a query");
        let mut trips = Trips::new(&mut engine);
        let mut push = |engine: &mut Engine, events: usize| {
            for _ in 0..events {
                trips.push(engine);
                engine.drain(id).expect("it runs");
            }
        };
        push(&mut engine, window + window / 8);
        let events = setting("EVENTS", 50_000).min(10_000);
        let rounds = (0..setting("ROUNDS", 5)).map(|_| {
            let start = processor_time();
            push(&mut engine, events);
            (processor_time() - start) / events as u32
        });
        median(rounds.collect())
    });
}

/// The CPU time of this thread, if the system provides it, so that other load on the machine has no effect.
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
    compared_stars();
    closing("closing a tumbling window, longest push", 1);
    closing("a step of a tenth, longest push", 10);
    debs("DEBS Q1", include_str!("../../examples/debs2015/q1.cqels"));
    debs("DEBS Q2", include_str!("../../examples/debs2015/q2.cqels"));
}
