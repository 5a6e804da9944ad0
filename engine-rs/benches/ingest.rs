//! From bytes to ids: bodies of sensor observations in every text format, either stored by a query or read by none.
//!
//! Prints triples per second of this thread's CPU time, beside the rate of the format's parser alone in the same run.
//! The query joins four patterns, one of which never matches: triples are stored in windows, but there are no results.
//! With `WHORL_CASE` one case runs alone, `WHORL_ROUNDS` times, without the parser: under callgrind or memcheck, the
//! difference between two numbers of rounds is the cost of the triples between them.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::fmt::Write;
use std::sync::OnceLock;
use std::time::Instant;
use whorl_engine::{BodyFormat, Engine, EngineOptions, ParseOptions, PushOptions, RdfFormat, Timestamp, parse_rdf};

const STREAM: &str = "http://ex/s";
const OBSERVATIONS: usize = 334;
/// Triples per body.
const TRIPLES: usize = OBSERVATIONS * 3;
/// The number of different bodies, which are repeated.
const BODIES: usize = 50;
const KEEPS: &str = "PREFIX sosa: <http://www.w3.org/ns/sosa/>
     SELECT ?o ?n FROM NAMED WINDOW <http://ex/w> ON <http://ex/s> [RANGE 10s] WHERE { WINDOW <http://ex/w> {
       ?o sosa:madeBySensor ?s . ?o sosa:hasSimpleResult ?v . ?o sosa:resultTime ?t . ?o <http://ex/never> ?n } }";
const IGNORES: &str = "SELECT ?o ?n FROM NAMED WINDOW <http://ex/w> ON <http://ex/s> [RANGE 10s]
     WHERE { WINDOW <http://ex/w> { ?o <http://ex/never> ?n } }";

#[derive(Clone, Copy, PartialEq)]
enum Form {
    /// A body is one event.
    Lines,
    /// A body has one event per line, each in a named graph.
    Quads,
    /// Each line is a body.
    Single,
    Turtle,
    TriG,
    JsonLd,
}

impl Form {
    fn format(self) -> RdfFormat {
        match self {
            Self::Lines | Self::Single => RdfFormat::NTriples,
            Self::Quads => RdfFormat::NQuads,
            Self::Turtle => RdfFormat::Turtle,
            Self::TriG => RdfFormat::TriG,
            Self::JsonLd => RdfFormat::JsonLd,
        }
    }

    fn bodies(self) -> Vec<Vec<u8>> {
        let bodies = (0..BODIES).map(|body| self.body(body * OBSERVATIONS));
        match self {
            Self::Single => bodies
                .flat_map(|body| body.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>())
                .collect(),
            _ => bodies.collect(),
        }
    }

    fn body(self, first: usize) -> Vec<u8> {
        let mut text = match self {
            Self::Turtle | Self::TriG => String::from(
                "@prefix sosa: <http://www.w3.org/ns/sosa/> .\n@prefix o: <http://example.org/data/observation/> .\n\
                 @prefix s: <http://example.org/data/sensor/> .\n@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .\n",
            ),
            Self::JsonLd => String::from(
                "{\"@context\":{\"@vocab\":\"http://www.w3.org/ns/sosa/\",\"xsd\":\"http://www.w3.org/2001/XMLSchema#\",\
                 \"madeBySensor\":{\"@type\":\"@id\"},\"hasSimpleResult\":{\"@type\":\"xsd:double\"},\
                 \"resultTime\":{\"@type\":\"xsd:dateTime\"}},\"@graph\":[",
            ),
            _ => String::new(),
        };
        if self == Self::TriG {
            text.push_str("<http://example.org/graph> {\n");
        }
        for number in first..first + OBSERVATIONS {
            // Writing to a string does not fail.
            let _ = self.write(&mut text, number, number == first);
        }
        match self {
            Self::TriG => text.push_str("}\n"),
            Self::JsonLd => text.push_str("]}"),
            _ => {}
        }
        text.into_bytes()
    }

    fn write(self, to: &mut String, number: usize, is_first: bool) -> std::fmt::Result {
        const XSD: &str = "http://www.w3.org/2001/XMLSchema#";
        let (sensor, value) = (number * 7 % 500, 15.0 + (number * 37 % 1000) as f64 / 100.0);
        let time = format!(
            "2024-05-{:02}T{:02}:{:02}:{:02}Z",
            number / 1440 % 28 + 1,
            number / 60 % 24,
            number % 60,
            number * 7 % 60
        );
        match self {
            Self::Lines | Self::Single | Self::Quads => {
                let subject = format!("<http://example.org/data/observation/{number}>");
                let objects = [
                    ("madeBySensor", format!("<http://example.org/data/sensor/{sensor}>")),
                    ("hasSimpleResult", format!("\"{value}\"^^<{XSD}double>")),
                    ("resultTime", format!("\"{time}\"^^<{XSD}dateTime>")),
                ];
                for (predicate, object) in objects {
                    write!(to, "{subject} <http://www.w3.org/ns/sosa/{predicate}> {object}")?;
                    match self {
                        Self::Quads => writeln!(to, " <http://example.org/g/{number}/{predicate}> .")?,
                        _ => to.push_str(" .\n"),
                    }
                }
                Ok(())
            }
            Self::Turtle | Self::TriG => writeln!(
                to,
                "o:{number} sosa:madeBySensor s:{sensor} ; sosa:hasSimpleResult \"{value}\"^^xsd:double ; sosa:resultTime \"{time}\"^^xsd:dateTime ."
            ),
            Self::JsonLd => write!(
                to,
                "{}{{\"@id\":\"http://example.org/data/observation/{number}\",\"madeBySensor\":\"http://example.org/data/sensor/{sensor}\",\"hasSimpleResult\":\"{value}\",\"resultTime\":\"{time}\"}}",
                if is_first { "" } else { "," }
            ),
        }
    }
}

struct Case {
    name: &'static str,
    form: Form,
    query: &'static str,
}

const CASES: [Case; 8] = [
    Case { name: "ntriples", form: Form::Lines, query: KEEPS },
    Case { name: "ntriples-ignored", form: Form::Lines, query: IGNORES },
    Case { name: "nquads-single", form: Form::Quads, query: KEEPS },
    Case { name: "ntriples-single", form: Form::Single, query: KEEPS },
    Case { name: "ntriples-single-ignored", form: Form::Single, query: IGNORES },
    Case { name: "turtle", form: Form::Turtle, query: KEEPS },
    Case { name: "trig", form: Form::TriG, query: KEEPS },
    Case { name: "jsonld", form: Form::JsonLd, query: KEEPS },
];

struct Running {
    engine: Engine,
    now: i64,
}

impl Running {
    fn new(query: &str) -> Self {
        let mut engine = Engine::new(EngineOptions::default());
        engine.register(query, &ParseOptions::default()).expect("the query registers");
        Self { engine, now: 0 }
    }

    /// Measures one pass over all bodies; returns nanoseconds per triple.
    fn round(&mut self, form: Form, bodies: &[Vec<u8>]) -> f64 {
        let format = BodyFormat::from(form.format());
        let per_body = if form == Form::Single { 1 } else { 1000 };
        let start = cpu_ns();
        for body in bodies {
            self.now += per_body;
            let at = Some(Timestamp::from_millis(self.now));
            self.engine.push_body(STREAM, at, body, format, &PushOptions::default()).expect("a body");
        }
        (cpu_ns() - start) / (BODIES * TRIPLES) as f64
    }
}

/// The CPU time of this thread, or wall time if the system does not provide it.
fn cpu_ns() -> f64 {
    // The system updates its CPU accounting when a thread yields, and otherwise only at intervals.
    std::thread::yield_now();
    let said = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let spent = said.and_then(|said| said.split(' ').next()?.parse().ok());
    static BEGINNING: OnceLock<Instant> = OnceLock::new();
    spent.unwrap_or_else(|| BEGINNING.get_or_init(Instant::now).elapsed().as_nanos() as f64)
}

fn resident_bytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    status.split(' ').nth(1).and_then(|pages| pages.parse::<f64>().ok()).unwrap_or(0.0) * 4096.0
}

fn parse_round(form: Form, bodies: &[Vec<u8>]) -> f64 {
    let start = cpu_ns();
    bodies.iter().for_each(|body| drop(parse_rdf(body, form.format(), None).expect("a body")));
    (cpu_ns() - start) / (BODIES * TRIPLES) as f64
}

fn median(mut values: Vec<f64>) -> (f64, f64, f64) {
    values.sort_by(f64::total_cmp);
    (values[values.len() / 2], values[0], values[values.len() - 1])
}

fn report(name: &str, ns: Vec<f64>) {
    let (middle, least, most) = median(ns);
    let rate = |ns: f64| 1e3 / ns;
    println!("{name}: {:.2} M triples/s [{:.2}–{:.2}], {middle:.0} ns", rate(middle), rate(most), rate(least));
}

fn measure(case: &Case, rounds: usize) {
    let bodies = case.form.bodies();
    let mut running = Running::new(case.query);
    running.round(case.form, &bodies);
    let (mut ours, mut parsing) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        ours.push(running.round(case.form, &bodies));
        parsing.push(parse_round(case.form, &bodies));
    }
    report(case.name, ours);
    report(&format!("  {} by the parser alone", case.form.format().name()), parsing);
}

/// The memory of a dictionary beyond the texts of its terms.
fn measure_terms(n_terms: usize) {
    const TEXT: usize = 49;
    let mut engine = Engine::new(EngineOptions::default());
    let mut text = String::new();
    for n in 0..3 {
        text.push_str(&format!("<http://ex/warm/{n}> <http://ex/p> <http://ex/o> .\n"));
    }
    engine.load(None, text.as_bytes(), RdfFormat::NTriples).expect("static data");
    let before = resident_bytes();
    for number in 0..n_terms {
        let node = format!("http://example.org/data/some/observation/{number:08}");
        assert_eq!(node.len(), TEXT);
        engine.pin(&whorl_engine::rdf::NamedNode::new_unchecked(node).into());
    }
    let bytes = (resident_bytes() - before) / n_terms as f64;
    println!("dictionary of {n_terms} terms: {:.1} bytes a term beyond its text", bytes - TEXT as f64);
}

fn main() {
    let setting = |name: &str| std::env::var(name).ok();
    let rounds = setting("WHORL_ROUNDS").and_then(|value| value.parse().ok());
    if let Some(chosen) = setting("WHORL_CASE") {
        let case = CASES.iter().find(|case| case.name == chosen).expect("the name of a case");
        let (bodies, mut running) = (case.form.bodies(), Running::new(case.query));
        let ns: Vec<f64> = (0..rounds.unwrap_or(7)).map(|_| running.round(case.form, &bodies)).collect();
        return report(case.name, ns);
    }
    measure_terms(setting("WHORL_TERMS").and_then(|value| value.parse().ok()).unwrap_or(1_000_000));
    CASES.iter().for_each(|case| measure(case, rounds.unwrap_or(7)));
}
