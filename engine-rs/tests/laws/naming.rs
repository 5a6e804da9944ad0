//! Results do not depend on how a query is written and how things are named.

use crate::random::Random;
use crate::run::{Bag, Seen, envelopes, hold, reports, shuffle};
use crate::scenario::{Event, Scenario, Step};
use whorl_engine::EngineOptions;

const NAMES: [&str; 4] = ["a", "b", "c", "d"];

/// The text with `:a` to `:d` renamed.
fn renamed(text: &str, names: &[&str; 4]) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(':') {
        let (before, after) = rest.split_at(at + 1);
        out.push_str(before);
        let end = after.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(after.len());
        let word = &after[..end];
        out.push_str(NAMES.iter().position(|name| *name == word).map_or(word, |i| names[i]));
        rest = &after[end..];
    }
    out + rest
}

fn renamed_scenario(scenario: &Scenario, names: &[&str; 4]) -> Scenario {
    let mut scenario = scenario.clone();
    scenario.query = renamed(&scenario.query, names);
    scenario.statics = renamed(&scenario.statics, names);
    for step in &mut scenario.steps {
        if let Step::Event(Event { turtle, .. }) = step {
            *turtle = renamed(turtle, names);
        }
    }
    scenario
}

fn renamed_answer(text: &str, names: &[&str; 4]) -> String {
    let marked = NAMES
        .iter()
        .fold(text.to_owned(), |t, name| t.replace(&format!("http://ex/{name}>"), &format!("http://ex/#{name}>")));
    let pairs = NAMES.iter().zip(names);
    pairs.fold(marked, |t, (from, to)| t.replace(&format!("http://ex/#{from}>"), &format!("http://ex/{to}>")))
}

fn renamed_bag(bag: Bag, names: &[&str; 4]) -> Bag {
    bag.into_iter().map(|(row, n)| (renamed_answer(&row, names), n)).collect()
}

#[test]
fn new_names_in_the_same_order_give_the_same_bytes_under_new_names() {
    hold(12, |scenario: &Scenario, _| {
        let names = ["ka", "kb", "kc", "kd"];
        let bytes = |text: String| {
            NAMES
                .iter()
                .fold(text, |t, name| t.replace(&format!("http://ex/{name}\""), &format!("http://ex/k{name}\"")))
        };
        let expected: Vec<String> = envelopes(scenario, EngineOptions::default())?.into_iter().map(bytes).collect();
        let got = envelopes(&renamed_scenario(scenario, &names), EngineOptions::default())?;
        assert_eq!(got, expected);
        Some(got.len())
    });
}

#[test]
fn exchanged_names_give_exchanged_answers() {
    hold(22, |scenario: &Scenario, random| {
        if ["ORDER", "MIN(", "MAX(", "STR("].iter().any(|word| scenario.query.contains(word)) {
            return None;
        }
        let mut names = NAMES;
        shuffle(&mut names, random);
        let exchange = |seen: Seen| Seen {
            inserted: renamed_bag(seen.inserted, &names),
            deleted: renamed_bag(seen.deleted, &names),
            ..seen
        };
        let expected: Vec<Seen> = reports(scenario)?.into_iter().map(exchange).collect();
        let got = reports(&renamed_scenario(scenario, &names))?;
        assert_eq!(got, expected);
        Some(got.len())
    });
}

/// A pattern that shares a variable with earlier ones, so that most joins find something.
fn pattern(number: usize, random: &mut Random) -> String {
    let shared = random.below(number + 1);
    let predicate = *random.pick(&[":p", ":q", ":r"]);
    match random.chance(50) {
        true => format!("?v{shared} {predicate} ?v{}", number + 1),
        false => format!("?v{} {predicate} ?v{shared}", number + 1),
    }
}

#[test]
fn the_order_of_patterns_and_blocks_does_not_matter() {
    hold(32, |scenario: &Scenario, random| {
        let n = 2 + random.below(3);
        let mut blocks = [Vec::new(), Vec::new()];
        for number in 0..n {
            let block = if number == 0 { 0 } else { random.below(2) };
            blocks[block].push(pattern(number, random));
        }
        let windows: Vec<String> =
            (0..2).map(|i| format!("RANGE {}ms STEP {}ms", random.range(3, 12) + i, random.range(1, 6))).collect();
        let filter = if random.chance(40) { vec![format!("FILTER(?v{} != ?v{})", random.below(n), n)] } else { vec![] };
        let write = |blocks: &[Vec<String>; 2], random: &mut Random, mixed: bool| {
            let mut parts = filter.clone();
            let mut from = String::new();
            for (number, patterns) in blocks.iter().enumerate().filter(|(_, patterns)| !patterns.is_empty()) {
                let mut patterns = patterns.clone();
                if mixed {
                    shuffle(&mut patterns, random);
                }
                from += &format!("FROM NAMED WINDOW :w{number} ON :s [{}] ", windows[number]);
                parts.push(format!("WINDOW :w{number} {{ {} }}", patterns.join(" . ")));
            }
            if mixed {
                shuffle(&mut parts, random);
            }
            let shown: Vec<String> = (0..=n).map(|i| format!("?v{i}")).collect();
            format!("SELECT {} {from} WHERE {{ {} }}", shown.join(" "), parts.join(" "))
        };
        let mut plain = scenario.clone();
        plain.query = write(&blocks, random, false);
        let expected = envelopes(&plain, EngineOptions::default())?;
        for _ in 0..3 {
            let mut mixed = plain.clone();
            mixed.query = write(&blocks, random, true);
            assert_eq!(envelopes(&mixed, EngineOptions::default())?, expected, "{}\n{}", plain.query, mixed.query);
        }
        Some(expected.len())
    });
}
