//! Laws 1 and 2: windows contain what they must, and the result is that of SPARQL over their content.

use crate::random::Random;
use crate::run::{Bag, drained, hold};
use crate::scenario::PREFIXES;
use whorl_engine::{Engine, EngineOptions, ParseOptions, QueryId, RdfFormat, Timestamp};

/// `subject predicate object`, all local names.
type Fact = [&'static str; 3];

fn push(engine: &mut Engine, at: i64, turtle: &str) -> bool {
    let rdf = format!("{PREFIXES}{turtle}");
    let report = engine
        .push("http://ex/s", Some(Timestamp::from_millis(at)), rdf.as_bytes(), RdfFormat::Turtle)
        .expect("an event");
    report.accepted == 1
}

fn register(engine: &mut Engine, select: &str, window: &str, body: &str, options: &ParseOptions) -> QueryId {
    let (head, tail) = select.split_once('|').unwrap_or((select, ""));
    let text = format!(
        "{PREFIXES} SELECT {head} FROM NAMED WINDOW :w ON :s [{window}] WHERE {{ WINDOW :w {{ {body} }} }} {tail}"
    );
    engine.register(&text, options).expect("the query registers")
}

#[test]
fn the_counts_of_tumbling_windows_add_up_to_the_accepted_events() {
    hold(1, |_, random| {
        let (width, t0) = (random.range(1, 15), random.range(-10, 10));
        let options = ParseOptions { t0: Some(Timestamp::from_millis(t0)), ..ParseOptions::default() };
        let mut engine = Engine::new(EngineOptions::default());
        let query = register(&mut engine, "(COUNT(?e) AS ?n)", &format!("RANGE {width}ms"), "?e :in ?x", &options);
        let (mut now, mut accepted) = (random.range(-15, 5), 0);
        for number in 0..random.range(1, 40) {
            now += *random.pick(&[0, 0, 1, 1, 2, 5, 30]);
            let at = now - if random.chance(20) { random.range(1, 20) } else { 0 };
            let triples = random.range(1, 3);
            let turtle: String = (0..triples).map(|i| format!(":e{number} :in :x{i} . ")).collect();
            if push(&mut engine, at, &turtle) && at >= t0 {
                accepted += triples;
            }
        }
        engine.close();
        let reports = drained(&mut engine, query);
        let count = |row: &str| {
            row.trim_start_matches('"').split('"').next().and_then(|n| n.parse::<i64>().ok()).expect("a count")
        };
        let counted: i64 = reports.iter().flat_map(|report| report.inserted.keys()).map(|row| count(row)).sum();
        assert_eq!(counted, accepted);
        Some(reports.len())
    });
}

/// Three queries whose results over a set of triples a few loops can compute.
const SHAPES: [(&str, &str); 3] = [
    ("?a ?b ?c", "?a :p ?b . ?b :q ?c"),
    ("?a ?b ?c", "?a :p ?b OPTIONAL { ?b :q ?c }"),
    ("?a (COUNT(?b) AS ?n) | GROUP BY ?a", "?a :p ?b"),
];

fn answer(shape: usize, facts: &[Fact]) -> Bag {
    let name = |local: &str| format!("<http://ex/{local}>");
    let (p, q) = (facts.iter().filter(|f| f[1] == "p"), || facts.iter().filter(|f| f[1] == "q"));
    let mut bag = Bag::new();
    let mut add = |row: String| *bag.entry(row).or_insert(0) += 1;
    match shape {
        2 => {
            let mut subjects: Vec<&str> = p.clone().map(|f| f[0]).collect();
            subjects.sort_unstable();
            subjects.dedup();
            for subject in subjects {
                let n = p.clone().filter(|f| f[0] == subject).count();
                add(format!("{} \"{n}\"^^<http://www.w3.org/2001/XMLSchema#integer>", name(subject)));
            }
        }
        _ => {
            for [a, _, b] in p {
                let (a, b_name) = (name(a), name(b));
                let matches: Vec<String> = q().filter(|f| f[0] == *b).map(|f| name(f[2])).collect();
                matches.iter().for_each(|c| add(format!("{a} {b_name} {c}")));
                if matches.is_empty() && shape == 1 {
                    add(format!("{a} {b_name} _"));
                }
            }
        }
    }
    bag
}

fn fact(random: &mut Random) -> Fact {
    [*random.pick(&["a", "a", "b", "c"]), *random.pick(&["p", "q"]), *random.pick(&["a", "b", "c"])]
}

#[test]
fn each_report_is_the_answer_over_the_union_of_the_window() {
    hold(2, |_, random| {
        let (width, slide, shape) = (random.range(1, 12), random.range(1, 8), random.below(3));
        let mut engine = Engine::new(EngineOptions::default());
        let (select, body) = SHAPES[shape];
        let window = format!("RANGE {width}ms STEP {slide}ms");
        let query = register(&mut engine, select, &window, body, &ParseOptions::default());
        let mut now = random.range(0, 8);
        let mut events: Vec<(i64, Fact)> = Vec::new();
        for _ in 0..random.range(3, 25) {
            let [s, p, o] = fact(random);
            push(&mut engine, now, &format!(":{s} :{p} :{o} ."));
            events.push((now, [s, p, o]));
            now += *random.pick(&[0, 0, 1, 2, 3, 12]);
        }
        engine.advance_to(Timestamp::from_millis(now + 30)).expect("a watermark");
        let reports = drained(&mut engine, query);
        let (first, mut expected) = (events[0].0, Vec::new());
        for open in
            (0..now + 30).step_by(slide as usize).filter(|open| open + width > first && open + width <= now + 30)
        {
            let mut facts: Vec<Fact> =
                events.iter().filter(|(at, _)| open <= *at && *at < open + width).map(|e| e.1).collect();
            facts.sort_unstable();
            facts.dedup();
            expected.push(((open, open + width), answer(shape, &facts)));
        }
        let got: Vec<_> = reports.into_iter().map(|report| (report.windows[0], report.inserted)).collect();
        assert_eq!(got, expected);
        Some(got.len())
    });
}
