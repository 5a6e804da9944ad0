//! The cost of a unit of work: how long a query runs until its budget stops it, for each family of work.
//!
//! Limits count work and not time, so that a replay stops at the same place. This is useful only if a unit costs about
//! the same everywhere: the recommended 10,000,000 units should take well below a second in every family.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use whorl_engine::{
    AnswerFormat, AskOptions, Engine, EngineOptions, Evaluation, Limits, ParseOptions, RdfFormat, Timestamp,
};

const STREAM: &str = "http://ex/s";
const NODES: usize = 4_000;
const FROM: &str = "FROM NAMED WINDOW :w ON :s [RANGE 10s]";

/// Name, pattern, and the length of the texts.
const FAMILIES: &[(&str, &str, usize)] = &[
    ("product of three", "?a :p ?b . ?c :q ?d . ?e :p ?f FILTER(?a != ?c && ?c != ?f)", 8),
    ("arithmetic", "?a :v ?m . ?b :v ?n FILTER(?m * 3 + ?n < -1)", 8),
    ("decimals", "?a :v ?m . ?b :v ?n FILTER(?m / 7.3 + ?n / 1.7 < -1)", 8),
    ("comparison of texts", "?a :t ?s . ?b :t ?t FILTER(STR(?s) < STR(?t) && ?s = \"no\")", 100),
    ("CONTAINS", "?a :t ?s . ?b :v ?n FILTER(CONTAINS(?s, STR(?n)))", 1_000),
    ("SUBSTR", "?a :t ?s . ?b :v ?n FILTER(SUBSTR(?s, ?n) = \"no\")", 1_000),
    ("STRLEN", "?a :t ?s . ?b :v ?n FILTER(STRLEN(?s) < ?n - 100000)", 1_000),
    ("UCASE", "?a :t ?s . ?b :v ?n FILTER(UCASE(?s) = STR(?n))", 1_000),
    ("CONCAT", "?a :t ?s . ?b :v ?n FILTER(CONCAT(?s, STR(?n)) = \"no\")", 1_000),
    ("ENCODE_FOR_URI", "?a :t ?s . ?b :v ?n FILTER(ENCODE_FOR_URI(?s) = STR(?n))", 1_000),
    ("MD5", "?a :t ?s . ?b :v ?n FILTER(MD5(?s) = STR(?n))", 1_000),
    ("SHA256", "?a :t ?s . ?b :v ?n FILTER(SHA256(?s) = STR(?n))", 1_000),
    ("SHA512", "?a :t ?s . ?b :v ?n FILTER(SHA512(?s) = STR(?n))", 1_000),
    ("SHA512 of short texts", "?a :t ?s . ?b :v ?n FILTER(SHA512(?s) = STR(?n))", 8),
    (
        "dates",
        "?a :v ?m . ?b :v ?n FILTER(xsd:dateTime(CONCAT(\"2024-01-01T00:00:00.\", STR(?m))) < NOW() && ?m = ?n + 0.5)",
        8,
    ),
    ("REGEX, a word", "?a :t ?s . ?b :v ?n FILTER(REGEX(?s, \"fire\") = (?n < -1))", 100),
    ("REGEX, a word in long texts", "?a :t ?s . ?b :v ?n FILTER(REGEX(?s, \"fire\") = (?n < -1))", 10_000),
    ("REGEX, classes", "?a :t ?s . ?b :v ?n FILTER(REGEX(?s, \"\\\\w+@\\\\w+\") = (?n < -1))", 1_000),
    ("REGEX, many states", "?a :t ?s . ?b :v ?n FILTER(REGEX(?s, \"(a|b)*a(a|b){12}c\") = (?n < -1))", 1_000),
    ("REGEX, too many states", "?a :t ?s . ?b :v ?n FILTER(REGEX(?s, \"(a|b)*a(a|b){200}c\") = (?n < -1))", 1_000),
    ("REGEX, new patterns", "?a :t ?s . ?b :v ?n FILTER(REGEX(?s, CONCAT(STR(?n), \"x{200}\")))", 8),
    ("REPLACE", "?a :t ?s . ?b :v ?n FILTER(REPLACE(?s, \"a(b|c)\", \"$1\") = STR(?n))", 1_000),
    ("REPLACE, far ahead", "?a :t ?s . ?b :v ?n FILTER(REPLACE(?s, \"a*x|a\", \"\") = STR(?n))", 1_000),
    ("GROUP_CONCAT", "{ SELECT ?n (GROUP_CONCAT(?s) AS ?all) { WINDOW :w { ?a :t ?s . ?b :v ?n } } GROUP BY ?n }", 8),
    (
        "COUNT DISTINCT",
        "{ SELECT ?n (COUNT(DISTINCT ?s) AS ?all) { WINDOW :w { ?a :t ?s . ?b :v ?n } } GROUP BY ?n }",
        8,
    ),
    ("MIN", "{ SELECT ?n (MIN(?s) AS ?all) { WINDOW :w { ?a :t ?s . ?b :v ?n } } GROUP BY ?n }", 8),
    ("ORDER BY", "{ SELECT ?s ?n { WINDOW :w { ?a :t ?s . ?b :v ?n } } ORDER BY ?s DESC(?n) LIMIT 3 }", 8),
    ("DISTINCT", "{ SELECT DISTINCT ?s ?n { WINDOW :w { ?a :t ?s . ?b :v ?n } } }", 8),
    ("OPTIONAL", "?a :p ?b . ?c :q ?d OPTIONAL { ?e :p ?a . ?e :q ?d }", 8),
    ("NOT EXISTS", "?a :p ?b . ?c :q ?d FILTER NOT EXISTS { ?e :p ?a . ?e :q ?d }", 8),
    ("closure", "?a (:p|:q)+ ?b", 8),
];

fn turtle(bytes: usize) -> String {
    let mut turtle = String::from("PREFIX : <http://ex/>\n");
    for i in 0..NODES {
        let text: String =
            (0..bytes).map(|at| if (at * 7 + i * 13 + at * at / 5) % 3 == 0 { 'b' } else { 'a' }).collect();
        turtle += &format!(":n{i} :p :n{} ; :q :n{} ; :v {i} .\n", (i + 1) % NODES, (i * 7) % NODES);
        if i < 200 {
            turtle += &format!(":n{i} :t \"{i} {text}\" .\n");
        }
    }
    turtle
}

/// CPU time of this thread in nanoseconds.
fn cpu_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux");
    text.split_whitespace().next().and_then(|ns| ns.parse().ok()).expect("a number")
}

fn milliseconds(of: impl FnOnce()) -> f64 {
    let before = cpu_ns();
    of();
    (cpu_ns() - before) as f64 / 1e6
}

fn continuous(pattern: &str, bytes: usize, evaluation: Evaluation) -> (f64, String) {
    let options = EngineOptions { limits: Limits::guarded(), evaluation, ..EngineOptions::default() };
    let mut engine = Engine::new(options);
    let pattern = if pattern.starts_with('{') { pattern.to_owned() } else { format!("WINDOW :w {{ {pattern} }}") };
    let text = format!(
        "PREFIX : <http://ex/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> \
         SELECT (COUNT(*) AS ?found) {FROM} WHERE {{ {pattern} }}"
    );
    let options = ParseOptions { allow_cartesian: true, ..ParseOptions::default() };
    let query = match engine.register(&text, &options) {
        Ok(query) => query,
        Err(error) => return (0.0, error.to_string()),
    };
    let turtle = turtle(bytes);
    engine.push(STREAM, Some(Timestamp::EPOCH), turtle.as_bytes(), RdfFormat::Turtle).expect("an event");
    let taken = milliseconds(|| engine.advance_to(Timestamp::from_millis(10_001)).expect("time goes on"));
    let _ = engine.drain(query);
    let fate = engine.drain(query).err().map_or_else(|| "answered".to_owned(), |error| error.to_string());
    (taken, fate)
}

fn once(pattern: &str, bytes: usize) -> (f64, String) {
    let mut engine = Engine::new(EngineOptions {
        limits: Limits { refuse_costly: false, ..Limits::guarded() },
        ..EngineOptions::default()
    });
    engine.load(None, turtle(bytes).as_bytes(), RdfFormat::Turtle).expect("static data");
    let pattern = pattern.replace("WINDOW :w", "");
    let text = format!(
        "PREFIX : <http://ex/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> \
         SELECT (COUNT(*) AS ?found) WHERE {{ {pattern} }}"
    );
    let mut fate = "answered".to_owned();
    let taken = milliseconds(|| {
        if let Err(error) = engine.ask(&text, AnswerFormat::Json, &AskOptions::default()) {
            fate = error.to_string();
        }
    });
    (taken, fate)
}

fn main() {
    let chosen = std::env::args().nth(1).filter(|name| !name.starts_with('-')).unwrap_or_default();
    println!("milliseconds of CPU until 10,000,000 units are spent");
    println!("{:30} {:>12} {:>12} {:>12}", "", "incremental", "reevaluate", "asked once");
    for (name, pattern, bytes) in FAMILIES.iter().filter(|(name, ..)| name.contains(&chosen)) {
        let measured = [
            continuous(pattern, *bytes, Evaluation::Incremental),
            continuous(pattern, *bytes, Evaluation::Reevaluate),
            once(pattern, *bytes),
        ];
        let [a, b, c] = measured.each_ref().map(|(ms, fate)| match fate.contains("too costly") {
            true => format!("{ms:.0}"),
            false => format!("({ms:.0})"),
        });
        println!("{name:30} {a:>12} {b:>12} {c:>12}");
    }
}
