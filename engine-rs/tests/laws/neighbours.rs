//! Laws 9 and 10: neither other queries nor the way of working show in the answer.

use crate::random::Random;
use crate::run::{envelopes, hold, json, prepared, step, text};
use crate::scenario::Scenario;
use whorl_engine::{Engine, EngineOptions, Probing, QueryId, Retraction};

/// Registers another random query, if the engine supports it.
fn beside(engine: &mut Engine, random: &mut Random) -> Option<QueryId> {
    let other = Scenario::quiet(random.next() >> 8);
    engine.register(&text(&other), &other.options).ok()
}

#[test]
fn other_queries_change_nothing_whenever_they_come_and_go() {
    hold(9, |scenario: &Scenario, random| {
        let expected = envelopes(scenario, EngineOptions::default())?;
        let mut engine = prepared(scenario, EngineOptions::default());
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
