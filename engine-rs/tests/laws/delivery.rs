//! Laws 4, 5 and 8: results do not depend on how the events are delivered.

use crate::random::Random;
use crate::run::{by_time, envelopes, hold, in_order, json, shuffle, started, step, time};
use crate::scenario::{Event, PREFIXES, Scenario, Step};
use std::fmt::Write;
use whorl_engine::{Engine, EngineOptions, RdfFormat, parse_rdf};

const GENERATED_AT: &str = "http://www.w3.org/ns/prov#generatedAtTime";
const LONG: &str = "http://www.w3.org/2001/XMLSchema#long";

/// Events of one stream as one document: each is a graph, with its time in the default graph.
fn push_together(engine: &mut Engine, events: &[Step], as_trig: bool) {
    let mut document = String::new();
    let mut on = "";
    for (number, event) in events.iter().enumerate() {
        let Step::Event(Event { stream, at, turtle }) = event else { panic!("only events are pushed together") };
        on = stream;
        let graph = format!("<urn:event:{number}>");
        let timed = writeln!(document, "{graph} <{GENERATED_AT}> \"{at}\"^^<{LONG}> .");
        timed.expect("text");
        if as_trig {
            writeln!(document, "{graph} {{ {turtle} }}").expect("text");
            continue;
        }
        for quad in parse_rdf(format!("{PREFIXES}{turtle}").as_bytes(), RdfFormat::Turtle, None).expect("Turtle") {
            writeln!(document, "{} {} {} {graph} .", quad.subject, quad.predicate, quad.object).expect("text");
        }
    }
    let (text, format) = match as_trig {
        true => (format!("{PREFIXES}{document}"), RdfFormat::TriG),
        false => (document, RdfFormat::NQuads),
    };
    let report = engine.push(on, None, text.as_bytes(), format).expect("a document");
    assert_eq!(report.accepted + report.late, events.len() as u64);
}

/// Runs of events on one stream with non-decreasing times, which can be one document.
fn documents(steps: &[Step], random: &mut Random) -> Vec<Vec<Step>> {
    let mut documents: Vec<Vec<Step>> = Vec::new();
    for next in steps {
        let joins = match (documents.last().and_then(|d| d.last()), next) {
            (Some(Step::Event(Event { stream, at, .. })), Step::Event(Event { stream: on, at: then, .. })) => {
                stream == on && at <= then
            }
            _ => false,
        };
        match documents.last_mut() {
            Some(document) if joins && random.chance(85) => document.push(next.clone()),
            _ => documents.push(vec![next.clone()]),
        }
    }
    documents
}

#[test]
fn documents_of_many_events_give_what_the_events_give_one_by_one() {
    hold(4, |scenario: &Scenario, random| {
        let expected = envelopes(scenario, EngineOptions::default())?;
        let (mut engine, query) = started(scenario, EngineOptions::default())?;
        let as_trig = random.chance(50);
        let mut got = Vec::new();
        for document in documents(&scenario.steps, random) {
            match document.as_slice() {
                [one @ (Step::Watermark(_) | Step::Close)] => step(&mut engine, one),
                events => push_together(&mut engine, events, as_trig),
            }
            // Results can be drained now or much later.
            if random.chance(30) {
                got.extend(json(&mut engine, query));
            }
        }
        got.extend(json(&mut engine, query));
        assert_eq!(got, expected);
        Some(got.len())
    });
}

#[test]
fn events_of_one_instant_may_come_in_any_order() {
    hold(5, |scenario: &Scenario, random| {
        let scenario = in_order(&by_time(scenario)?);
        let expected = envelopes(&scenario, EngineOptions::default())?;
        let mut permuted = scenario.clone();
        permuted.steps.chunk_by_mut(|a, b| time(a) == time(b)).for_each(|instant| shuffle(instant, random));
        let (mut engine, query) = started(&permuted, EngineOptions::default())?;
        permuted.steps.iter().for_each(|one| step(&mut engine, one));
        let got = json(&mut engine, query);
        assert_eq!(got, expected, "{}", permuted.describe());
        Some(got.len())
    });
}

#[test]
fn disorder_within_the_lateness_changes_nothing() {
    hold(6, |scenario: &Scenario, random| {
        let mut scenario = in_order(&by_time(scenario)?);
        let lateness = random.range(1, 12);
        for stream in ["http://ex/s", "http://ex/s2"] {
            scenario.lateness.insert(stream.to_owned(), lateness);
        }
        let expected = envelopes(&scenario, EngineOptions::default())?;
        let mut late = scenario.clone();
        // Each event is delayed by at most the lateness.
        let mut keyed: Vec<(i64, Step)> =
            late.steps.drain(..).map(|s| (time(&s).saturating_add(random.range(0, lateness)), s)).collect();
        keyed.sort_by_key(|(key, _)| *key);
        late.steps = keyed.into_iter().map(|(_, step)| step).collect();
        let got = envelopes(&late, EngineOptions::default())?;
        assert_eq!(got, expected, "{}", late.describe());
        Some(got.len())
    });
}

#[test]
fn a_replay_gives_the_same_bytes_also_after_a_stop_halfway() {
    hold(8, |scenario: &Scenario, random| {
        let expected = envelopes(scenario, EngineOptions::default())?;
        let (mut engine, query) = started(scenario, EngineOptions::default())?;
        let stop = random.below(scenario.steps.len());
        scenario.steps[..stop].iter().for_each(|one| step(&mut engine, one));
        let before_the_stop = json(&mut engine, query);
        drop(engine);
        let again = envelopes(scenario, EngineOptions::default())?;
        assert_eq!(again, expected);
        assert!(again.starts_with(&before_the_stop), "the replay begins with what was said before the stop");
        Some(again.len())
    });
}
