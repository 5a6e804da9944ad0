//! Law 8: an engine that is replaced by its restored snapshot emits the same bytes as the original.
//!
//! Each case is a random script: events in and out of order, watermarks, changing static data, queries of many kinds
//! that are registered, removed and fail, results that are drained or not. One engine plays the script through; the
//! other is replaced by its own snapshot at random points. Their output must be equal: envelopes with sequence numbers
//! and blank nodes, errors, plans with their counters, and statistics.

use crate::random::Random;
use crate::run::{hold, prepared, text};
use crate::scenario::{Event, PREFIXES, Scenario, Step};
use whorl_engine::{
    Engine, EngineOptions, Limits, ParseOptions, Probing, QueryId, R2s, RdfFormat, Retraction, StreamOptions,
    Thresholds, Timestamp,
};

const FEEDS: &str = ":feed1 :stream :s . :feed2 :stream :s2 . :feed1 :limit 2 .";

const MAPPING: &str =
    "PREFIX : <http://ex/> CONSTRUCT { ?row :p ?value } WHERE { BIND(IRI(CONCAT(\"http://ex/\", ?name)) AS ?row) }";

/// An action on an engine.
#[derive(Debug)]
enum Action {
    Step(Step),
    Update(&'static str),
    Register(String, ParseOptions),
    /// The queries are numbered in the order of their registration.
    Unregister(u64),
    Drain,
    Release,
    CloseStream,
    /// A stream that queries may never read, and an event of it.
    Declare(i64),
    Map(Option<&'static str>),
}

/// Queries beyond those of the generator, with state outside of windows, or with names.
const BODIES: [&str; 12] = [
    "CONSTRUCT { ?a :up _:x . _:x :of ?b ; :with ?c } FROM NAMED WINDOW :w ON :s [WINDOW] WHERE { WINDOW :w { ?a :p ?b } OPTIONAL { WINDOW :w { ?b :q ?c } } }",
    "SELECT ?x ?y ?z FROM NAMED WINDOW :w ON :out [WINDOW] WHERE { WINDOW :w { ?x :up ?y . ?y :of ?z } }",
    "SELECT ?a (SAMPLE(?b) AS ?s) (GROUP_CONCAT(DISTINCT STR(?b)) AS ?g) (SUM(?b) AS ?sum) (AVG(DISTINCT ?b) AS ?avg) (COUNT(DISTINCT *) AS ?n) (MEDIAN(?b) AS ?m) FROM NAMED WINDOW :w ON :s [WINDOW] WHERE { WINDOW :w { ?a ?p ?b } } GROUP BY ?a",
    "SELECT (MIN(?b) AS ?least) (MAX(?b) AS ?most) (STDDEV(?b) AS ?spread) (SUM(?b + 0.1e0) AS ?sum) FROM NAMED WINDOW :w ON :s [WINDOW] WHERE { WINDOW :w { ?a :p ?b } }",
    "SELECT ?a ?n ?u ?l (BNODE() AS ?blank) FROM NAMED WINDOW :w ON :s [WINDOW] WHERE { WINDOW :w { ?a :p ?b } BIND(NOW() AS ?n) BIND(UUID() AS ?u) BIND(CONCAT(\"a long name made of \", STR(?b)) AS ?l) }",
    "SELECT ?a ?b ?l FROM NAMED WINDOW :w ON :s [WINDOW] WHERE { WINDOW :w { ?a (:p|:q)+ ?b } OPTIONAL { ?f :limit ?l FILTER(?l > ?b) } }",
    "ASK FROM NAMED WINDOW :w ON :s [WINDOW] WHERE { WINDOW :w { ?a :p ?b . ?a :q ?c . ?c :r ?d } }",
    "SELECT ?a ?b FROM NAMED WINDOW :w ON :s [WINDOW] WHERE { WINDOW :w { ?a ?p ?b } } ORDER BY DESC(CONCAT(\"as long as a name \", STR(?b))) LIMIT 2 OFFSET 1",
    "SELECT ?a ?t FROM NAMED WINDOW :w ON :s [WINDOW @ :when] WHERE { WINDOW :w { ?a :when ?t } }",
    "SELECT ?f ?a ?b WHERE { ?f :stream ?s . STREAM ?s [RANGE 6ms] { ?a :p ?b } }",
    "SELECT ?a ?b ?c ?d FROM NAMED WINDOW :w ON :s [WINDOW] FROM NAMED WINDOW :v ON :s2 [WINDOW] WHERE { WINDOW :w { ?a :p ?b . ?a :q ?c . ?e :r ?d } WINDOW :v { ?a ?x ?f } FILTER(?b < ?d) }",
    "DESCRIBE ?a FROM NAMED WINDOW :w ON :s [WINDOW] WHERE { WINDOW :w { ?a :p ?b } MINUS { ?a :static ?b } }",
];

const WINDOWS: [&str; 8] = [
    "RANGE 6ms STEP 2ms",
    "RANGE 4ms",
    "RANGE 2ms STEP 5ms",
    "ELEMENTS 3 STEP 2",
    "TRIPLES 4",
    "ALL",
    "NOW",
    "RANGE 8ms STEP 3ms",
];

const UPDATES: [&str; 5] = [
    "INSERT DATA { :a :static :b , 1 , \"a text that only static data has\" . GRAPH :g { :b :static 2 } }",
    "DELETE WHERE { ?s :static ?o }",
    "INSERT { ?o :static _:new } WHERE { ?s :static ?o FILTER(isIRI(?o)) }",
    "DELETE { ?f :limit ?l } INSERT { ?f :limit ?m } WHERE { ?f :limit ?l BIND(?l + 1 AS ?m) }",
    "DROP SILENT GRAPH :g",
];

fn query(scenario: &Scenario, random: &mut Random) -> Action {
    let mut options = if random.chance(50) { scenario.options.clone() } else { ParseOptions::default() };
    if random.chance(50) {
        options.r2s = Some(*random.pick(&[R2s::Rstream, R2s::Istream, R2s::Dstream, R2s::Changes]));
    }
    if random.chance(40) {
        return Action::Register(text(scenario), options);
    }
    let body = random.pick(&BODIES).replace("WINDOW]", &format!("{}]", random.pick(&WINDOWS)));
    let body = body.replace("[WINDOW @", &format!("[{} @", random.pick(&["RANGE 6ms STEP 2ms", "RANGE 4ms"])));
    if body.starts_with("CONSTRUCT") && random.chance(70) {
        let r2s = random.pick(&["RSTREAM", "ISTREAM", "DSTREAM"]);
        return Action::Register(format!("{PREFIXES}REGISTER {r2s} :out AS {body}"), ParseOptions::default());
    }
    Action::Register(format!("{PREFIXES}{body}"), options)
}

/// The events of the scenario; some have names or times in their data, or arrive on a stream that queries write.
fn step(one: &Step, random: &mut Random) -> Step {
    let mut one = one.clone();
    if let Step::Event(Event { turtle, at, .. }) = &mut one {
        match random.below(12) {
            0 | 1 => turtle.push_str(" _:x :p _:y . _:y :q :a . :b :p _:x ."),
            2 => turtle.push_str(&format!(" :a :when {} .", *at + 1)),
            3 => turtle.push_str(&format!(" :b :p <http://ex/a-name-that-comes-once/{at}> .")),
            _ => {}
        }
    }
    one
}

fn script(scenario: &Scenario, random: &mut Random) -> Vec<Action> {
    let mut script = vec![Action::Register(text(scenario), scenario.options.clone())];
    script.extend((0..random.below(5)).map(|_| query(scenario, random)));
    for one in &scenario.steps {
        script.push(Action::Step(step(one, random)));
        match random.below(24) {
            0..=5 => script.push(Action::Drain),
            6..=8 => script.push(Action::Update(UPDATES[random.below(UPDATES.len())])),
            9..=11 => script.push(query(scenario, random)),
            12 | 13 => script.push(Action::Unregister(1 + random.below(6) as u64)),
            14..=16 => script.push(Action::Release),
            17 if random.chance(30) => script.push(Action::CloseStream),
            18 => script.push(Action::Declare(random.range(0, 9))),
            19 => script.push(Action::Map(random.chance(80).then_some(MAPPING))),
            _ => {}
        }
    }
    script
}

/// Performs one action; returns its outcome.
fn act(engine: &mut Engine, action: &Action) -> String {
    match action {
        Action::Step(Step::Event(Event { stream, at, turtle })) => {
            let rdf = format!("{PREFIXES}{turtle}");
            format!("{:?}", engine.push(stream, Some(Timestamp::from_millis(*at)), rdf.as_bytes(), RdfFormat::Turtle))
        }
        Action::Step(Step::Watermark(at)) => format!("{:?}", engine.advance_to(Timestamp::from_millis(*at))),
        Action::Step(Step::Close) => {
            engine.close();
            String::new()
        }
        Action::Step(other) => panic!("laws look at quiet streams, without {other:?}"),
        Action::Update(update) => format!("{:?}", engine.update(&format!("{PREFIXES}{update}"), None)),
        Action::Register(text, options) => format!("{:?}", engine.register(text, options)),
        Action::Unregister(id) => format!("{:?}", engine.unregister(QueryId(*id))),
        Action::Release => {
            engine.release_terms();
            String::new()
        }
        Action::CloseStream => format!("{:?}", engine.close_stream("http://ex/s2")),
        Action::Map(mapping) => {
            let before = format!("{:?}", engine.mapping("http://ex/s"));
            format!("{before} {:?}", engine.set_mapping("http://ex/s", *mapping, "when"))
        }
        Action::Declare(at) => {
            let declared = engine.declare_stream("http://ex/late", StreamOptions::default());
            let rdf = format!("{PREFIXES} :a-name-of-its-own-{at} :p {at} .");
            let at = Some(Timestamp::from_millis(*at));
            let pushed = engine.push("http://ex/late", at, rdf.as_bytes(), RdfFormat::Turtle);
            format!("{declared:?} {pushed:?} {}", engine.stats().stream_terms)
        }
        Action::Drain => drained(engine),
    }
}

fn drained(engine: &mut Engine) -> String {
    let ids: Vec<QueryId> = engine.stats().queries.iter().map(|query| query.id).collect();
    let texts = ids.into_iter().map(|id| match engine.drain_json(id, "q") {
        Ok(envelopes) => envelopes.into_iter().map(|bytes| String::from_utf8(bytes).expect("UTF-8") + "\n").collect(),
        Err(error) => format!("{id:?} {error}\n"),
    });
    texts.collect()
}

fn restored(engine: &Engine, options: EngineOptions) -> Engine {
    let snapshot = engine.snapshot();
    let restored = Engine::restore(&snapshot, options).expect("a snapshot restores");
    assert!(restored.snapshot() == snapshot, "the snapshot of what was restored is the snapshot");
    restored
}

/// Plays the script; `restarts` tells after which actions the engine is replaced.
fn play(scenario: &Scenario, script: &[Action], options: EngineOptions, restarts: &[bool]) -> Vec<String> {
    let mut engine = prepared(scenario, options);
    engine.load(None, format!("{PREFIXES}{FEEDS}").as_bytes(), RdfFormat::Turtle).expect("static data");
    let mut said = Vec::new();
    for (action, restart) in script.iter().zip(restarts) {
        said.push(act(&mut engine, action));
        if *restart {
            engine = restored(&engine, EngineOptions { hash_seed: options.hash_seed + 1, ..options });
        }
    }
    said.push(drained(&mut engine));
    let stats = engine.stats();
    said.extend(stats.queries.iter().map(|query| format!("{:?}", engine.explain(query.id))));
    said.push(format!("{stats:?}"));
    said
}

fn options(variant: usize, random: &mut Random) -> EngineOptions {
    EngineOptions {
        sharing: variant != 1,
        retraction: [Retraction::Auto, Retraction::Auto, Retraction::Tree, Retraction::Probe][variant],
        probing: if variant == 3 { Probing::Fixed(random.next()) } else { Probing::Adaptive },
        result_rows_max: if random.chance(20) { 3 } else { 1_000_000 },
        limits: if random.chance(40) { limits(random) } else { Limits::default() },
        thresholds: thresholds(random),
        ..EngineOptions::default()
    }
}

/// Tiny, mixed, or real thresholds; most runs recount the structures that they affect.
fn thresholds(random: &mut Random) -> Thresholds {
    let tiny = Thresholds { checks: random.chance(70), ..Thresholds::tiny() };
    match random.below(3) {
        0 => Thresholds { new_terms_min: 1 + random.below(6), text_chunk_max: 32 << random.below(5), ..tiny },
        1 => tiny,
        _ => Thresholds::default(),
    }
}

/// Limits so tight that some queries stop, at an evaluation that their history determines.
fn limits(random: &mut Random) -> Limits {
    Limits {
        work: random.chance(50).then(|| random.range(100, 3_000) as u64),
        state_rows: random.chance(70).then(|| random.range(2, 40) as usize),
        result_rows: random.chance(20).then(|| random.range(2, 10) as usize),
        ..Limits::default()
    }
}

#[test]
fn a_restored_engine_goes_on_as_if_nothing_had_happened() {
    let mut runs = 0;
    let mut restarts_all = 0;
    hold(8, |scenario: &Scenario, random| {
        let script = script(scenario, random);
        let mut reports = 0;
        for variant in 0..4 {
            let options = options(variant, random);
            let never = vec![false; script.len()];
            let restarts: Vec<bool> = script.iter().map(|_| random.chance(30)).collect();
            let expected = play(scenario, &script, options, &never);
            let got = play(scenario, &script, options, &restarts);
            for (at, (got, expected)) in got.iter().zip(&expected).enumerate() {
                assert_eq!(got, expected, "at {at} of {script:#?}\n{options:?}\n{restarts:?}");
            }
            reports += expected.iter().filter(|said| said.contains("\"seq\"")).count();
            restarts_all += restarts.iter().filter(|restart| **restart).count();
            runs += 1;
        }
        Some(reports)
    });
    assert!(restarts_all > 2 * runs, "several restarts in each run");
}
