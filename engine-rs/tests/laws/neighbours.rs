//! Laws 9 and 10: neither other queries nor the way of working show in the answer.

use crate::random::Random;
use crate::run::{envelopes, hold, json, prepared, step, text};
use crate::scenario::Scenario;
use whorl_engine::{Engine, EngineOptions, Probing, QueryId, Retraction, Thresholds};

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

/// The query with its constants exchanged for others: one template, and each member reads other triples.
fn member(scenario: &Scenario, random: &mut Random) -> Scenario {
    let families: [&[&str]; 3] = [&[":p", ":q", ":r"], &[":a", ":b", ":c"], &["0", "1", "2", "3"]];
    let mut other = |token: &str| {
        let family = families.iter().find(|family| family.contains(&token));
        family.map_or(token.to_owned(), |family| (*random.pick(family)).to_owned())
    };
    // Numbers behind these words belong to a window or to the end of the query.
    let mut is_size = false;
    let tokens = scenario.query.split(' ').map(|token| {
        let is_kept =
            std::mem::replace(&mut is_size, ["[TRIPLES", "[ELEMENTS", "STEP", "LIMIT", "OFFSET"].contains(&token));
        if is_kept { token.to_owned() } else { other(token) }
    });
    Scenario { query: tokens.collect::<Vec<_>>().join(" "), ..scenario.clone() }
}

#[test]
fn queries_of_one_template_answer_together_as_each_does_alone() {
    hold(12, |scenario: &Scenario, random| {
        let members: Vec<Scenario> = (0..5).map(|_| member(scenario, random)).collect();
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
