//! Law 31: the current result does not depend on what the query reports, and equals what RSTREAM reports.

use crate::run::{hold, json, prepared, step, text};
use crate::scenario::Scenario;
use whorl_engine::{AnswerFormat, Engine, EngineOptions, ParseOptions, Probing, QueryId, R2s, Report, Retraction};

fn answer(engine: &mut Engine, query: QueryId) -> String {
    String::from_utf8(engine.answer(query, AnswerFormat::Json).expect("an answer")).expect("JSON is UTF-8")
}

fn sorted_lines(engine: &mut Engine, query: QueryId) -> Vec<String> {
    let tsv = String::from_utf8(engine.answer(query, AnswerFormat::Tsv).expect("an answer")).expect("TSV is UTF-8");
    let mut lines: Vec<String> = tsv.lines().map(str::to_owned).collect();
    lines.sort_unstable();
    lines
}

#[test]
fn the_current_answer_is_the_same_whatever_of_it_is_reported() {
    hold(31, |scenario: &Scenario, random| {
        let options = EngineOptions {
            retraction: *random.pick(&[Retraction::Auto, Retraction::Tree, Retraction::Probe]),
            probing: Probing::Fixed(random.next()),
            ..EngineOptions::default()
        };
        let mut engine = prepared(scenario, options);
        let mut register = |r2s| {
            let options = ParseOptions { r2s: Some(r2s), keep_answer: true, ..scenario.options.clone() };
            engine.register(&text(scenario), &options).ok()
        };
        let ways = [R2s::Rstream, R2s::Istream, R2s::Dstream, R2s::Changes];
        let queries: Vec<QueryId> = ways.into_iter().map(&mut register).collect::<Option<_>>()?;
        // DISTINCT may hide the columns that the order needs; then only RSTREAM, which shows an order, stores them.
        let is_ordered = !scenario.query.contains("DISTINCT");
        let mut telling = 0;
        for one in &scenario.steps {
            step(&mut engine, one);
            let rstream = answer(&mut engine, queries[0]);
            let lines = sorted_lines(&mut engine, queries[0]);
            telling += usize::from(lines.len() > 1);
            for query in &queries[1..] {
                assert_eq!(sorted_lines(&mut engine, *query), lines, "{query:?} after {one:?}");
                if is_ordered {
                    assert_eq!(answer(&mut engine, *query), rstream, "{query:?} after {one:?}");
                }
            }
        }
        // Results that are always empty prove nothing.
        (telling > 0).then_some(telling)
    });
}

#[test]
fn the_current_answer_is_what_rstream_reported_last() {
    hold(32, |scenario: &Scenario, _| {
        // Without any condition, every reading is reported.
        let options =
            ParseOptions { r2s: Some(R2s::Rstream), report: Some(Report::default()), ..scenario.options.clone() };
        let mut engine = prepared(scenario, EngineOptions::default());
        let query = engine.register(&text(scenario), &options).ok()?;
        let mut reports = 0;
        for one in &scenario.steps {
            step(&mut engine, one);
            let envelopes = json(&mut engine, query);
            reports += envelopes.len();
            if let Some(last) = envelopes.last() {
                let end = format!("\"results\":{}}}", answer(&mut engine, query));
                assert!(last.ends_with(&end), "after {one:?}\nreported {last}\ncurrent {end}");
            }
        }
        Some(reports)
    });
}
