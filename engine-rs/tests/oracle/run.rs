//! One scenario through the engine, with some options, and through the twin.

use crate::naive::{Naive, Report, term_text};
use crate::scenario::{Beside, Event, PREFIXES, Scenario, Step};
use crate::solve::Bag;
use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};
use whorl_engine::rdf::{Term, Triple};
use whorl_engine::{
    Answered, Engine, EngineError, EngineOptions, EventBatch, ParseOptions, Probing, PushOptions, QueryId, RdfFormat,
    Retraction, Rows, Skipped, Span, StreamOptions, Thresholds, Timestamp, parse_query, parse_rdf,
};

pub enum Outcome {
    Same {
        reports: usize,
    },
    /// The engine refuses the query as not supported.
    Refused,
    /// The twin has exceeded the time limit of a long campaign.
    GivenUp,
    Different(String),
}

/// The engine of a scenario, the queries that are compared, and neighbours that are registered and removed.
struct Subject {
    engine: Engine,
    query: QueryId,
    neighbours: VecDeque<QueryId>,
    offset: i64,
}

impl Subject {
    fn new(scenario: &Scenario, options: EngineOptions) -> Result<Self, EngineError> {
        let mut engine = prepared(scenario, options);
        let query = engine.register(&query_text(&scenario.query), &shifted(&scenario.options, scenario.offset))?;
        Ok(Self { engine, query, neighbours: VecDeque::new(), offset: scenario.offset })
    }

    fn step(&mut self, step: &Step, restored: impl Fn(EngineOptions) -> EngineOptions) {
        let at = |ms: i64| Timestamp::from_millis(ms + self.offset);
        match step {
            Step::Event(event) => {
                self.engine.push_triples(event.stream, at(event.at), &triples(&event.turtle)).expect("an event");
            }
            Step::Batch(events) => {
                let batch = event_batch(events, at);
                let all = 0..batch.len();
                self.engine.push_batch(events[0].stream, &batch, all, &PushOptions::default()).expect("a batch");
            }
            Step::Static { triple, comes } => {
                let form = if *comes { "INSERT" } else { "DELETE" };
                self.engine.update(&format!("{PREFIXES} {form} DATA {{ {triple} }}"), None).expect("an update");
            }
            Step::Watermark(ms) => self.engine.advance_to(at(*ms)).expect("a watermark"),
            Step::Close => self.engine.close(),
            Step::Sweep => self.engine.release_terms(),
            Step::Restore(options) => {
                self.engine = Engine::restore(&self.engine.snapshot(), restored(**options)).expect("a snapshot");
            }
            // A neighbour that the planner refuses is not registered.
            Step::Join(beside) => {
                let joined = self.engine.register(&query_text(&beside.query), &shifted(&beside.options, self.offset));
                self.neighbours.extend(joined);
            }
            Step::Leave => {
                if let Some(neighbour) = self.neighbours.pop_front() {
                    self.engine.unregister(neighbour).expect("it is there");
                }
            }
        }
    }

    /// Drains the neighbours, because undrained results hold their terms. None of them may fail.
    fn hear_neighbours(&mut self) {
        for neighbour in &self.neighbours {
            if let Err(error) = self.engine.drain(*neighbour) {
                assert_eq!(error.code(), "query.too_costly", "a neighbour has broken: {error}");
            }
        }
    }

    /// Whether a query has stopped because of its cost.
    fn has_stopped(&mut self, query: QueryId) -> bool {
        self.engine.drain(query).is_err_and(|error| error.code() == "query.too_costly")
    }
}

/// A query and its twin.
struct Pair {
    query: QueryId,
    naive: Naive,
    has_stopped: bool,
}

impl Pair {
    fn new(scenario: &Scenario, text: &str, options: &ParseOptions, query: QueryId) -> Self {
        let definition = match parse_query(&query_text(text), options) {
            Ok(definition) => definition,
            Err(error) => panic!("the generator writes what parses: {error}\n{text}"),
        };
        let naive = Naive::new(definition, triples(&scenario.statics), &scenario.lateness);
        Self { query, naive, has_stopped: false }
    }

    /// Compares the output of both after a step; returns the number of reports, or the difference.
    fn compare(&mut self, step: &Step, subject: &mut Subject) -> Result<usize, String> {
        naive_step(&mut self.naive, step);
        let (got, stretches) = drained(subject, self.query);
        let expected = shortened(self.naive.reports.split_off(0), &stretches, subject.offset);
        // A query that costs too much is compared until it stops.
        self.has_stopped = self.has_stopped || got.len() < expected.len() && subject.has_stopped(self.query);
        let is_right = if self.has_stopped { expected.starts_with(&got) } else { got == expected };
        if is_right { Ok(got.len()) } else { Err(difference(step, &got, &expected, subject, self.query)) }
    }
}

fn event_batch(events: &[Event], at: impl Fn(i64) -> Timestamp) -> EventBatch {
    let mut batch = EventBatch::new();
    for (index, event) in (0..).zip(events) {
        batch.begin(Some(at(event.at)), index);
        for Triple { subject, predicate, object } in triples(&event.turtle) {
            let encoded = [subject.into(), predicate.into(), object].map(|term: Term| batch.term(&term));
            batch.push(encoded);
        }
    }
    batch
}

fn query_text(query: &str) -> String {
    format!("{PREFIXES}{query}")
}

/// The options with windows counted from the offset, whereas the twin counts from zero.
fn shifted(options: &ParseOptions, offset: i64) -> ParseOptions {
    let t0 = options.t0.map_or(0, Timestamp::as_millis) + offset;
    ParseOptions { t0: Some(Timestamp::from_millis(t0)), ..options.clone() }
}

/// Compares after every step, until the end or until the time limit of the pair.
pub fn compare(scenario: &Scenario, limit: Duration) -> Outcome {
    let began = Instant::now();
    let mut subject = match Subject::new(scenario, scenario.working) {
        Ok(subject) => subject,
        // With tight limits, its static part may be too costly.
        Err(EngineError::Plan(_) | EngineError::FailedAtStart { code: "query.too_costly", .. }) => {
            return Outcome::Refused;
        }
        Err(error) => panic!("{error}\n{}", scenario.query),
    };
    let mut pairs = vec![Pair::new(scenario, &scenario.query, &scenario.options, subject.query)];
    for Beside { query: text, options } in &scenario.others {
        if let Ok(query) = subject.engine.register(&query_text(text), &shifted(options, scenario.offset)) {
            pairs.push(Pair::new(scenario, text, options, query));
        }
    }
    let mut reports = 0;
    for step in &scenario.steps {
        subject.step(step, |options| options);
        subject.hear_neighbours();
        for pair in &mut pairs {
            match pair.compare(step, &mut subject) {
                Ok(compared) => reports += compared,
                Err(text) => return Outcome::Different(text),
            }
        }
        if began.elapsed() > limit {
            return Outcome::GivenUp;
        }
    }
    Outcome::Same { reports }
}

fn difference(step: &Step, got: &[Report], expected: &[Report], subject: &mut Subject, query: QueryId) -> String {
    let lines = |reports: &[Report]| reports.iter().map(|r| format!("{r:?}")).collect::<Vec<_>>().join("\n");
    let failure = subject.engine.drain(query).err();
    let plan = subject.engine.explain(query).unwrap_or_default();
    format!("{query:?} after {step:?}\nengine {failure:?}\n{}\ntwin\n{}\nplan\n{plan}", lines(got), lines(expected))
}

fn prepared(scenario: &Scenario, options: EngineOptions) -> Engine {
    let mut engine = Engine::new(options);
    for stream in ["http://ex/s", "http://ex/s2"] {
        let lateness = scenario.lateness.get(stream).map(|ms| Span::from_millis(*ms));
        engine.declare_stream(stream, StreamOptions { lateness, ..StreamOptions::default() }).expect("a stream");
    }
    engine.load(None, format!("{PREFIXES}{}", scenario.statics).as_bytes(), RdfFormat::Turtle).expect("static data");
    engine
}

thread_local! {
    /// Each text is read several times: for the engine, for each query's twin, and again while a scenario is reduced.
    static READ: RefCell<HashMap<String, Vec<Triple>>> = RefCell::default();
}

/// The number of cached texts.
const READ_MAX: usize = 4096;

fn triples(turtle: &str) -> Vec<Triple> {
    READ.with_borrow_mut(|read| {
        if let Some(triples) = read.get(turtle) {
            return triples.clone();
        }
        if read.len() >= READ_MAX {
            read.clear();
        }
        read.entry(turtle.to_owned()).or_insert(parsed(turtle)).clone()
    })
}

fn parsed(turtle: &str) -> Vec<Triple> {
    let quads = parse_rdf(format!("{PREFIXES}{turtle}").as_bytes(), RdfFormat::Turtle, None).expect("Turtle");
    let mut triples: Vec<Triple> = Vec::new();
    for quad in quads {
        let triple = Triple::new(quad.subject, quad.predicate, quad.object);
        if !triples.contains(&triple) {
            triples.push(triple);
        }
    }
    triples
}

fn naive_step(naive: &mut Naive, step: &Step) {
    match step {
        Step::Event(event) => naive.push(event.stream, event.at, triples(&event.turtle)),
        Step::Batch(events) => events.iter().for_each(|e| naive.push(e.stream, e.at, triples(&e.turtle))),
        Step::Static { triple, comes } => triples(triple).into_iter().for_each(|t| naive.set_static(t, *comes)),
        Step::Watermark(at) => naive.advance(*at),
        Step::Close => naive.advance(i64::MAX),
        Step::Restore(_) | Step::Join(_) | Step::Leave | Step::Sweep => {}
    }
}

/// The output of the twin, with each stretch that the engine has reported as one reduced to its last report, if it is
/// long enough and uniform.
fn shortened(mut reports: Vec<Report>, stretches: &[Skipped], offset: i64) -> Vec<Report> {
    for Skipped { from, to, windows } in stretches {
        let ends = (from.as_millis() - offset, to.as_millis() - offset);
        let is_it = |said: &[Report]| {
            let is_same = said.iter().all(|report| report.inserted == said[0].inserted);
            is_same && (said[0].at, said[said.len() - 1].at) == ends
        };
        if let Some(start) = reports.windows(*windows as usize).position(is_it) {
            reports.drain(start..start + *windows as usize - 1);
        }
    }
    reports
}

fn drained(subject: &mut Subject, query: QueryId) -> (Vec<Report>, Vec<Skipped>) {
    let Subject { engine, offset, .. } = subject;
    let results = engine.drain(query).unwrap_or_default();
    let bag = |rows: &Rows| {
        let mut bag = Bag::default();
        for row in rows.iter() {
            bag.add(
                row.iter()
                    .map(|id| if id.is_bound() { term_text(&engine.dictionary().term(*id)) } else { "_".to_owned() })
                    .collect(),
            );
        }
        bag
    };
    let report = |result: &whorl_engine::QueryResult| match &result.answer {
        Answered::Bindings { inserted, deleted } => {
            Report { at: result.at.as_millis() - *offset, inserted: bag(inserted), deleted: bag(deleted) }
        }
        other => panic!("SELECT gives bindings, not {other:?}"),
    };
    (results.iter().map(report).collect(), results.iter().filter_map(|result| result.skipped).collect())
}

/// Other options, with the number of steps between two drains.
pub fn ways() -> Vec<(&'static str, EngineOptions, usize)> {
    let base = EngineOptions::default();
    vec![
        ("batches of 7", base, 7),
        ("batches of 64", base, 64),
        ("batches of 1000", base, 1000),
        ("results kept as trees", EngineOptions { retraction: Retraction::Tree, ..base }, 1),
        ("results found again by probing", EngineOptions { retraction: Retraction::Probe, ..base }, 1),
        ("a fixed probing order", EngineOptions { probing: Probing::Fixed(3), ..base }, 1),
        (
            "another fixed probing order",
            EngineOptions { probing: Probing::Fixed(8), retraction: Retraction::Tree, ..base },
            7,
        ),
        ("no sharing", EngineOptions { sharing: false, ..base }, 1),
        ("tiny thresholds", EngineOptions { thresholds: Thresholds::tiny(), ..base }, 1),
        (
            "tiny thresholds and trees",
            EngineOptions { thresholds: Thresholds::tiny(), retraction: Retraction::Tree, ..base },
            7,
        ),
        ("another hash seed", EngineOptions { hash_seed: 99, ..base }, 64),
    ]
}

/// The bytes of all results, drained every `batch` steps, beside a second query that reads the same.
pub fn engine_reports(scenario: &Scenario, options: EngineOptions, batch: usize) -> Option<Vec<Vec<u8>>> {
    let mut subject = Subject::new(scenario, options).ok()?;
    if options.hash_seed != EngineOptions::default().hash_seed || !options.sharing {
        subject.engine.register(&query_text(&scenario.query), &shifted(&scenario.options, scenario.offset)).ok()?;
        let beside = "SELECT ?a FROM NAMED WINDOW :z ON :s [RANGE 3ms] WHERE { WINDOW :z { ?a :p ?b } }";
        subject.engine.register(&format!("{PREFIXES}{beside}"), &ParseOptions::default()).ok()?;
    }
    let mut envelopes = Vec::new();
    for steps in scenario.steps.chunks(batch) {
        steps.iter().for_each(|step| subject.step(step, |_| options));
        envelopes.extend(subject.engine.drain_json(subject.query, "q").expect("results"));
    }
    Some(envelopes)
}
