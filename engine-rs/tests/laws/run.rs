//! Scenarios through the engine, and the loop over generated cases.

use crate::random::Random;
use crate::scenario::{Event, PREFIXES, Scenario, Step};
use std::collections::BTreeMap;
use whorl_engine::{
    Answered, ContinuousQuery, Engine, EngineOptions, QueryId, RdfFormat, Rows, Span, StreamOptions, Tick, Timestamp,
    WindowKind, parse_query,
};

pub type Bag = BTreeMap<String, i64>;

/// One report as text: its instant, the extents of its windows, additions and removals.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Seen {
    pub at: i64,
    pub windows: Vec<(i64, i64)>,
    pub inserted: Bag,
    pub deleted: Bag,
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// Runs a law on generated scenarios until enough of them meet its conditions; half of them must compare something.
///
/// The law returns `None` if a scenario does not meet its conditions, otherwise the number of compared reports.
pub fn hold(law: u64, mut check: impl FnMut(&Scenario, &mut Random) -> Option<usize>) {
    let (cases, mut seed) = (setting("WHORL_LAW_CASES", 500), setting("WHORL_SEED", 1) + law * 1_000_000_000);
    let (mut met, mut telling) = (0, 0);
    while met < cases {
        seed += 1;
        let scenario = Scenario::quiet(seed);
        let outcome =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check(&scenario, &mut Random::new(!seed))));
        match outcome {
            Ok(None) => {}
            Ok(Some(reports)) => {
                met += 1;
                telling += u64::from(reports > 0);
            }
            Err(_) => panic!("law {law} does not hold for seed {seed}:\n{}", scenario.describe()),
        }
    }
    assert!(telling * 2 > cases, "law {law}: only {telling} of {cases} cases had a report");
}

pub fn text(scenario: &Scenario) -> String {
    format!("{PREFIXES}{}", scenario.query)
}

pub fn definition(scenario: &Scenario) -> ContinuousQuery {
    parse_query(&text(scenario), &scenario.options).expect("the generator writes what parses")
}

/// Streams and static data, without queries.
pub fn prepared(scenario: &Scenario, options: EngineOptions) -> Engine {
    let mut engine = Engine::new(options);
    for stream in ["http://ex/s", "http://ex/s2"] {
        let lateness = scenario.lateness.get(stream).map(|ms| Span::from_millis(*ms));
        engine.declare_stream(stream, StreamOptions { lateness, ..StreamOptions::default() }).expect("a stream");
    }
    engine.load(None, format!("{PREFIXES}{}", scenario.statics).as_bytes(), RdfFormat::Turtle).expect("static data");
    engine
}

/// An engine with the query of the scenario, unless the query is not supported.
pub fn started(scenario: &Scenario, options: EngineOptions) -> Option<(Engine, QueryId)> {
    let mut engine = prepared(scenario, options);
    let query = engine.register(&text(scenario), &scenario.options).ok()?;
    Some((engine, query))
}

pub fn step(engine: &mut Engine, step: &Step) {
    match step {
        Step::Event(Event { stream, at, turtle }) => {
            let rdf = format!("{PREFIXES}{turtle}");
            engine
                .push(stream, Some(Timestamp::from_millis(*at)), rdf.as_bytes(), RdfFormat::Turtle)
                .expect("an event");
        }
        Step::Watermark(at) => engine.advance_to(Timestamp::from_millis(*at)).expect("a watermark"),
        Step::Close => engine.close(),
        other => panic!("laws look at quiet streams, without {other:?}"),
    }
}

pub fn json(engine: &mut Engine, query: QueryId) -> Vec<String> {
    let envelopes = engine.drain_json(query, "q").expect("results");
    envelopes.into_iter().map(|bytes| String::from_utf8(bytes).expect("JSON is UTF-8")).collect()
}

/// All results as envelopes, drained after every step.
pub fn envelopes(scenario: &Scenario, options: EngineOptions) -> Option<Vec<String>> {
    let (mut engine, query) = started(scenario, options)?;
    let mut all = Vec::new();
    for one in &scenario.steps {
        step(&mut engine, one);
        all.extend(json(&mut engine, query));
    }
    Some(all)
}

/// All results drained separately.
pub fn reports(scenario: &Scenario) -> Option<Vec<Seen>> {
    let (mut engine, query) = started(scenario, EngineOptions::default())?;
    let mut all = Vec::new();
    for one in &scenario.steps {
        step(&mut engine, one);
        all.extend(drained(&mut engine, query));
    }
    Some(all)
}

pub fn drained(engine: &mut Engine, query: QueryId) -> Vec<Seen> {
    let results = engine.drain(query).expect("results");
    let bag = |rows: &Rows| {
        let mut bag = Bag::new();
        for row in rows.iter() {
            let term = |id: &whorl_engine::TermId| {
                if id.is_bound() { engine.dictionary().term(*id).to_string() } else { "_".to_owned() }
            };
            *bag.entry(row.iter().map(term).collect::<Vec<_>>().join(" ")).or_insert(0) += 1;
        }
        bag
    };
    let one = |result: &whorl_engine::QueryResult| {
        let Answered::Bindings { inserted, deleted } = &result.answer else { panic!("SELECT gives bindings") };
        Seen {
            at: result.at.as_millis(),
            windows: result.windows.iter().map(|w| (w.open.as_millis(), w.close.as_millis())).collect(),
            inserted: bag(inserted),
            deleted: bag(deleted),
        }
    };
    results.iter().map(one).collect()
}

/// The bag difference.
pub fn minus(left: &Bag, right: &Bag) -> Bag {
    let rest = left.iter().map(|(row, n)| (row.clone(), n - right.get(row).copied().unwrap_or(0)));
    rest.filter(|(_, n)| *n > 0).collect()
}

pub fn is_by_count(kind: &WindowKind) -> bool {
    matches!(kind, WindowKind::Elements { .. } | WindowKind::Triples { .. })
}

/// The scenario read instant by instant, if all its windows are by time.
pub fn by_time(scenario: &Scenario) -> Option<Scenario> {
    let by_time = definition(scenario).windows.iter().all(|window| !is_by_count(&window.kind));
    let mut scenario = scenario.clone();
    scenario.options.tick = Some(Tick::Time);
    by_time.then_some(scenario)
}

/// The scenario with its events in order of time, and with an end.
pub fn in_order(scenario: &Scenario) -> Scenario {
    let mut scenario = scenario.clone();
    scenario.steps.retain(|step| matches!(step, Step::Event(_)));
    scenario.steps.sort_by_key(time);
    scenario.steps.push(Step::Close);
    scenario
}

pub fn time(step: &Step) -> i64 {
    match step {
        Step::Event(Event { at, .. }) | Step::Watermark(at) => *at,
        _ => i64::MAX,
    }
}

/// The scenario with all its times shifted.
pub fn moved(scenario: &Scenario, by: i64) -> Scenario {
    let mut scenario = scenario.clone();
    for step in &mut scenario.steps {
        if let Step::Event(Event { at, .. }) | Step::Watermark(at) = step {
            *at += by;
        }
    }
    scenario
}

pub fn shuffle<T>(items: &mut [T], random: &mut Random) {
    for i in (1..items.len()).rev() {
        items.swap(i, random.below(i + 1));
    }
}
