//! The engine against its slow twin, at every instant, on random queries and streams.
//!
//! `WHORL_PAIRS` sets the number of pairs, `WHORL_SEED` the first seed; a failure prints its seed and a scenario that
//! is reduced to the steps that matter. `WHORL_PAIR_MS` abandons a pair if the twin takes longer: a few pairs in ten
//! thousand, with many rows in a product, would take most of the time of a long campaign.

#![expect(clippy::print_stderr, reason = "a campaign says what it has covered")]

mod naive;
mod random;
mod run;
mod scenario;
mod solve;

use run::{Outcome, compare, engine_reports, ways};
use scenario::Scenario;
use std::time::Duration;
use whorl_engine::{EngineOptions, Rare};

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

fn pairs() -> u64 {
    let is_long = std::env::var("WHORL_CAMPAIGN").is_ok_and(|campaign| campaign == "long");
    setting("WHORL_PAIRS", if is_long { 100_000 } else { 2000 })
}

/// How often this many pairs must take a path, so that its faults would be detected; few pairs prove nothing about it.
fn floor(rare: Rare, pairs: u64) -> u64 {
    match rare {
        _ if pairs < 10_000 => 0,
        // Late queries join where both timelines show the same: equal keys, windows by time, nothing stored in trees.
        Rare::Joined => pairs / 200,
        Rare::Breached => pairs / 100,
        Rare::StaticFollowed | Rare::ExpiredAhead => pairs / 50,
        _ => pairs / 10,
    }
}

/// Drops steps as long as the difference remains.
fn shrink(scenario: &Scenario, differs: impl Fn(&Scenario) -> bool) -> Scenario {
    let mut small = scenario.clone();
    let mut at = 0;
    while at < small.steps.len() {
        let mut shorter = small.clone();
        shorter.steps.remove(at);
        if differs(&shorter) {
            small = shorter;
        } else {
            at += 1;
        }
    }
    small
}

/// A panic is a difference, too.
fn checked(scenario: &Scenario, limit: Duration) -> Outcome {
    std::panic::catch_unwind(|| compare(scenario, limit)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or_default();
        Outcome::Different(format!("a panic: {text}"))
    })
}

#[test]
fn the_engine_equals_re_evaluation_at_every_instant() {
    let (pairs, first) = (pairs(), setting("WHORL_SEED", 1));
    let mut counts = [0_u64; 4];
    let limit = Duration::from_millis(setting("WHORL_PAIR_MS", u64::MAX));
    let mut wrong = Vec::new();
    for seed in first..first + pairs {
        let scenario = Scenario::generate(seed);
        match checked(&scenario, limit) {
            Outcome::Same { reports } => counts[usize::from(reports > 0)] += 1,
            Outcome::Refused => counts[2] += 1,
            Outcome::GivenUp => counts[3] += 1,
            Outcome::Different(_) => {
                eprintln!("seed {seed} differs");
                wrong.push(seed);
            }
        }
        if wrong.len() >= 3 {
            break;
        }
    }
    let [silent, same, refused, given_up] = counts;
    eprintln!(
        "seeds {first}..{}: {same} with reports, {silent} without, {refused} refused, {given_up} given up",
        first + pairs
    );
    Rare::ALL.iter().for_each(|rare| eprintln!("{rare:?}: {}", rare.count()));
    if let Some(seed) = wrong.first() {
        // A difference is worth any amount of time.
        let is_different = |s: &Scenario| matches!(checked(s, Duration::MAX), Outcome::Different(_));
        let small = shrink(&Scenario::generate(*seed), is_different);
        let Outcome::Different(text) = checked(&small, Duration::MAX) else { panic!("shrunk away") };
        panic!("seeds {wrong:?} differ; seed {seed}, cut down:\n{}\n{text}", small.describe());
    }
    for rare in Rare::ALL {
        assert!(rare.count() >= floor(rare, pairs), "{rare:?} was too rare to be tested: {}", rare.count());
    }
    assert!(same * 2 > pairs, "most pairs must emit results: {counts:?}");
    assert!(refused * 10 < pairs, "few queries may be refused: {counts:?}");
    assert!(given_up * 100 <= pairs, "few pairs may be given up: {counts:?}");
}

#[test]
fn no_way_of_working_shows_in_the_answer() {
    let (pairs, first) = (pairs() / 4, setting("WHORL_SEED", 1) + 1_000_000);
    for seed in first..first + pairs {
        let scenario = Scenario::generate(seed);
        let Some(expected) = engine_reports(&scenario, EngineOptions::default(), 1) else { continue };
        for (way, options, batch) in ways() {
            let got = engine_reports(&scenario, options, batch).expect("the query registers in every way");
            assert!(got == expected, "seed {seed}, {way}:\n{}\n{expected:?}\n{got:?}", scenario.describe());
        }
    }
}
