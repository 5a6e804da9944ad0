//! Laws 9 and 10: results depend neither on other queries nor on options that affect cost only.

use crate::random::Random;
use crate::run::{envelopes, hold, json, prepared, step, text};
use crate::scenario::{Event, PREFIXES, Scenario, Step, member};
use whorl_engine::{
    ContentSemantics, Engine, EngineOptions, Limits, ParseOptions, Probing, QueryId, R2s, Rare, RdfFormat, Report,
    Retraction, Thresholds, Tick, Timestamp,
};

/// Registers another random query, if the engine supports it.
fn beside(engine: &mut Engine, random: &mut Random) -> Option<QueryId> {
    let other = Scenario::quiet(random.next() >> 8);
    engine.register(&text(&other), &other.options).ok()
}

#[test]
fn other_queries_change_nothing_whenever_they_come_and_go() {
    hold(9, |scenario: &Scenario, random| {
        let expected = envelopes(scenario, EngineOptions::default())?;
        let thresholds = Thresholds { timelines_awake_max: 0, join_events_min: 1, ..Thresholds::default() };
        let mut engine = prepared(scenario, EngineOptions { thresholds, ..EngineOptions::default() });
        let mut others: Vec<QueryId> = (0..3).filter_map(|_| beside(&mut engine, random)).collect();
        let query = engine.register(&text(scenario), &scenario.options).ok()?;
        others.extend((0..3).filter_map(|_| beside(&mut engine, random)));
        // The same query once more, so that all it reads is shared.
        others.extend(engine.register(&text(scenario), &scenario.options));
        let mut got = Vec::new();
        for one in &scenario.steps {
            step(&mut engine, one);
            if random.chance(15) {
                others.extend(beside(&mut engine, random));
            }
            if random.chance(5) {
                others.extend(engine.register(&text(scenario), &scenario.options));
            }
            if random.chance(15) && !others.is_empty() {
                let dropped = others.swap_remove(random.below(others.len()));
                engine.unregister(dropped).expect("it runs");
            }
            got.extend(json(&mut engine, query));
        }
        assert_eq!(got, expected);
        Some(got.len())
    });
}

/// Queries of the template of a scenario.
fn members(scenario: &Scenario, other_lengths: bool, random: &mut Random) -> Vec<Scenario> {
    let mut one = || Scenario { query: member(&scenario.query, other_lengths, random), ..scenario.clone() };
    (0..5).map(|_| one()).collect()
}

#[test]
fn queries_of_one_template_answer_together_as_each_does_alone() {
    hold(12, |scenario: &Scenario, random| {
        let members = members(scenario, false, random);
        let alone: Vec<_> =
            members.iter().map(|member| envelopes(member, EngineOptions::default())).collect::<Option<_>>()?;
        let thresholds = if random.chance(50) { Thresholds::tiny() } else { Thresholds::default() };
        let mut engine = prepared(scenario, EngineOptions { thresholds, ..EngineOptions::default() });
        let ids: Vec<QueryId> =
            members.iter().map(|one| engine.register(&text(one), &one.options).expect("it registers alone")).collect();
        let mut together = vec![Vec::new(); members.len()];
        for one in &scenario.steps {
            step(&mut engine, one);
            for (id, got) in ids.iter().zip(&mut together) {
                got.extend(json(&mut engine, *id));
            }
        }
        assert_eq!(together, alone, "{members:?}");
        Some(alone.iter().map(Vec::len).sum())
    });
}

#[test]
fn no_probing_order_retraction_sharing_or_hash_seed_shows() {
    hold(10, |scenario: &Scenario, random| {
        let expected = envelopes(scenario, EngineOptions::default())?;
        for _ in 0..4 {
            let options = EngineOptions {
                hash_seed: random.next(),
                probing: if random.chance(80) { Probing::Fixed(random.next()) } else { Probing::Adaptive },
                retraction: *random.pick(&[Retraction::Auto, Retraction::Tree, Retraction::Probe]),
                sharing: random.chance(50),
                ..EngineOptions::default()
            };
            let got = envelopes(scenario, options)?;
            assert_eq!(got, expected, "{options:?}");
        }
        Some(expected.len())
    });
}

/// The two engines differ only in options that must have no effect.
#[test]
fn no_number_of_a_query_tells_whether_its_timeline_has_slept() {
    hold(13, |scenario: &Scenario, random| {
        let report = Report { change: true, nonempty: random.chance(60), ..Report::default() };
        let r2s = *random.pick(&[R2s::Istream, R2s::Dstream, R2s::Changes, R2s::Istream]);
        let is_alike = random.chance(60);
        let options = ParseOptions {
            report: if is_alike { Some(report) } else { scenario.options.report },
            tick: if is_alike { Some(Tick::Tuple) } else { scenario.options.tick },
            semantics: if is_alike { Some(ContentSemantics::Bag) } else { scenario.options.semantics },
            r2s: if is_alike { Some(r2s) } else { scenario.options.r2s },
            ..scenario.options.clone()
        };
        let members = members(scenario, true, random);
        let limits = Limits { work: random.chance(20).then(|| random.range(20, 200) as u64), ..Limits::default() };
        let thresholds =
            Thresholds { checks: true, timelines_awake_max: 0, join_events_min: 1, ..Thresholds::default() };
        let asleep = EngineOptions { thresholds, limits, ..EngineOptions::default() };
        let awake = EngineOptions { sharing: false, limits, ..EngineOptions::default() };
        let mut engines = [prepared(scenario, asleep), prepared(scenario, awake)];
        let mut ids = Vec::new();
        let mut heard = 0;
        for (number, one) in scenario.steps.iter().enumerate() {
            for _ in 0..if number == 0 { 3 } else { usize::from(random.chance(25) && ids.len() < 8) } {
                let text = text(random.pick(&members));
                let [left, right] = engines.each_mut().map(|engine| engine.register(&text, &options).ok());
                assert_eq!(left, right);
                ids.extend(left);
            }
            if random.chance(4) && !ids.is_empty() {
                let gone = ids.swap_remove(random.below(ids.len()));
                engines.iter_mut().for_each(|engine| engine.unregister(gone).expect("it is there"));
            }
            if random.chance(6) {
                engines[0] = Engine::restore(&engines[0].snapshot(), asleep).expect("a snapshot");
            }
            if random.chance(10) {
                engines.iter_mut().for_each(Engine::release_terms);
            }
            let [mut left, mut right] = engines.each_mut();
            match one {
                Step::Event(Event { stream, at, turtle }) => {
                    let rdf = format!("{PREFIXES}{turtle}");
                    let at = Some(Timestamp::from_millis(*at));
                    let push = |engine: &mut Engine| engine.push(stream, at, rdf.as_bytes(), RdfFormat::Turtle);
                    assert_eq!(push(left).expect("an event"), push(right).expect("an event"), "{one:?}");
                }
                other => [&mut left, &mut right].into_iter().for_each(|engine| step(engine, other)),
            }
            let numbers = |engine: &Engine| {
                let mut queries = engine.stats().queries;
                // Once all queries that share a timeline have failed, it follows only watermarks and shows nothing.
                for query in queries.iter_mut().filter(|_| limits.work.is_some()) {
                    (query.windows, query.clock) = (Vec::new(), None);
                }
                queries
            };
            assert_eq!(numbers(&*left), numbers(&*right), "after {one:?}");
            for id in &ids {
                let [left, right] = [&mut left, &mut right].map(|engine| engine.drain_json(*id, "q"));
                heard += left.as_ref().map_or(0, Vec::len);
                assert_eq!(format!("{left:?}"), format!("{right:?}"), "{id:?} after {one:?}");
            }
        }
        (!ids.is_empty()).then_some(heard)
    });
    for rare in [Rare::FellAsleep, Rare::WokenUp, Rare::Joined] {
        assert!(!cfg!(debug_assertions) || rare.count() > 100, "{rare:?}: {}", rare.count());
    }
}
