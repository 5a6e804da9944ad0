//! Evaluation time, measured by a clock that advances only when it is read, so that the engine's readings can be
//! counted and every nanosecond of a query is known.

use std::cell::Cell;
use std::time::Duration;
use whorl_engine::{Engine, EngineOptions, Limits, ParseOptions, QueryId, RdfFormat, Timestamp};

const LOOK: &str = "PREFIX : <http://ex/> SELECT ?a ?b WHERE { STREAM :s [TRIPLES 1] { ?a :p ?b } }";

thread_local! {
    static NOW_NS: Cell<u64> = const { Cell::new(0) };
    static STEP_NS: Cell<u64> = const { Cell::new(0) };
    static READINGS: Cell<u64> = const { Cell::new(0) };
}

fn ticking() -> u64 {
    READINGS.set(READINGS.get() + 1);
    NOW_NS.set(NOW_NS.get() + STEP_NS.get());
    NOW_NS.get()
}

/// An engine whose clock advances by `step_ns` on each reading; a reading itself appears to take `reading_ns`.
fn timed_engine(reading_ns: u64, step_ns: u64) -> Engine {
    let mut engine = Engine::new(EngineOptions::default());
    STEP_NS.set(reading_ns);
    engine.lend_clock(ticking);
    STEP_NS.set(step_ns);
    READINGS.set(0);
    engine
}

fn register(engine: &mut Engine, text: &str) -> QueryId {
    engine.register(text, &ParseOptions::default()).expect("the query registers")
}

fn push(engine: &mut Engine, at: i64, turtle: &str) {
    let at = Some(Timestamp::from_millis(at));
    engine.push("http://ex/s", at, turtle.as_bytes(), RdfFormat::Turtle).expect("an event");
}

fn push_many(engine: &mut Engine, n: i64) {
    (1..=n).for_each(|at| push(engine, at, &format!("<http://ex/a> <http://ex/p> {at} .")));
}

fn nanoseconds(engine: &Engine, query: QueryId) -> u64 {
    let found = engine.evaluation_times().find(|(id, _)| *id == query);
    let time = found.map_or(Duration::ZERO, |(_, time)| time);
    u64::try_from(time.as_nanos()).expect("a short test")
}

#[test]
fn without_a_clock_there_are_no_times() {
    let mut engine = Engine::new(EngineOptions::default());
    register(&mut engine, LOOK);
    push_many(&mut engine, 3);
    assert_eq!(engine.evaluation_times().count(), 0);
}

#[test]
fn a_query_alone_has_all_of_its_instants() {
    let mut engine = timed_engine(0, 10);
    let query = register(&mut engine, LOOK);
    // Registration is one interval; an instant is one for the shared work, and one for the query itself.
    assert_eq!(nanoseconds(&engine, query), 10);
    push_many(&mut engine, 5);
    assert_eq!(nanoseconds(&engine, query), 10 + 5 * 20);
}

#[test]
fn what_a_reading_takes_is_nobodys_time() {
    let mut engine = timed_engine(7, 7);
    let query = register(&mut engine, LOOK);
    push_many(&mut engine, 5);
    assert_eq!(nanoseconds(&engine, query), 0);
}

#[test]
fn an_idle_query_has_no_time() {
    let mut engine = timed_engine(0, 10);
    let busy = register(&mut engine, LOOK);
    let idle = register(&mut engine, &LOOK.replace(":s ", ":silent "));
    let before = nanoseconds(&engine, idle);
    push_many(&mut engine, 5);
    assert_eq!((nanoseconds(&engine, idle), nanoseconds(&engine, busy)), (before, 10 + 5 * 20));
}

/// The second query joins every event with the earlier ones, the first joins none.
#[test]
fn what_queries_do_together_is_shared_out_by_work() {
    const N: i64 = 400;
    let mut engine = timed_engine(0, 1_000);
    let window = "PREFIX : <http://ex/> SELECT * WHERE { STREAM :s [RANGE 1h]";
    let light = register(&mut engine, &format!("{window} {{ ?a :p ?b . ?a :absent ?c }} }}"));
    let heavy = register(&mut engine, &format!("{window} {{ ?a :p ?b . ?a :p ?c }} }}"));
    let before = [light, heavy].map(|query| nanoseconds(&engine, query));
    push_many(&mut engine, N);
    let [light, heavy] = [light, heavy].map(|query| nanoseconds(&engine, query));
    // An instant is one shared interval, and one per query.
    let (light, heavy) = (light - before[0], heavy - before[1]);
    let all = 3_000 * N as u64;
    assert!(all - N as u64 <= light + heavy && light + heavy <= all, "{light} and {heavy} of {all}");
    let shares = (light - 1_000 * N as u64, heavy - 1_000 * N as u64);
    assert!(shares.0 * 10 < shares.1, "{shares:?}");
}

/// Every instant does the same work, so the estimate must equal the measurement.
#[test]
fn short_instants_are_reckoned_from_those_that_are_measured() {
    const N: i64 = 20_000;
    let mut engine = timed_engine(1, 11);
    let query = register(&mut engine, LOOK);
    push_many(&mut engine, 100);
    let before = nanoseconds(&engine, query);
    READINGS.set(0);
    (101..=100 + N).for_each(|at| push(&mut engine, at, &format!("<http://ex/a> <http://ex/p> {at} .")));
    // An instant of 20 ns has three readings of 1 ns: one of 1 + 3 · 256 / 20 is measured.
    let measured = READINGS.get() as f64 / 3.0 / N as f64;
    assert!((0.02..0.03).contains(&measured), "{measured} of the instants are measured");
    let time = (nanoseconds(&engine, query) - before) as f64 / (20 * N) as f64;
    assert!((0.9..1.02).contains(&time), "{time} of the time");
}

/// After a measured instant there is a pause; an event in the pause that joins with ten thousand others must not be
/// charged as a short one.
#[test]
fn a_costly_instant_that_is_not_measured_is_charged_by_its_work() {
    let mut engine = timed_engine(1, 100_001);
    let text = "PREFIX : <http://ex/> SELECT ?x ?y WHERE { STREAM :s [RANGE 1h] { ?x :one ?a . ?y :many ?a } }";
    let query = register(&mut engine, text);
    let many: String = (0..10_000).map(|n| format!("<http://ex/{n}> <http://ex/many> 1 .")).collect();
    push(&mut engine, 1, &many);
    let arrival_ns = nanoseconds(&engine, query) / 10_000;
    STEP_NS.set(11);
    let mut at = 2;
    READINGS.set(0);
    while READINGS.get() == 0 {
        push(&mut engine, at, "<http://ex/a> <http://ex/one> 2 .");
        at += 1;
    }
    let before = nanoseconds(&engine, query);
    READINGS.set(0);
    push(&mut engine, at, "<http://ex/a> <http://ex/one> 1 .");
    let costly = nanoseconds(&engine, query) - before;
    assert_eq!(READINGS.get(), 0, "the costly instant is not measured");
    assert!(costly > 5_000 * arrival_ns, "{costly} ns, and {arrival_ns} ns for an arrival");
    push(&mut engine, at + 1, "<http://ex/a> <http://ex/one> 2 .");
    assert_eq!(READINGS.get(), 3, "the pause is over");
}

#[test]
fn a_query_that_fails_is_charged_no_more() {
    let limits = Limits { work: Some(5), ..Limits::default() };
    let mut engine = Engine::new(EngineOptions { limits, ..EngineOptions::default() });
    engine.lend_clock(ticking);
    STEP_NS.set(10);
    let query = register(&mut engine, &LOOK.replace("TRIPLES 1", "RANGE 1h"));
    push(&mut engine, 1, "<http://ex/a> <http://ex/p> 1, 2, 3, 4, 5, 6, 7, 8, 9 .");
    assert!(engine.drain(query).is_err(), "it has failed");
    let when_it_failed = nanoseconds(&engine, query);
    assert_eq!(when_it_failed, 10 + 20);
    push_many(&mut engine, 5);
    assert_eq!(nanoseconds(&engine, query), when_it_failed);
}

#[test]
fn neither_stats_nor_snapshots_know_of_the_clock() {
    let mut timed = timed_engine(0, 10);
    let mut timeless = Engine::new(EngineOptions::default());
    for engine in [&mut timed, &mut timeless] {
        register(engine, LOOK);
        push_many(engine, 20);
    }
    assert_eq!(timed.stats(), timeless.stats());
    assert!(timed.snapshot() == timeless.snapshot(), "the snapshots differ");
    let mut restored = Engine::restore(&timed.snapshot(), EngineOptions::default()).expect("a snapshot");
    restored.lend_clock(ticking);
    assert!(restored.evaluation_times().all(|(_, time)| time == Duration::ZERO));
}
