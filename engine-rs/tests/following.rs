//! Static data that changes under running queries, read in named graphs and by many queries at once.
//!
//! After every change, the result of a running query equals that of a fresh engine that has had the current graphs from
//! the beginning, and the reported changes add up to it. Detects: changes that are missed, counted twice or applied to
//! the wrong graph; events that are not offered to a query whose static rows they match. Does not detect: unnecessary
//! evaluations, which `growth.rs` counts.

use std::collections::BTreeMap;
use whorl_engine::{
    Answered, Engine, EngineOptions, Limits, ParseOptions, QueryId, R2s, Rare, RdfFormat, Rows, Thresholds, Timestamp,
};

const PREFIX: &str = "PREFIX : <http://ex/> ";
const STEPS: i64 = 40;

/// The static part of a query whose stream part is `?x :p ?y`.
const STATIC_PARTS: [&str; 12] = [
    "GRAPH :g { ?x :in ?r }",
    "GRAPH :g { ?x :in ?r . ?r :part ?f }",
    "GRAPH :g { ?x :in :r1 }",
    "GRAPH :g { ?x ?q ?r . ?r :part ?r2 }",
    "?x :in ?r GRAPH :g { ?r :part ?f }",
    "GRAPH :g { ?x :in ?r } GRAPH :h { ?r :part ?f }",
    "GRAPH :g { ?x :in ?r GRAPH :h { ?r :part ?f } }",
    "{ GRAPH :g { ?x :in ?r } GRAPH :g { ?r :part ?f } }",
    "GRAPH :g {} ?x :in ?r",
    "GRAPH :missing { ?x :in ?r }",
    "GRAPH ?g { ?x :in ?r }",
    "GRAPH :g { ?x :in ?r OPTIONAL { ?r :part ?f } }",
];

const DATASETS: [&str; 3] = ["", "FROM :g FROM NAMED :h", "FROM NAMED :g"];

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn pick<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[(self.next() >> 16) as usize % choices.len()]
    }
}

fn triple(random: &mut Random, step: i64) -> String {
    match random.pick(&["in", "in", "part", "new"]) {
        "in" => format!("{} :in {}", random.pick(&[":a", ":b", ":c"]), random.pick(&[":r1", ":r2", ":r3"])),
        "part" => format!("{} :part {}", random.pick(&[":r1", ":r2", ":r3"]), random.pick(&[":f1", ":f2", ":r1"])),
        _ => format!("{} :in :new{step}", random.pick(&[":a", ":b", ":c"])),
    }
}

fn change(random: &mut Random, step: i64) -> String {
    let graph = random.pick(&[":g", ":h"]);
    let triple = triple(random, step);
    let request = match random.next() >> 20 & 15 {
        0 => format!("DROP SILENT GRAPH {graph}"),
        1 => format!("CLEAR SILENT GRAPH {graph}"),
        2 => format!("DELETE DATA {{ GRAPH {graph} {{ {triple} }} }}"),
        3 => format!("DELETE WHERE {{ GRAPH {graph} {{ {} :in ?r }} }}", random.pick(&[":a", ":b", ":c"])),
        4 => "MOVE SILENT :g TO :h".to_owned(),
        5 => format!("ADD SILENT DEFAULT TO {graph}"),
        6 => format!("DELETE DATA {{ {triple} }}"),
        7 | 8 => format!("INSERT DATA {{ {triple} }}"),
        9 => format!("CREATE SILENT GRAPH {graph}"),
        _ => format!("INSERT DATA {{ GRAPH {graph} {{ {triple} }} }}"),
    };
    format!("{PREFIX}{request}")
}

fn event(random: &mut Random, step: i64) -> String {
    format!("{PREFIX} {} :p {step} .", random.pick(&[":a", ":b", ":c", ":new3"]))
}

fn push(engine: &mut Engine, step: i64, turtle: &str) {
    let at = Some(Timestamp::from_millis(step));
    engine.push("http://ex/s", at, turtle.as_bytes(), RdfFormat::Turtle).expect("an event");
}

fn register(engine: &mut Engine, text: &str, r2s: R2s) -> QueryId {
    let options = ParseOptions { r2s: Some(r2s), ..ParseOptions::default() };
    engine.register(&format!("{PREFIX}{text}"), &options).expect("a query")
}

type Bag = BTreeMap<String, i64>;

fn add(engine: &Engine, rows: &Rows, sign: i64, to: &mut Bag) {
    for row in rows.iter() {
        let terms: Vec<_> =
            row.iter().map(|id| id.is_bound().then(|| engine.dictionary().term(*id).to_string())).collect();
        *to.entry(format!("{terms:?}")).or_default() += sign;
    }
    to.retain(|_, weight| *weight != 0);
}

/// The last result, if there was a report.
fn last_answer(engine: &mut Engine, query: QueryId) -> Option<Bag> {
    let results = engine.drain(query).expect("it runs");
    let Answered::Bindings { inserted, .. } = &results.last()?.answer else { panic!("SELECT gives bindings") };
    let mut answer = Bag::new();
    add(engine, inserted, 1, &mut answer);
    Some(answer)
}

fn add_changes(engine: &mut Engine, query: QueryId, to: &mut Bag) {
    for result in engine.drain(query).expect("it runs") {
        let Answered::Bindings { inserted, deleted } = &result.answer else { panic!("SELECT gives bindings") };
        add(engine, inserted, 1, to);
        add(engine, deleted, -1, to);
    }
}

/// An engine with only the graphs of another one.
fn with_graphs_of(engine: &Engine) -> Engine {
    let mut fresh = Engine::new(EngineOptions::default());
    for (name, _) in engine.graph_names() {
        let name = match &name {
            whorl_engine::rdf::GraphName::NamedNode(name) => Some(name.as_str()),
            _ => None,
        };
        if let Some(name) = name {
            fresh.update(&format!("CREATE GRAPH <{name}>"), None).expect("a graph");
        }
        let triples = engine.graph_triples(name).expect("a graph");
        let text: String = triples.iter().map(|triple| format!("{triple} .\n")).collect();
        fresh.load(name, text.as_bytes(), RdfFormat::NTriples).expect("triples");
    }
    fresh
}

/// The result at the last of these events, with the current graphs from the beginning.
fn expected(engine: &Engine, text: &str, events: &[String]) -> Bag {
    let mut fresh = with_graphs_of(engine);
    let query = register(&mut fresh, text, R2s::Rstream);
    for (step, turtle) in events.iter().enumerate() {
        push(&mut fresh, step as i64, turtle);
    }
    last_answer(&mut fresh, query).expect("a report")
}

fn follow(text: &str, seed: u64) {
    let mut random = Random(seed);
    let thresholds = if seed.is_multiple_of(2) { Thresholds::tiny() } else { Thresholds::default() };
    let mut engine = Engine::new(EngineOptions { thresholds, ..EngineOptions::default() });
    let answering = register(&mut engine, text, R2s::Rstream);
    let changing = register(&mut engine, text, R2s::Changes);
    let (mut events, mut sum) = (Vec::new(), Bag::new());
    for step in 0..STEPS {
        for _ in 0..random.next() >> 30 & 3 {
            engine.update(&change(&mut random, step), None).expect("an update");
        }
        if random.next() >> 30 & 7 == 0 {
            engine.release_terms();
        }
        if random.next() >> 30 & 15 == 0 {
            let bytes = engine.snapshot();
            engine = Engine::restore(&bytes, EngineOptions::default()).expect("a snapshot");
        }
        events.push(event(&mut random, step));
        push(&mut engine, step, &events[step as usize]);
        let answer = last_answer(&mut engine, answering).expect("a report");
        assert_eq!(answer, expected(&engine, text, &events), "{text}, seed {seed}, step {step}");
        add_changes(&mut engine, changing, &mut sum);
        assert_eq!(sum, answer, "{text}, seed {seed}, step {step}");
    }
}

#[test]
fn patterns_over_named_graphs_follow_every_change() {
    let before = Rare::StaticFollowed.count();
    for (number, part) in STATIC_PARTS.iter().enumerate() {
        for dataset in DATASETS {
            for seed in 1..=3 {
                let text = format!("SELECT * {dataset} WHERE {{ STREAM :s [RANGE 5ms] {{ ?x :p ?y }} {part} }}");
                follow(&text, seed * 1_000 + number as u64);
            }
        }
    }
    assert!(Rare::StaticFollowed.count() > before, "some changes were followed");
}

/// The work limit is far below the cost of a scan of the whole graph.
#[test]
fn a_change_of_a_named_graph_costs_what_it_changes() {
    let limits = Limits { work: Some(1_500), ..Limits::default() };
    for part in [STATIC_PARTS[0], STATIC_PARTS[1], STATIC_PARTS[4], STATIC_PARTS[5]] {
        let mut engine = Engine::new(EngineOptions { limits, ..EngineOptions::default() });
        let text = format!("SELECT * WHERE {{ STREAM :s [RANGE 5ms] {{ ?x :p ?y }} {part} }}");
        let query = register(&mut engine, &text, R2s::Istream);
        for step in 0..200 {
            for graph in [None, Some("http://ex/g"), Some("http://ex/h")] {
                let triples = |n: i64| format!(":x{n} :in :r{n} . :r{n} :part :f .");
                let rdf: String = (0..20).map(|n| triples(step * 20 + n)).collect();
                engine.load(graph, format!("{PREFIX}{rdf}").as_bytes(), RdfFormat::Turtle).expect("triples");
            }
            push(&mut engine, step, &format!("{PREFIX} :x{step} :p 1 ."));
            assert!(engine.drain(query).is_ok(), "{part}: too costly at step {step}");
        }
    }
}

/// Queries whose static parts differ in a constant, or that share a leaf with such queries.
fn members() -> Vec<(String, R2s)> {
    let stream = "STREAM :s [RANGE 5ms] { ?x :p ?y }";
    let two = "STREAM :s [RANGE 5ms] { ?x :p ?y . ?z :p ?x2 }";
    let bodies = [
        format!("{stream} ?x :in :r1"),
        format!("{stream} ?x :in :r2"),
        format!("{stream} ?x :in :r3 . ?x :in ?r"),
        format!("{stream} GRAPH :g {{ ?x :in :r1 }}"),
        format!("{stream} GRAPH :g {{ ?x :in :r2 }} ?x :in ?r"),
        format!("{stream} OPTIONAL {{ ?x :in :r1 }}"),
        format!("{stream} {{ ?x :in :r1 }} UNION {{ GRAPH :h {{ ?x :in :r1 }} }}"),
        format!("{stream} :a :in ?r"),
        format!("{two} ?x :in :r1"),
        format!("{stream} FILTER NOT EXISTS {{ ?x :in :r2 }}"),
        format!("{stream} ?x :in :r1 GRAPH :g {{ :r1 :part ?f }}"),
        stream.to_owned(),
    ];
    let r2s = [R2s::Rstream, R2s::Istream, R2s::Changes, R2s::Dstream];
    let each = |body: &String| r2s.map(|r2s| (format!("SELECT * WHERE {{ {body} }}"), r2s));
    bodies.iter().flat_map(each).collect()
}

/// All results of these queries, while static data changes and the engine is sometimes restored.
fn results(members: &[(String, R2s)], seed: u64, thresholds: Thresholds) -> Vec<Vec<String>> {
    let mut random = Random(seed);
    let mut engine = Engine::new(EngineOptions { thresholds, ..EngineOptions::default() });
    let ids: Vec<_> = members.iter().map(|(text, r2s)| register(&mut engine, text, *r2s)).collect();
    let mut seen = vec![Vec::new(); members.len()];
    for step in 0..STEPS {
        for _ in 0..random.next() >> 30 & 3 {
            engine.update(&change(&mut random, step), None).expect("an update");
        }
        if random.next() >> 30 & 15 == 0 {
            let bytes = engine.snapshot();
            engine = Engine::restore(&bytes, EngineOptions { thresholds, ..EngineOptions::default() }).expect("bytes");
        }
        let turtle = event(&mut random, step);
        push(&mut engine, step, &turtle);
        for (id, seen) in ids.iter().zip(&mut seen) {
            let envelopes = engine.drain_envelopes(*id, "q", "1").expect("it runs");
            seen.extend(envelopes.into_iter().map(|envelope| String::from_utf8(envelope.json).expect("UTF-8")));
        }
    }
    seen
}

#[test]
fn queries_that_differ_in_a_static_constant_answer_together_as_each_does_alone() {
    let members = members();
    let mut compared = 0;
    for seed in 1..=12 {
        let thresholds = if seed % 2 == 0 { Thresholds::tiny() } else { Thresholds::default() };
        let together = results(&members, seed * 77, thresholds);
        for (member, together) in members.iter().zip(&together) {
            let alone = results(std::slice::from_ref(member), seed * 77, thresholds);
            assert_eq!(*together, alone[0], "{member:?}, seed {seed}");
            compared += together.len();
        }
    }
    assert!(compared > 5_000, "only {compared} results");
}
