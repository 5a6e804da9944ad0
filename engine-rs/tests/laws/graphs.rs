//! GRAPH with a variable is the union over the names of the graphs, whatever is inside: sub-queries with LIMIT or
//! aggregates, OPTIONAL, MINUS, EXISTS, VALUES.

use crate::random::Random;
use crate::run::{Seen, drained, hold, prepared, step};
use crate::scenario::{Event, PREFIXES, Scenario, Step};
use whorl_engine::{Engine, EngineOptions, QueryId, RdfFormat, Timestamp};

const GRAPHS: [&str; 2] = [":g1", ":g2"];
const SHOWN: &str = "?a ?b ?c ?d ?e ?result ?rows ?g";

/// The parts of a query: its visible variables, its window declarations, its pattern, and its modifiers.
struct Parts<'a> {
    form: &'a str,
    windows: &'a str,
    pattern: &'a str,
    tail: &'a str,
}

fn parts(query: &str) -> Option<Parts<'_>> {
    let (head, rest) = query.strip_prefix("SELECT ")?.split_once("WHERE { ")?;
    let (pattern, tail) = rest.rsplit_once(" }")?;
    let (form, windows) = head.split_at(head.find("FROM ").unwrap_or(head.len()));
    Some(Parts { form, windows, pattern, tail })
}

/// The pattern without its blocks of windows.
fn bare(pattern: &str) -> String {
    let words: Vec<&str> = pattern.split(' ').collect();
    let mut kept = Vec::new();
    let mut rest = words.as_slice();
    while let [word, after @ ..] = rest {
        rest = after;
        if *word == "WINDOW" {
            rest = &after[1..];
        } else {
            kept.push(*word);
        }
    }
    kept.join(" ")
}

/// The same pattern in each graph, by a variable and by the names.
fn both(inside: &str) -> [String; 2] {
    let one = |name: &&str| format!("{{ GRAPH {name} {{ {inside} }} BIND({name} AS ?g) }}");
    let union: Vec<String> = GRAPHS.iter().map(one).collect();
    [format!("GRAPH ?g {{ {inside} }}"), union.join(" UNION ")]
}

fn push(engine: &mut Engine, one: &Step, graph: Option<&str>) {
    let (Step::Event(Event { stream, at, turtle }), Some(graph)) = (one, graph) else { return step(engine, one) };
    let trig = format!("{PREFIXES}{graph} {{ {turtle} }}");
    let at = Some(Timestamp::from_millis(*at));
    engine.push(stream, at, trig.as_bytes(), RdfFormat::TriG).expect("an event");
}

/// Runs the queries side by side, each event in some graph or in none; the number of reports with rows, if there are any.
fn compared(scenario: &Scenario, texts: &[String; 2], statics: &str, random: &mut Random) -> Option<usize> {
    let mut engine = prepared(scenario, EngineOptions::default());
    engine.update(&format!("{PREFIXES}INSERT DATA {{ {statics} }}"), None).expect("static graphs");
    let ids = texts.each_ref().map(|text| engine.register(&format!("{PREFIXES}{text}"), &scenario.options));
    let ids: [QueryId; 2] = match ids {
        [Ok(variable), Ok(names)] => [variable, names],
        // Re-evaluation does not support graphs of events.
        _ => return None,
    };
    let mut n_reports = 0;
    for one in &scenario.steps {
        let graph = if random.chance(95) { Some(*random.pick(&GRAPHS)) } else { None };
        push(&mut engine, one, graph.filter(|_| statics.is_empty()));
        let [got, expected]: [Vec<Seen>; 2] = ids.map(|id| drained(&mut engine, id));
        assert_eq!(got, expected, "{one:?} of {texts:#?}");
        n_reports += got.iter().filter(|seen| !(seen.inserted.is_empty() && seen.deleted.is_empty())).count();
    }
    (n_reports > 0).then_some(n_reports)
}

#[test]
fn the_graphs_of_events_are_evaluated_one_by_one() {
    hold(41, |scenario: &Scenario, random| {
        let Parts { form, windows, pattern, tail } = parts(&scenario.query)?;
        let window = windows.split_once("FROM NAMED WINDOW :w1").map_or(windows, |(first, _)| first);
        let window = window.strip_prefix("FROM ")?;
        let inside = format!("SELECT {form} WHERE {{ {} }} {tail}", bare(pattern));
        let texts =
            both(&inside).map(|graphs| format!("SELECT {SHOWN} FROM {window} WHERE {{ WINDOW :w0 {{ {graphs} }} }}"));
        compared(scenario, &texts, "", random)
    });
}

#[test]
fn a_window_inside_static_graphs_is_read_for_each_of_them() {
    hold(42, |scenario: &Scenario, random| {
        let Parts { form, windows, pattern, tail } = parts(&scenario.query)?;
        if windows.is_empty() {
            return None;
        }
        let names = [":a", ":b", ":c"];
        let mut triple = |graph: &&str| {
            let (from, by, to) =
                (random.pick(&names), random.pick(&[":static", ":p"]), random.pick(&[":a", ":b", "1"]));
            format!("GRAPH {graph} {{ {from} {by} {to} }} ")
        };
        let statics: String = std::iter::repeat_n(GRAPHS, 4).flatten().map(|graph| triple(&graph)).collect();
        let more =
            ["", "", "OPTIONAL { ?a :static ?e }", "FILTER NOT EXISTS { ?a :static 1 }", "MINUS { ?a :static ?b }"];
        let inside = format!("SELECT {form} WHERE {{ {pattern} {} }} {tail}", random.pick(&more));
        let texts = both(&inside).map(|graphs| format!("SELECT {SHOWN} {windows} WHERE {{ {graphs} }}"));
        compared(scenario, &texts, &statics, random)
    });
}
