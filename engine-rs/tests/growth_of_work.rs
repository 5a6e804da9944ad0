//! How the work of one evaluation grows: constant in the width of the windows, in the rows of a closing window and in
//! the static data, linear in the size of an event, and without peaks at single events.
//!
//! The query's budget counts the work, so these laws hold on any machine: an engine with a limit stops a query at the
//! first evaluation that exceeds it. Each law comes with a query, or a way to evaluate it, that breaks it. Does not
//! detect: anything that is not counted as work, such as memory that is copied when a structure grows.

use whorl_engine::rdf::{NamedNode, Triple};
use whorl_engine::{
    ContentSemantics, Engine, EngineOptions, Evaluation, Limits, ParseOptions, QueryId, RdfFormat, Timestamp,
};

fn engine(work: u64, evaluation: Evaluation) -> Engine {
    let limits = Limits { work: Some(work), ..Limits::default() };
    Engine::new(EngineOptions { limits, evaluation, ..EngineOptions::default() })
}

fn register(engine: &mut Engine, text: &str) -> QueryId {
    let options = ParseOptions { semantics: Some(ContentSemantics::Set), ..ParseOptions::default() };
    engine.register(&format!("PREFIX : <http://ex/> {text}"), &options).expect("a query")
}

fn node(name: impl std::fmt::Display) -> NamedNode {
    NamedNode::new_unchecked(format!("http://ex/{name}"))
}

fn triple(subject: i64, predicate: &str, object: i64) -> Triple {
    Triple::new(node(subject), node(predicate), node(object))
}

/// The new rows, or `None` once the query has stopped.
fn push(engine: &mut Engine, query: QueryId, stream: &str, at: i64, triples: &[Triple]) -> Option<usize> {
    engine.push_triples(&format!("http://ex/{stream}"), Timestamp::from_millis(at), triples).expect("an event");
    engine.drain(query).ok().map(|results| results.len())
}

/// A chain of three windows in which every key occurs exactly once: how many events fit into the budget, and how many
/// of them bring a result.
fn chain(width: i64, work: u64, evaluation: Evaluation) -> (i64, usize) {
    let mut engine = engine(work, evaluation);
    let window = |n: usize| format!("STREAM :s{n} [TRIPLES {width}] {{ ?v{n} :p{n} ?v{} }}", n + 1);
    let query = register(&mut engine, &format!("SELECT * WHERE {{ {} {} {} }}", window(0), window(1), window(2)));
    let (mut affordable, mut fruitful) = (0, 0);
    for at in 0..3 * width + 3_000 {
        let (stream, turn) = (at % 3, at / 3);
        let (subject, object) = (turn * 7 % width, (turn * 11 + stream + turn / width) % width);
        let found =
            push(&mut engine, query, &format!("s{stream}"), at, &[triple(subject, &format!("p{stream}"), object)]);
        let Some(results) = found else { break };
        affordable += 1;
        fruitful += results;
    }
    (affordable, fruitful)
}

#[test]
fn work_is_flat_in_the_width_of_the_windows() {
    const WORK: u64 = 100;
    for width in [257, 4_099] {
        let (affordable, fruitful) = chain(width, WORK, Evaluation::Incremental);
        assert_eq!(affordable, 3 * width + 3_000, "width {width}");
        assert!(fruitful > 1_000, "{fruitful} events of width {width} have a result");
    }
    let (affordable, _) = chain(257, WORK, Evaluation::Reevaluate);
    assert!(affordable < 257, "re-evaluation affords {affordable} events");
}

/// A stream beside static data that grows by ten triples between events, of which an event needs one: how many events
/// fit into the budget.
fn beside_static(triples: i64, join: &str, work: u64) -> i64 {
    let mut engine = engine(work, Evaluation::Incremental);
    let query = register(&mut engine, &format!("SELECT * WHERE {{ STREAM :s [TRIPLES 10] {{ ?k :p ?v }} {join} }}"));
    let affordable = |at: &i64| {
        let fact = |n: i64| format!("<http://ex/{n}> <http://ex/q> <http://ex/{n}> .\n");
        let facts: String = (10 * at..10 * at + 10).map(fact).collect();
        engine.load(None, facts.as_bytes(), RdfFormat::NTriples).expect("static data");
        push(&mut engine, query, "s", *at, &[triple(*at, "p", *at)]).is_some()
    };
    (0..triples / 10).take_while(affordable).count() as i64
}

#[test]
fn work_is_flat_in_the_static_data() {
    const WORK: u64 = 400;
    assert_eq!(beside_static(5_000, "?k :q ?w", WORK), 500);
    // Without a shared variable every static triple is part of a result.
    assert!(beside_static(5_000, "?j :q ?w", WORK) < 50);
}

/// Events of this many stars of four triples: how many of ten fit into the budget.
fn stars(per_event: i64, pattern: &str, work: u64) -> usize {
    let mut engine = engine(work, Evaluation::Incremental);
    let query = register(&mut engine, &format!("SELECT * WHERE {{ STREAM :s [ELEMENTS 1] {{ {pattern} }} }}"));
    let star = |n: i64| ["p", "q", "r", "unread"].map(|predicate| triple(n, predicate, n + 1));
    let event = |at: i64| (0..per_event).flat_map(|n| star(at * per_event + n)).collect::<Vec<_>>();
    let fruitful = |at: &i64| push(&mut engine, query, "s", *at, &event(*at)).is_some_and(|results| results == 1);
    (0..10).take_while(fruitful).count()
}

#[test]
fn work_is_linear_in_the_size_of_an_event() {
    const WORK_PER_STAR: u64 = 50;
    for stars_per_event in [20, 640] {
        let work = WORK_PER_STAR * stars_per_event as u64;
        assert_eq!(stars(stars_per_event, "?s :p ?a ; :q ?b ; :r ?c", work), 10, "{stars_per_event} stars");
    }
    assert!(stars(640, "?s :p ?a . ?t :q ?b", WORK_PER_STAR * 640) < 10, "a product is quadratic");
}

/// Events of ten groups, one per millisecond, up to the second close after the window is full: how many fit into the
/// budget.
fn until_closes(select: &str, (width, step): (i64, i64), work: u64) -> bool {
    let mut engine = engine(work, Evaluation::Incremental);
    let query = register(
        &mut engine,
        &format!(
            "{select} FROM NAMED WINDOW :w ON :s [RANGE {width}ms STEP {step}ms] WHERE {{ WINDOW :w {{ ?g :p ?v }} }} GROUP BY ?g"
        ),
    );
    let mut results = 0;
    for at in 0..width + 2 * step + 1 {
        match push(&mut engine, query, "s", at, &[triple(at % 10, "p", at)]) {
            Some(found) => results += found,
            None => return false,
        }
    }
    results > 1
}

#[test]
fn the_work_of_a_close_is_flat_in_the_rows_of_its_window() {
    const WORK: u64 = 4_000;
    for (width, step) in [(1_000, 1_000), (20_000, 20_000), (20_000, 2_000), (20_000, 21_000)] {
        assert!(until_closes("SELECT ?g (COUNT(?v) AS ?n)", (width, step), WORK), "RANGE {width} STEP {step}");
    }
    // An aggregate over all rows of a group visits the rows of the window.
    assert!(!until_closes("SELECT ?g (GROUP_CONCAT(STR(?v)) AS ?n)", (20_000, 20_000), WORK));
}

/// Stars of two triples in each of two windows, compared by numbers that hardly ever overlap: how many events fit into
/// the budget.
fn compared_stars(width: i64, filter: &str, work: u64) -> (i64, usize) {
    let mut engine = engine(work, Evaluation::Incremental);
    let star = |n: usize, x: &str| format!("STREAM :s{n} [ELEMENTS {width}] {{ ?s{n} :p{n} {x} ; :q{n} ?v{n} }}");
    let query = register(&mut engine, &format!("SELECT * WHERE {{ {} {} {filter} }}", star(0, "?x"), star(1, "?y")));
    let (mut affordable, mut fruitful) = (0, 0);
    for at in 0..3 * width {
        let (side, turn) = (at % 2, at / 2);
        let number = whorl_engine::rdf::Literal::from(turn * 7 % width + side * (width - 3));
        let first = Triple::new(node(turn), node(format!("p{side}")), number);
        let found =
            push(&mut engine, query, &format!("s{side}"), at, &[first, triple(turn, &format!("q{side}"), turn)]);
        let Some(results) = found else { break };
        affordable += 1;
        fruitful += results;
    }
    (affordable, fruitful)
}

#[test]
fn work_is_flat_in_the_width_of_windows_of_stars_that_a_filter_compares() {
    const WORK: u64 = 200;
    for width in [257, 2_053] {
        let (affordable, fruitful) = compared_stars(width, "FILTER(?x > ?y)", WORK);
        assert_eq!(affordable, 3 * width, "width {width}");
        assert!(fruitful > 3, "{fruitful} events of width {width} have a result");
    }
    let (affordable, _) = compared_stars(257, "FILTER(?x * 1 > ?y * 1)", WORK);
    assert!(affordable < 3 * 257, "without an order, {affordable} events are affordable");
}
