//! Law 3: additions and removals add up to the current result.

use crate::run::{Bag, drained, hold, minus, prepared, step, text};
use crate::scenario::Scenario;
use whorl_engine::{EngineOptions, ParseOptions, QueryId, R2s};

fn add(sum: &mut Bag, bag: &Bag, sign: i64) {
    for (row, n) in bag {
        *sum.entry(row.clone()).or_insert(0) += sign * n;
    }
    sum.retain(|_, n| *n != 0);
}

#[test]
fn each_answer_is_the_one_before_with_istream_added_and_dstream_taken_away() {
    hold(3, |scenario: &Scenario, _| {
        let mut engine = prepared(scenario, EngineOptions::default());
        let mut register = |r2s| {
            let options = ParseOptions { r2s: Some(r2s), ..scenario.options.clone() };
            engine.register(&text(scenario), &options).ok()
        };
        let ways = [R2s::Rstream, R2s::Istream, R2s::Dstream, R2s::Changes];
        let queries: Vec<QueryId> = ways.into_iter().map(&mut register).collect::<Option<_>>()?;
        let mut seen = [const { Vec::new() }; 4];
        for one in &scenario.steps {
            step(&mut engine, one);
            for (seen, query) in seen.iter_mut().zip(&queries) {
                seen.extend(drained(&mut engine, *query));
            }
        }
        let [answers, istream, dstream, changes] = seen;
        let (mut previous, mut sum) = (Bag::new(), Bag::new());
        let (mut came, mut went) = (istream.iter(), dstream.iter());
        let mut both = changes.iter();
        for answer in &answers {
            let (inserted, deleted) = (minus(&answer.inserted, &previous), minus(&previous, &answer.inserted));
            if !inserted.is_empty() {
                let report = came.next().expect("an ISTREAM report for what came");
                assert_eq!((report.at, &report.windows, &report.inserted), (answer.at, &answer.windows, &inserted));
            }
            if !deleted.is_empty() {
                let report = went.next().expect("a DSTREAM report for what went");
                assert_eq!((report.at, &report.windows, &report.deleted), (answer.at, &answer.windows, &deleted));
            }
            if !inserted.is_empty() || !deleted.is_empty() {
                let report = both.next().expect("a report of changes");
                assert_eq!((report.at, &report.inserted, &report.deleted), (answer.at, &inserted, &deleted));
            }
            previous.clone_from(&answer.inserted);
        }
        assert!(came.next().is_none() && went.next().is_none() && both.next().is_none(), "no report without a change");
        istream.iter().for_each(|report| add(&mut sum, &report.inserted, 1));
        dstream.iter().for_each(|report| add(&mut sum, &report.deleted, -1));
        assert_eq!(sum, previous, "the sum of all signs is the last answer");
        Some(answers.len())
    });
}
