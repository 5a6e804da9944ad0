//! How the cost of an event grows with the number of queries that it does not concern, and with the rows that share its
//! key: not at all.
//!
//! Visited leaves and queries are counted exactly. Times are compared within one run, with margins so wide that only a
//! walk over all queries exceeds them.

use std::time::{Duration, Instant};
use whorl_engine::rdf::{Literal, NamedNode, Term, Triple};
use whorl_engine::{Engine, EngineOptions, Limits, ParseOptions, QueryId, RdfFormat, TermId, Timestamp};

const STREAM: &str = "http://ex/s";
const EVENTS: i64 = 300;

fn registered(queries: usize, text: impl Fn(usize) -> String) -> (Engine, Vec<QueryId>) {
    let mut engine = Engine::new(EngineOptions::default());
    let register = |n: usize| {
        let text = format!("PREFIX : <http://ex/> {}", text(n));
        engine.register(&text, &ParseOptions::default()).expect("a query")
    };
    let ids = (0..queries).map(register).collect();
    (engine, ids)
}

fn node(name: &str) -> NamedNode {
    NamedNode::new_unchecked(format!("http://ex/{name}"))
}

/// One reading, of a subject that some query of the template selects.
fn push(engine: &mut Engine, at: i64, queries: usize) -> usize {
    let subject = (at as usize * 7) % queries;
    let triple = Triple::new(node(&format!("s{subject}")), node("p"), Literal::from(at));
    engine.push_triples(STREAM, Timestamp::from_millis(at), &[triple]).expect("an event");
    subject
}

/// The visits of this many events, and the number of their reports.
fn visits(queries: usize, text: impl Fn(usize) -> String) -> (u64, usize) {
    let (mut engine, ids) = registered(queries, text);
    let first = push(&mut engine, 0, queries);
    engine.drain(ids[first]).expect("it runs");
    let before = engine.n_visits();
    let mut reports = 0;
    for at in 1..=EVENTS {
        let subject = push(&mut engine, at, queries);
        reports += engine.drain(ids[subject]).expect("it runs").len();
    }
    (engine.n_visits() - before, reports)
}

#[test]
fn an_event_leads_to_the_query_that_asks_for_its_constant() {
    let template = |n: usize| format!("SELECT ?v WHERE {{ STREAM :s [RANGE 50ms] {{ :s{n} :p ?v }} }}");
    let (one, reports) = visits(1, template);
    assert_eq!(reports, EVENTS as usize);
    // One query visits one leaf and one query per arrival and expiry, many queries visit up to two of each.
    let (many, reports) = visits(1_000, template);
    assert_eq!(reports, EVENTS as usize);
    assert!(many <= 2 * one, "{many} for a thousand queries, {one} for one");
}

#[test]
fn queries_whose_windows_close_with_no_news_are_not_visited() {
    let template = |n: usize| {
        format!(
            "REGISTER ISTREAM <urn:q{n}> AS SELECT ?v FROM NAMED WINDOW :w ON :s [RANGE 40ms STEP 10ms]
             WHERE {{ WINDOW :w {{ :s{n} :p ?v }} }}"
        )
    };
    let (many, _) = visits(1_000, template);
    // The first report concerns every query; then each event visits one leaf and one query, on arrival and on expiry.
    assert!(many <= 1_000 + 4 * EVENTS as u64, "{many} for a thousand queries");
}

#[test]
fn an_event_leads_to_the_query_that_asks_for_its_constant_whatever_the_lengths_of_windows() {
    let template = |n: usize| format!("SELECT ?v WHERE {{ STREAM :s [RANGE {}ms] {{ :s{n} :p ?v }} }}", 50 + n);
    let (one, reports) = visits(1, template);
    assert_eq!(reports, EVENTS as usize);
    let (many, reports) = visits(1_000, template);
    assert_eq!(reports, EVENTS as usize);
    // A timeline that is woken counts as visited.
    assert!(many <= 3 * one, "{many} for a thousand queries, {one} for one");
}

/// Queries are registered one at a time, as in a server: earlier events are not in their windows.
#[test]
fn an_event_leads_to_the_query_that_asks_for_its_constant_whenever_that_has_come() {
    const QUERIES: usize = 300;
    let (mut engine, mut ids) =
        registered(1, |_| "SELECT ?v WHERE { STREAM :s [RANGE 50ms] { :s0 :p ?v } }".to_owned());
    for n in 1..QUERIES {
        let text = format!("PREFIX : <http://ex/> SELECT ?v WHERE {{ STREAM :s [RANGE 50ms] {{ :s{n} :p ?v }} }}");
        ids.push(engine.register(&text, &ParseOptions::default()).expect("a query"));
        push(&mut engine, n as i64, n);
    }
    let before = engine.n_visits();
    let mut reports = 0;
    for at in 1..=EVENTS {
        let subject = push(&mut engine, QUERIES as i64 + at, QUERIES);
        reports += engine.drain(ids[subject]).expect("it runs").len();
    }
    assert!(reports >= EVENTS as usize, "each event is a result of one query");
    let visits = engine.n_visits() - before;
    assert!(visits <= 8 * EVENTS as u64, "{visits} visits in {EVENTS} events");
}

/// The state of equal queries, one of them registered before each of the first events, after their windows have turned
/// over.
fn state_of(queries: i64, text: &str) -> usize {
    let mut engine = Engine::new(EngineOptions::default());
    let mut ids = Vec::new();
    for at in 0..2_000 {
        if at < queries {
            let text = format!("PREFIX : <http://ex/> {text}");
            ids.push(engine.register(&text, &ParseOptions::default()).expect("a query"));
        }
        push(&mut engine, at, 7);
    }
    let results: Vec<usize> = ids.iter().map(|id| engine.drain(*id).expect("it runs").len()).collect();
    assert!(results.iter().all(|results| *results > 100), "{results:?}");
    engine.release_terms();
    engine.state_size()
}

#[test]
fn equal_queries_that_come_between_events_keep_one_copy_of_the_state() {
    for text in [
        "SELECT ?x ?v WHERE { STREAM :s [RANGE 500ms] { ?x :p ?v } }",
        "REGISTER ISTREAM :o AS SELECT ?x ?v FROM NAMED WINDOW :w ON :s [RANGE 500ms STEP 10ms] WHERE { WINDOW :w { ?x :p ?v } }",
        "SELECT ?x ?v ?w WHERE { STREAM :s [RANGE 500ms] { ?x :p ?v . ?x :p ?w FILTER(?v = ?w + 7) } }",
    ] {
        let (one, ten) = (state_of(1, text), state_of(10, text));
        assert_eq!(one, ten, "{text}");
    }
}

#[test]
fn queries_that_no_event_concerns_are_not_visited() {
    let (alone, _) = visits(1, |_| "SELECT ?v WHERE { STREAM :s [RANGE 50ms] { :s0 :p ?v } }".to_owned());
    let (mut engine, ids) = registered(1_001, |n| {
        let predicate = if n == 0 { ":p".to_owned() } else { format!(":other{n}") };
        format!("SELECT ?v WHERE {{ STREAM :s [RANGE 50ms] {{ :s0 {predicate} ?v }} }}")
    });
    push(&mut engine, 0, 1);
    let before = engine.n_visits();
    for at in 1..=EVENTS {
        push(&mut engine, at, 1);
    }
    assert_eq!(engine.n_visits() - before, alone);
    assert_eq!(engine.drain(ids[0]).expect("it runs").len(), EVENTS as usize + 1);
    assert!(engine.stats().queries.iter().all(|query| query.evaluations > 0), "they are evaluated all the same");
}

/// The least time that some events took.
fn least(queries: usize) -> Duration {
    let template = |n: usize| format!("SELECT ?v WHERE {{ STREAM :s [RANGE 500ms] {{ :s{n} :p ?v }} }}");
    let (mut engine, _) = registered(queries, template);
    let stream = engine.stream_id(STREAM).expect("declared by the queries");
    let mut pin = |term: Term| engine.pin(&term);
    let predicate = pin(node("p").into());
    let subjects: Vec<TermId> = (0..queries).map(|n| pin(node(&format!("s{n}")).into())).collect();
    let values: Vec<TermId> = (0..1_001_i64).map(|n| pin(Literal::from(n).into())).collect();
    let mut at = 0;
    let mut round = || {
        let start = Instant::now();
        for _ in 0..100 {
            at += 1;
            let triple = [subjects[(at * 7) as usize % queries], predicate, values[at as usize % values.len()]];
            engine.push_encoded(stream, Timestamp::from_millis(at), &[triple]);
        }
        start.elapsed()
    };
    // The shortest of many short rounds is one without interruptions.
    (0..100).map(|_| round()).min().unwrap_or_default()
}

#[test]
fn a_thousand_queries_of_one_template_cost_an_event_little_more_than_one() {
    let (one, many) = (least(1), least(1_000));
    assert!(many < 12 * one, "{many:?} with a thousand queries, {one:?} with one");
}

#[test]
fn a_query_that_was_not_visited_answers_when_its_turn_comes() {
    let (mut engine, ids) =
        registered(3, |n| format!("SELECT (COUNT(*) AS ?n) WHERE {{ STREAM :s [RANGE 10ms] {{ :s{n} :p ?v }} }}"));
    let mut push = |at: i64, subject: &str| {
        let rdf = format!("<http://ex/{subject}> <http://ex/p> {at} .");
        engine.push(STREAM, Some(Timestamp::from_millis(at)), rdf.as_bytes(), RdfFormat::Turtle).expect("an event");
        ids.iter().map(|id| engine.drain(*id).expect("it runs").len()).collect::<Vec<_>>()
    };
    // The first report tells each of them that there is nothing.
    assert_eq!(push(1, "s0"), [1, 1, 1]);
    assert_eq!(push(2, "s0"), [1, 0, 0]);
    assert_eq!(push(3, "s2"), [0, 0, 1]);
    // The first event expires at 11, when the next event arrives; only its query is visited.
    assert_eq!(push(11, "s1"), [1, 1, 0]);
}

/// Units of work that one event may cost.
const WORK_MAX: u64 = 100;

/// Rows of one key, on both sides in rotation: the number of events until one of them costs too much.
fn events_within_work(pattern: &str, events: i64) -> i64 {
    let limits = Limits { work: Some(WORK_MAX), ..Limits::default() };
    let mut engine = Engine::new(EngineOptions { limits, ..EngineOptions::default() });
    let text = format!("PREFIX : <http://ex/> SELECT * WHERE {{ STREAM :s [RANGE 6s] {{ ?k :p ?v {pattern} }} }}");
    let query = engine.register(&text, &ParseOptions::default()).expect("a query");
    let affordable = |at: &i64| {
        let predicate = if at % 2 == 0 { "p" } else { "q" };
        let triple = Triple::new(node("k"), node(predicate), Literal::from(*at));
        engine.push_triples(STREAM, Timestamp::from_millis(*at), &[triple]).expect("an event");
        engine.drain(query).is_ok()
    };
    (1..=events).take_while(affordable).count() as i64
}

#[test]
fn witnesses_are_counted_and_not_compared_with_every_row_of_their_key() {
    // The window is full after 6,000 events, with 3,000 rows on each side.
    const EVENTS: i64 = 10_000;
    for pattern in ["FILTER NOT EXISTS { ?k :q ?w }", "FILTER EXISTS { ?k :q ?w }", "MINUS { ?k :q ?w }"] {
        assert_eq!(events_within_work(pattern, EVENTS), EVENTS, "{pattern}");
    }
    // A condition on each pair does cost the rows of the key.
    assert!(events_within_work("FILTER NOT EXISTS { ?k :q ?w FILTER(?w > ?v) }", EVENTS) < 200);
}

#[test]
fn a_change_of_static_data_leads_to_the_queries_that_read_it() {
    let (mut engine, ids) = registered(1_001, |n| match n {
        0 => "SELECT ?v WHERE { STREAM :s [RANGE 50ms] { :s0 :p ?v } :s0 :in ?room }".to_owned(),
        n => format!("SELECT ?v WHERE {{ STREAM :s [RANGE 50ms] {{ :s{n} :p ?v }} }}"),
    });
    push(&mut engine, 0, 1);
    let before = engine.n_visits();
    engine.load(None, b"<http://ex/s0> <http://ex/in> <http://ex/r> .", RdfFormat::NTriples).expect("static data");
    push(&mut engine, 1, 1);
    assert!(engine.n_visits() - before <= 4, "{} visits", engine.n_visits() - before);
    assert_eq!(engine.drain(ids[0]).expect("it runs").len(), 1, "both events have a room now");
}

/// The waiting queries are listed, so that a server need not ask each query after every batch.
#[test]
fn the_queries_that_wait_are_those_with_results_and_those_that_failed() {
    let (mut engine, ids) =
        registered(200, |n| format!("SELECT ?v WHERE {{ STREAM :s [RANGE 5ms] {{ :s{n} :p ?v }} }}"));
    let mut expected = std::collections::BTreeSet::new();
    let mut gone = std::collections::BTreeSet::new();
    for at in 0..2_000 {
        let subject = push(&mut engine, at, 200);
        if !gone.contains(&subject) {
            expected.insert(ids[subject]);
        }
        if at % 3 == 0 {
            let taken = ids[(at as usize * 11) % 200];
            expected.remove(&taken);
            engine.drain(taken).ok();
        }
        if at % 97 == 0 {
            let place = at as usize % 200;
            expected.remove(&ids[place]);
            if gone.insert(place) {
                engine.unregister(ids[place]).expect("it runs");
            }
        }
        if at % 500 == 250 {
            let bytes = engine.snapshot();
            engine = Engine::restore(&bytes, EngineOptions::default()).expect("a snapshot");
        }
        assert_eq!(engine.waiting(), expected.iter().copied().collect::<Vec<_>>(), "after event {at}");
    }
}

#[test]
fn a_query_that_has_failed_waits_until_it_is_unregistered() {
    let limits = Limits { work: Some(30), ..Limits::default() };
    let mut engine = Engine::new(EngineOptions { limits, ..EngineOptions::default() });
    let text = "PREFIX : <http://ex/> SELECT * WHERE { STREAM :s [RANGE 6s] { ?a :p ?v . ?b :p ?w } }";
    let query = engine.register(text, &ParseOptions::default()).expect("a query");
    for at in 0..20 {
        push(&mut engine, at, 20);
    }
    while engine.drain(query).is_ok() {}
    assert_eq!(engine.waiting(), [query]);
    let bytes = engine.snapshot();
    engine = Engine::restore(&bytes, EngineOptions::default()).expect("a snapshot");
    assert_eq!(engine.waiting(), [query]);
    engine.unregister(query).expect("it is there");
    assert_eq!(engine.waiting(), []);
}

#[test]
fn places_and_timelines_are_used_again() {
    let text =
        |n: usize| format!("PREFIX : <http://ex/> SELECT ?v WHERE {{ STREAM :s [RANGE {n}ms] {{ :s0 :p ?v }} }}");
    let mut engine = Engine::new(EngineOptions::default());
    let mut ids: Vec<QueryId> = Vec::new();
    let mut at = 0;
    for round in 0..300 {
        // Windows of a few lengths; some queries are registered between events and have windows of their own.
        ids.push(engine.register(&text(10 + round % 3), &ParseOptions::default()).expect("a query"));
        if round % 2 == 0 {
            at += 1;
            push(&mut engine, at, 1);
        }
        if ids.len() > 5 {
            engine.unregister(ids.remove(round % 5)).expect("it runs");
        }
        if round % 50 == 49 {
            let bytes = engine.snapshot();
            engine = Engine::restore(&bytes, EngineOptions::default()).expect("a snapshot");
        }
    }
    at += 1;
    push(&mut engine, at, 1);
    assert_eq!(engine.waiting(), ids);
    ids.iter().for_each(|id| engine.unregister(*id).expect("it runs"));
    assert_eq!(engine.state_size(), 0);
}

/// Queries that differ in a constant of their static part (for example, a person's name) share the leaf; an event finds
/// the one whose static rows it matches.
#[test]
fn an_event_leads_to_the_query_whose_static_rows_it_meets() {
    let names = |n: usize| format!("<http://ex/s{n}> <http://ex/name> \"name {n}\" .\n");
    let visits = |queries: usize| {
        let mut engine = Engine::new(EngineOptions::default());
        let rdf: String = (0..1_000).map(names).collect();
        engine.load(None, rdf.as_bytes(), RdfFormat::NTriples).expect("static data");
        let text = |n: usize| {
            format!(
                "PREFIX : <http://ex/> SELECT * WHERE {{ STREAM :s [RANGE 50ms] {{ ?x :p ?v }} ?x :name \"name {n}\" }}"
            )
        };
        let options = ParseOptions::default();
        let ids: Vec<_> = (0..queries).map(|n| engine.register(&text(n), &options).expect("a query")).collect();
        push(&mut engine, 0, queries);
        ids.iter().for_each(|id| drop(engine.drain(*id).expect("it runs")));
        let before = engine.n_visits();
        let mut reports = 0;
        for at in 1..=EVENTS {
            let subject = push(&mut engine, at, queries);
            reports += engine.drain(ids[subject]).expect("it runs").len();
        }
        assert_eq!(reports, EVENTS as usize, "each event is a result of one query");
        engine.n_visits() - before
    };
    let (one, many) = (visits(1), visits(1_000));
    assert!(many <= 2 * one, "{many} for a thousand queries, {one} for one");
}
