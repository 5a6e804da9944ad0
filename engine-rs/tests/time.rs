//! Special cases of time: the order of a body, late events, bounds, distant timestamps, unreadable times.

use whorl_engine::{
    Answered, BodyFormat, Engine, EngineOptions, IngestReport, ParseOptions, PushOptions, QueryId, QueryResult, R2s,
    RdfFormat, Report, Span, StreamOptions, Tick, Timestamp, rdf,
};

const S: &str = "http://ex/s";

fn engine_with(text: &str, options: &ParseOptions) -> (Engine, QueryId) {
    let mut engine = Engine::new(EngineOptions::default());
    let query = engine.register(&format!("PREFIX : <http://ex/> {text}"), options).expect("a query");
    (engine, query)
}

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millis(ms)
}

fn push(engine: &mut Engine, ms: i64) -> IngestReport {
    let node = |name: &str| rdf::NamedNode::new_unchecked(format!("http://ex/{name}"));
    let triple = rdf::Triple::new(node(&format!("e{ms}")), node("in"), node("x"));
    engine.push_triples(S, at(ms), &[triple]).expect("an event")
}

fn instants(results: &[QueryResult]) -> Vec<i64> {
    results.iter().map(|result| result.at.as_millis()).collect()
}

const TUMBLING: &str =
    "SELECT (COUNT(*) AS ?n) FROM NAMED WINDOW :w ON :s [RANGE 50ms] WHERE { WINDOW :w { ?e :in :x } }";

/// The events 30, 60 and 10 in one body of each format.
fn bodies() -> Vec<(Vec<u8>, BodyFormat)> {
    let times = [30, 60, 10];
    let stamp = |ms: &i64| format!("<http://ex/g{ms}> <http://www.w3.org/ns/prov#generatedAtTime> \"{ms}\" .\n");
    let quad = |ms: &i64| format!("<http://ex/e{ms}> <http://ex/in> <http://ex/x> <http://ex/g{ms}> .\n");
    let graph = |ms: &i64| format!("<http://ex/g{ms}> {{ <http://ex/e{ms}> <http://ex/in> <http://ex/x> }}\n");
    let line = |ms: &i64| {
        format!(
            "{{\"t\":{ms},\"event\":{{\"@id\":\"http://ex/e{ms}\",\"http://ex/in\":{{\"@id\":\"http://ex/x\"}}}}}}\n"
        )
    };
    let stamps: String = times.iter().map(stamp).collect();
    let of = |write: &dyn Fn(&i64) -> String| -> String { times.iter().map(write).collect() };
    vec![
        (format!("{stamps}{}", of(&quad)).into_bytes(), RdfFormat::NQuads.into()),
        (format!("{}{stamps}", of(&graph)).into_bytes(), RdfFormat::TriG.into()),
        (of(&line).into_bytes(), BodyFormat::NdJson),
    ]
}

#[test]
fn a_body_means_what_its_events_mean_one_after_the_other() {
    let (mut engine, query) = engine_with(TUMBLING, &ParseOptions::default());
    let late: u64 = [30, 60, 10].into_iter().map(|ms| push(&mut engine, ms).late).sum();
    engine.close();
    let singly = engine.drain_json(query, "q").expect("results");
    assert_eq!(late, 1);
    for (body, format) in bodies() {
        let (mut engine, query) = engine_with(TUMBLING, &ParseOptions::default());
        let report = engine.push_body(S, None, &body, format, &PushOptions::default()).expect("a body");
        assert_eq!((report.events, report.late), (3, late), "{format:?}");
        engine.close();
        assert_eq!(engine.drain_json(query, "q").expect("results"), singly, "{format:?}");
    }
}

#[test]
fn a_window_that_has_not_closed_has_no_bounds() {
    let text = "SELECT ?a FROM NAMED WINDOW :w ON :s [RANGE 5ms] FROM NAMED WINDOW :l ON :s [ALL]
        WHERE { WINDOW :l { ?a :in :x } OPTIONAL { WINDOW :w { ?a :in :y } } }";
    let (mut engine, query) = engine_with(text, &ParseOptions::default());
    push(&mut engine, 1);
    push(&mut engine, 6);
    let envelopes = engine.drain_json(query, "q").expect("results");
    let windows = |at: usize| -> serde_json::Value {
        serde_json::from_slice::<serde_json::Value>(&envelopes[at]).expect("JSON")["windows"].clone()
    };
    let shown = |open: Option<i64>, close: Option<i64>, now: i64| {
        serde_json::json!([{"name": "http://ex/w", "open": open, "close": close},
            {"name": "http://ex/l", "open": null, "close": now}])
    };
    assert_eq!(windows(0), shown(None, None, 1));
    assert_eq!(windows(1), shown(Some(0), Some(5), 4));
}

#[test]
fn an_empty_stretch_is_reported_window_by_window_and_then_as_one() {
    let text = "SELECT (COUNT(*) AS ?n) FROM NAMED WINDOW :w ON :s [RANGE 2ms] WHERE { WINDOW :w { ?e :in :x } }";
    let (mut engine, query) = engine_with(text, &ParseOptions::default());
    push(&mut engine, 0);
    push(&mut engine, 100_000);
    let results = engine.drain(query).expect("results");
    // One window with content, ten thousand empty ones, and the other 39,999 as one.
    assert_eq!(results.len(), 10_002);
    let (rest, one_by_one) = results.split_last().expect("results");
    assert_eq!(instants(one_by_one), (1..=10_001).map(|k| 2 * k).collect::<Vec<_>>());
    assert!(one_by_one.iter().all(|result| result.skipped.is_none()));
    let skipped = rest.skipped.expect("the rest");
    assert_eq!((skipped.from, skipped.to, skipped.windows), (at(20_004), at(100_000), 39_999));
    assert_eq!((rest.at, rest.windows[0].close, rest.seq), (at(100_000), at(100_000), 10_002));
    push(&mut engine, 100_002);
    let next = engine.drain(query).expect("results");
    assert_eq!((instants(&next), next[0].skipped), (vec![100_002], None));
}

#[test]
fn ten_thousand_empty_windows_report_one_by_one() {
    let (mut engine, query) = engine_with(
        "SELECT ?e FROM NAMED WINDOW :w ON :s [RANGE 2ms] WHERE { WINDOW :w { ?e :in :x } }",
        &ParseOptions::default(),
    );
    push(&mut engine, 0);
    push(&mut engine, 20_002);
    let results = engine.drain(query).expect("results");
    assert_eq!(results.len(), 10_001);
    assert!(results.iter().all(|result| result.skipped.is_none()));
}

#[test]
fn the_envelope_names_what_was_skipped() {
    let text = "SELECT ?e FROM NAMED WINDOW :w ON :s [RANGE 2ms] WHERE { WINDOW :w { ?e :in :x } }";
    let (mut engine, query) = engine_with(text, &ParseOptions::default());
    push(&mut engine, 0);
    push(&mut engine, 100_000);
    let envelopes = engine.drain_json(query, "q").expect("results");
    let last: serde_json::Value = serde_json::from_slice(envelopes.last().expect("results")).expect("JSON");
    assert_eq!(last["skipped"], serde_json::json!({"from": 20_004, "to": 100_000, "windows": 39_999}));
    let first: serde_json::Value = serde_json::from_slice(&envelopes[0]).expect("JSON");
    assert_eq!(first.get("skipped"), None);
}

#[test]
fn an_event_that_waits_for_its_past_ends_no_empty_stretch() {
    let text = "SELECT ?e FROM NAMED WINDOW :w ON :s [FROM NOW-30000ms TO NOW-29999ms STEP 1ms]
        WHERE { WINDOW :w { ?e :in :x } }";
    let (mut engine, query) = engine_with(text, &ParseOptions::default());
    push(&mut engine, 100_000);
    push(&mut engine, 129_000);
    let results = engine.drain(query).expect("results");
    let skipped = results.last().and_then(|result| result.skipped).expect("the rest");
    assert_eq!((results.len(), skipped.windows, skipped.to), (10_001, 19_000, at(129_000)));
    push(&mut engine, 131_000);
    let results = engine.drain(query).expect("results");
    let is_shown =
        |result: &&QueryResult| matches!(&result.answer, Answered::Bindings { inserted, .. } if !inserted.is_empty());
    let shown: Vec<i64> = results.iter().filter(is_shown).map(|result| result.at.as_millis()).collect();
    assert_eq!((results.len(), shown), (2_000, vec![130_000]));
}

/// The results of a query over an event at 0 and one at 100,000.
fn across_a_gap(windows: &str, options: &ParseOptions) -> Vec<QueryResult> {
    let other = if windows.contains(":v") { "OPTIONAL { WINDOW :v { ?e :in :y } }" } else { "" };
    let text = format!("SELECT ?e {windows} WHERE {{ WINDOW :w {{ ?e :in :x }} {other} }}");
    let (mut engine, query) = engine_with(&text, options);
    push(&mut engine, 0);
    push(&mut engine, 100_000);
    engine.drain(query).expect("results")
}

fn periodic(close: bool, ms: i64) -> ParseOptions {
    let report = Report { close, change: false, nonempty: false, periodic: Some(Span::from_millis(ms)) };
    ParseOptions { report: Some(report), ..ParseOptions::default() }
}

fn skipped(results: &[QueryResult]) -> (i64, i64, u64) {
    let skipped = results.last().and_then(|result| result.skipped).expect("the rest");
    (skipped.from.as_millis(), skipped.to.as_millis(), skipped.windows)
}

#[test]
fn what_stands_for_the_rest_is_a_report_like_the_others() {
    let results = across_a_gap("FROM NAMED WINDOW :w ON :s [RANGE 2ms]", &periodic(true, 3));
    assert_eq!(instants(&results[..10_000]), (1..=10_000).map(|k| 6 * k).collect::<Vec<_>>());
    assert_eq!((results.len(), results[10_000].at, skipped(&results)), (10_001, at(99_996), (60_006, 99_996, 6_666)));
}

#[test]
fn windows_that_close_together_are_one_report() {
    let windows = "FROM NAMED WINDOW :w ON :s [RANGE 2ms] FROM NAMED WINDOW :v ON :s [RANGE 3ms]";
    let results = across_a_gap(windows, &ParseOptions::default());
    // Reports at multiples of 2 or 3: three with content, ten thousand without, and the rest as one.
    let due: Vec<i64> = (1..=100_000).filter(|ms| ms % 2 == 0 || ms % 3 == 0).collect();
    assert_eq!(instants(&results[..10_003]), due[..10_003]);
    assert_eq!(skipped(&results), (due[10_003], 100_000, (due.len() - 10_003) as u64));
}

#[test]
fn periods_are_counted_and_not_the_windows_that_close_between() {
    let results = across_a_gap("FROM NAMED WINDOW :w ON :s [RANGE 1ms]", &periodic(false, 7));
    assert_eq!(instants(&results[..10_000]), (1..=10_000).map(|k| 7 * k).collect::<Vec<_>>());
    assert_eq!(skipped(&results), (70_007, 99_995, 4_285));
}

#[test]
fn a_long_period_over_short_windows_costs_the_readings_it_reports() {
    let (mut engine, query) = engine_with(
        "SELECT ?e FROM NAMED WINDOW :w ON :s [RANGE 1ms] WHERE { WINDOW :w { ?e :in :x } }",
        &periodic(true, 86_400_000),
    );
    push(&mut engine, 0);
    push(&mut engine, 864_000_000_000);
    let results = engine.drain(query).expect("results");
    assert_eq!((results.len(), results[0].at, results[9_999].at), (10_000, at(86_400_000), at(864_000_000_000)));
}

const BESIDE_ALL: &str = "FROM NAMED WINDOW :w ON :s [RANGE 1ms] FROM NAMED WINDOW :l ON :s [ALL]";

#[test]
fn what_follows_the_clock_is_said_at_each_reading_while_something_is_in_view() {
    let text = format!(
        "SELECT ?e (NOW() AS ?now) {BESIDE_ALL}
        WHERE {{ WINDOW :l {{ ?e :in :x }} OPTIONAL {{ WINDOW :w {{ ?e :in :y }} }} }}"
    );
    let options = ParseOptions { r2s: Some(R2s::Istream), ..ParseOptions::default() };
    let (mut engine, query) = engine_with(&text, &options);
    push(&mut engine, 0);
    push(&mut engine, 20_000);
    let results = engine.drain(query).expect("results");
    assert_eq!(instants(&results), (0..=20_000).collect::<Vec<_>>());
    // Even such a query is limited: the event, its window, the first empty one, a hundred thousand more, and the rest
    // as one.
    push(&mut engine, 31_556_952_000_000);
    let results = engine.drain(query).expect("results");
    assert_eq!((results.len(), skipped(&results).1), (100_004, 31_556_952_000_000));
}

#[test]
fn what_comes_on_an_idle_stream_after_its_windows_have_closed_is_late() {
    let text = "SELECT ?a FROM NAMED WINDOW :w ON :s [RANGE 5ms] FROM NAMED WINDOW :v ON :idle [RANGE 5ms]
        WHERE { WINDOW :w { ?a :in :x } WINDOW :v { ?b :in :x } }";
    let (mut engine, query) = engine_with(text, &ParseOptions::default());
    engine.mark_idle("http://ex/idle").expect("a stream");
    push(&mut engine, 1);
    push(&mut engine, 20);
    assert_eq!(engine.drain(query).expect("results").len(), 4);
    let node = rdf::NamedNode::new_unchecked("http://ex/x");
    let mut push_idle = |ms| {
        let triple = rdf::Triple::new(node.clone(), rdf::NamedNode::new_unchecked("http://ex/in"), node.clone());
        let report = engine.push_triples("http://ex/idle", at(ms), &[triple]).expect("an event");
        (report.accepted, report.late)
    };
    // Its stream has seen nothing yet, but the query has moved on without it.
    assert_eq!([push_idle(3), push_idle(22)], [(0, 1), (1, 0)]);
}

/// Readings of a query from an event to one a thousand years later.
fn across_a_millennium(text: &str, options: &ParseOptions) -> (usize, u64) {
    let (mut engine, query) = engine_with(text, options);
    let report = push(&mut engine, 0);
    assert_eq!(report.accepted, 1);
    assert_eq!(push(&mut engine, 31_556_952_000_000).accepted, 1);
    let evaluations = engine.stats().queries[0].evaluations;
    (engine.drain(query).expect("results").len(), evaluations)
}

#[test]
fn no_time_is_too_far_ahead() {
    let report = |close, change, nonempty, periodic: Option<i64>| {
        let report = Report { close, change, nonempty, periodic: periodic.map(Span::from_millis) };
        ParseOptions { report: Some(report), ..ParseOptions::default() }
    };
    let step = "SELECT ?e FROM NAMED WINDOW :w ON :s [RANGE 1ms] WHERE { WINDOW :w { ?e :in :x } }";
    let beside = "SELECT ?e FROM NAMED WINDOW :w ON :s [RANGE 1ms] FROM NAMED WINDOW :l ON :s [ALL]
        WHERE { WINDOW :l { ?e :in :x } OPTIONAL { WINDOW :w { ?e :in :y } } }";
    assert_eq!(across_a_millennium(step, &report(true, false, false, None)).0, 10_002);
    assert_eq!(across_a_millennium(step, &report(true, false, true, None)).0, 1);
    assert_eq!(across_a_millennium(step, &report(true, true, false, None)).0, 2);
    assert_eq!(across_a_millennium(step, &report(false, true, true, None)).0, 1);
    assert_eq!(across_a_millennium(step, &report(false, true, true, Some(3))).0, 1);
    // The event itself, its window, the first empty one, ten thousand more, and the rest as one.
    assert_eq!(across_a_millennium(beside, &report(true, false, false, None)).0, 10_004);
    let all = "SELECT ?e FROM NAMED WINDOW :l ON :s [ALL] WHERE { WINDOW :l { ?e :in :x } }";
    assert_eq!(across_a_millennium(all, &report(false, false, false, Some(7))).0, 10_001);
}

#[test]
fn what_only_says_what_is_new_says_nothing_of_an_empty_stretch() {
    for r2s in [R2s::Istream, R2s::Dstream, R2s::Changes] {
        let text = "SELECT ?e FROM NAMED WINDOW :w ON :s [RANGE 1ms] WHERE { WINDOW :w { ?e :in :x } }";
        let options = ParseOptions { r2s: Some(r2s), ..ParseOptions::default() };
        let (results, evaluations) = across_a_millennium(text, &options);
        assert_eq!(results, if r2s == R2s::Changes { 2 } else { 1 }, "{r2s:?}");
        assert!(evaluations < 10, "{r2s:?}: {evaluations} evaluations");
    }
}

#[test]
fn a_time_in_the_data_that_cannot_be_read_concerns_that_query_alone() {
    let text = "SELECT ?e FROM NAMED WINDOW :w ON :s [RANGE 5ms @ :time] WHERE { WINDOW :w { ?e :time ?t } }";
    let (mut engine, by_data) = engine_with(text, &ParseOptions::default());
    let plain =
        "PREFIX : <http://ex/> SELECT ?e FROM NAMED WINDOW :w ON :s [RANGE 5ms] WHERE { WINDOW :w { ?e :time ?t } }";
    let plain = engine.register(plain, &ParseOptions::default()).expect("a query");
    for (ms, time) in [(1, "\"2\""), (2, "\"soon\""), (9, "\"9\"")] {
        let turtle = format!("<http://ex/e{ms}> <http://ex/time> {time} .");
        let report = engine.push(S, Some(at(ms)), turtle.as_bytes(), RdfFormat::Turtle).expect("an event");
        assert_eq!((report.accepted, report.late), (1, 0));
    }
    let rows = |engine: &mut Engine, query| -> Vec<usize> {
        let results = engine.drain(query).expect("results");
        results
            .iter()
            .map(|result| match &result.answer {
                whorl_engine::Answered::Bindings { inserted, .. } => inserted.len(),
                _ => 0,
            })
            .collect()
    };
    assert_eq!(rows(&mut engine, by_data), [1]);
    assert_eq!(rows(&mut engine, plain), [2]);
    let counted: Vec<u64> = engine.stats().queries.iter().map(|query| query.unreadable_times).collect();
    assert_eq!(counted, [1, 0]);
}

#[test]
fn with_tick_tuple_an_event_nobody_takes_does_not_hide_what_expires_at_its_instant() {
    let text = "SELECT ?e WHERE { STREAM :s [RANGE 5ms] { ?e :in :x } STREAM :t [RANGE 1ms SLIDE 10ms] { ?f :in :x } }";
    let report = Report { close: false, change: true, nonempty: false, periodic: None };
    let options = ParseOptions {
        report: Some(report),
        tick: Some(Tick::Tuple),
        r2s: Some(R2s::Rstream),
        allow_cartesian: true,
        ..ParseOptions::default()
    };
    let mut engine = Engine::new(EngineOptions::default());
    engine.declare_stream("http://ex/t", StreamOptions::default()).expect("a stream");
    let query = engine.register(&format!("PREFIX : <http://ex/> {text}"), &options).expect("a query");
    push(&mut engine, 0);
    // Between two windows of its stream, at the instant at which the first event expires.
    engine
        .push("http://ex/t", Some(at(5)), b"<http://ex/f> <http://ex/in> <http://ex/x> .", RdfFormat::Turtle)
        .expect("an event");
    push(&mut engine, 8);
    assert_eq!(instants(&engine.drain(query).expect("results")), [0, 5, 8]);
}

/// They mean "before all events" and "after all events": as times, the first would create a mapping that is dead on
/// arrival, and the second would end the stream.
#[test]
fn the_first_and_the_last_number_are_no_times() {
    let by_data = "SELECT ?e FROM NAMED WINDOW :w ON :s [RANGE 5ms @ :when] WHERE { WINDOW :w { ?e :in :x } }";
    let (mut engine, query) = engine_with(by_data, &ParseOptions::default());
    let text = |when: i64| format!("<http://ex/e> <http://ex/in> <http://ex/x> ; <http://ex/when> {when} .");
    for ms in [i64::MIN, i64::MAX] {
        let refused = engine.push(S, Some(at(ms)), text(1).as_bytes(), RdfFormat::Turtle);
        assert_eq!(refused.map_err(|error| error.code()), Err("timestamp.invalid"), "{ms}");
        // In the data: the event is not in the windows that take their time from there.
        engine.push(S, Some(at(1)), text(ms).as_bytes(), RdfFormat::Turtle).expect("an event");
    }
    assert_eq!(engine.stats().queries[0].unreadable_times, 2);
    for ms in [i64::MIN + 1, i64::MAX - 1] {
        engine.push(S, Some(at(2)), text(ms).as_bytes(), RdfFormat::Turtle).expect("an event");
    }
    engine.close();
    assert!(engine.drain(query).is_ok(), "far times break nothing");
}
