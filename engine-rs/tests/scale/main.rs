//! A partitioned query emits the same bytes, instant by instant, as one engine that receives each batch sorted by time.
//!
//! Streams are random and favour trouble: equal timestamps, window borders ± 1 ms, gaps, copies, events behind the
//! watermark, one hot key. Batches are cut at random, routed by several calls, and their chunks shuffled; engines are
//! saved and restored in between. Does not detect: a fault that the embedded engine has too; the oracle does.

mod pair;
mod queries;
mod refusals;
mod streams;

use whorl_engine::{Bounds, ContentSemantics, ParseOptions, R2s, RdfFormat, Report, Tick, Timestamp};

use crate::pair::{compare, scaled};
use crate::queries::{PREFIX, QUERIES, merge_of, query_text, why};

#[test]
fn the_answers_are_those_of_one_engine() {
    let options = ParseOptions::default();
    for query in QUERIES {
        for r2s in ["RSTREAM", "ISTREAM", "DSTREAM"] {
            let text = query_text(query, r2s);
            let merges: Vec<&str> = query.3.split(' ').collect();
            let merge = merges[usize::from(r2s != "RSTREAM")];
            let found = merge_of(&scaled(&text, &options, 8, 0));
            assert_eq!(found, merge, "{text}");
            let mut n_rows = 0;
            for partitions in [1, 2, 8] {
                for seed in 0..4 {
                    n_rows += compare(&text, &options, partitions, seed * 1_000 + 17 * u64::from(partitions));
                }
            }
            assert!(n_rows > 8, "{n_rows} rows say little: {text}");
        }
    }
}

#[test]
fn signed_changes_bags_and_other_borders_are_those_of_one_engine() {
    let default = ParseOptions::default();
    let chosen = [
        ParseOptions { r2s: Some(R2s::Changes), ..default.clone() },
        ParseOptions { semantics: Some(ContentSemantics::Bag), ..default.clone() },
        ParseOptions { bounds: Some(Bounds::OpenClosed), r2s: Some(R2s::Changes), ..default.clone() },
        ParseOptions { partial: Some(true), t0: Some(Timestamp::from_millis(10_300)), ..default },
    ];
    for query in [&QUERIES[0], &QUERIES[1], &QUERIES[5], &QUERIES[11], &QUERIES[12], &QUERIES[23]] {
        for options in &chosen {
            (0..3).for_each(|seed| {
                compare(&query_text(query, "RSTREAM"), options, 3, seed + 100);
            });
        }
    }
    let windows = "FROM NAMED WINDOW :w ON :s [FROM NOW-3s TO NOW-1s STEP 500ms]";
    let text = query_text(&(QUERIES[5].0, windows, QUERIES[5].2, ""), "ISTREAM");
    (0..4).for_each(|seed| {
        compare(&text, &ParseOptions::default(), 4, seed);
    });
}

#[test]
fn what_cannot_be_spread_runs_on_one_partition_and_says_why() {
    let temp = "WINDOW :w { ?k :temp ?v }";
    let cases = [
        ("SELECT *", "[ELEMENTS 5]", temp, "counts what comes to all partitions"),
        ("SELECT *", "[TRIPLES 5]", temp, "counts what comes to all partitions"),
        ("SELECT *", "[NOW]", temp, "moves with every event"),
        (
            "SELECT ?a ?d",
            "[RANGE 2s]",
            "WINDOW :w { ?a :near ?b . ?c :temp ?d }",
            "share no variable as subject or object",
        ),
        ("SELECT ?a ?d", "[RANGE 2s]", "WINDOW :w { ?a :near ?b . ?b :near ?c . ?c :near ?d }", "share no variable"),
        ("SELECT ?a", "[RANGE 2s]", "WINDOW :w { ?a :near+ :k0 }", "no pattern reads a stream by its triples"),
        (
            "SELECT (COUNT(DISTINCT ?r) AS ?n)",
            "[RANGE 2s]",
            "WINDOW :w { ?k :temp ?v ; :in ?r }",
            "COUNT(DISTINCT ?r) cannot be computed from parts",
        ),
        (
            "SELECT (GROUP_CONCAT(STR(?r)) AS ?all)",
            "[RANGE 2s]",
            "WINDOW :w { ?k :temp ?v ; :in ?r }",
            "cannot be computed from parts",
        ),
        ("SELECT ?k (RAND() AS ?x)", "[RANGE 2s]", temp, "would produce different values"),
        ("SELECT ?k ?r", "[RANGE 2s]", "{ ?k :room ?r } UNION { WINDOW :w { ?k :in ?r } }", "reads static data alone"),
        (
            "SELECT ?k ?v",
            "[RANGE 2s]",
            "?k :room ?room OPTIONAL { WINDOW :w { ?k :temp ?v } }",
            "the left side of OPTIONAL",
        ),
        (
            "SELECT ?k ?m",
            "[RANGE 2s]",
            "WINDOW :w { ?k :temp ?v } { SELECT (MAX(?v) AS ?m) { WINDOW :w { ?k :temp ?v } } }",
            "groups without",
        ),
        ("CONSTRUCT { ?k :hot ?v }", "[RANGE 2s]", temp, "CONSTRUCT gives one graph"),
        ("ASK", "[RANGE 2s]", temp, "ASK gives one boolean"),
        ("CONSTRUCT { ?k :cold 1 }", "[RANGE 2s]", "WINDOW :w { ?k :temp 1 }", "CONSTRUCT gives one graph"),
        ("DESCRIBE ?k", "[RANGE 2s]", temp, "DESCRIBE reads every triple"),
        ("SELECT * ", "[RANGE 2s STEP 1s @ :temp]", temp, "reads its time from the data"),
    ];
    for (select, window, pattern, reason) in cases {
        let text = format!("{PREFIX}{select} FROM NAMED WINDOW :w ON :s {window} WHERE {{ {pattern} }}");
        let query = scaled(&text, &ParseOptions::default(), 8, 0);
        let why = why(&query);
        assert!(query.partitions() == 1 && why.contains(reason), "{why}: {text}");
        // Random values, and times in the data, come from the engine itself.
        if !text.contains("RAND") && !text.contains('@') {
            (0..3).for_each(|seed| {
                compare(&text, &ParseOptions::default(), 8, seed);
            });
        }
    }
    let text = format!("{PREFIX}SELECT * FROM NAMED WINDOW :w ON :s [RANGE 2s] WHERE {{ {temp} }}");
    let report = |report: Report| ParseOptions { report: Some(report), ..ParseOptions::default() };
    let chosen = [
        (report(Report { close: true, nonempty: true, ..Report::default() }), "report nonempty"),
        (report(Report { change: true, ..Report::default() }), "report change"),
        (ParseOptions { tick: Some(Tick::Tuple), ..ParseOptions::default() }, "tick tuple"),
    ];
    for (options, reason) in chosen {
        let why = why(&scaled(&text, &options, 8, 0));
        assert!(why.contains(reason), "{why}");
        (0..3).for_each(|seed| {
            compare(&text, &options, 8, seed);
        });
    }
}

/// The bytes per event sent to the single partition, without and with triples that no pattern matches.
fn sent(query: &str, options: &ParseOptions) -> [usize; 2] {
    let query = scaled(&format!("{PREFIX}{query}"), options, 8, 0);
    assert_eq!(query.partitions(), 1);
    ["", ":k :unread :something-else . :other :near :k ."].map(|unread| {
        let body = format!("@prefix : <http://ex/> . :k :temp 5 . {unread}");
        let batch = query.read_body(body.as_bytes(), RdfFormat::Turtle.into(), Some(Timestamp::EPOCH)).expect("a body");
        query.route("http://ex/s", &batch, 0).expect("one chunk")[0].len()
    })
}

#[test]
fn one_partition_is_sent_the_triples_that_its_patterns_match() {
    let select = "SELECT * FROM NAMED WINDOW :w ON :s";
    let pruned = [
        format!("{select} [RANGE 2s] WHERE {{ WINDOW :w {{ ?k :temp ?v }} }}"),
        format!("{select} [RANGE 2s @ :at] WHERE {{ WINDOW :w {{ ?k :temp ?v }} }}"),
        "ASK FROM NAMED WINDOW :w ON :s [NOW] WHERE { WINDOW :w { :k :temp ?v } }".to_owned(),
    ];
    let nonempty = Some(Report { close: true, nonempty: true, ..Report::default() });
    for text in &pruned {
        let [without, with] = sent(text, &ParseOptions { report: nonempty, ..ParseOptions::default() });
        assert_eq!(without, with, "{text}");
    }
    let whole = [
        format!("{select} [TRIPLES 5] WHERE {{ WINDOW :w {{ ?k :temp ?v }} }}"),
        format!("{select} [ELEMENTS 5] WHERE {{ WINDOW :w {{ ?k :temp ?v }} }}"),
        format!("{select} [RANGE 2s] WHERE {{ WINDOW :w {{ ?k :temp+ ?v }} }}"),
        format!("{select} [NOW] WHERE {{ WINDOW :w {{ ?k ?p ?v }} }}"),
        "DESCRIBE ?k FROM NAMED WINDOW :w ON :s [RANGE 2s] WHERE { WINDOW :w { ?k :temp ?v } }".to_owned(),
    ];
    for text in &whole {
        let [without, with] = sent(text, &ParseOptions::default());
        assert!(without < with, "{text}");
    }
}

#[test]
fn an_event_without_a_matching_triple_still_moves_the_time_of_one_partition() {
    let text = format!("{PREFIX}ASK FROM NAMED WINDOW :w ON :s [RANGE 2s] WHERE {{ WINDOW :w {{ ?k :never ?v }} }}");
    // The pair compares every report, so a window that an event closes must close here, too.
    (0..3).for_each(|seed| {
        compare(&text, &ParseOptions::default(), 8, seed);
    });
}
