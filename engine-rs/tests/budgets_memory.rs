//! The memory of a query that is too costly is bounded, and freed. This is a separate process, so that nothing else
//! affects the measurement.

use whorl_engine::{Engine, EngineOptions, Limits, ParseOptions, RdfFormat, Timestamp};

const NODES: usize = 400;
const GROWTH_KB_MAX: u64 = 400_000;

/// Peak of resident memory in kB, if the system provides it.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches("kB").trim().parse().ok()
}

fn fails(pattern: &str) {
    let mut engine = Engine::new(EngineOptions { limits: Limits::guarded(), ..EngineOptions::default() });
    let text = format!(
        "PREFIX : <http://ex/> SELECT * FROM NAMED WINDOW :w ON :s [RANGE 10s] WHERE {{ WINDOW :w {{ {pattern} }} }}"
    );
    let options = ParseOptions { allow_cartesian: true, ..ParseOptions::default() };
    let query = engine.register(&text, &options).expect("what is allowed is registered");
    let node = |i: usize| format!(":n{i} :p :n{} ; :q :n{} ; :t \"text {i}\" .\n", (i + 1) % NODES, (i * 7) % NODES);
    let turtle: String = std::iter::once("PREFIX : <http://ex/>\n".to_owned()).chain((0..NODES).map(node)).collect();
    let at = Some(Timestamp::EPOCH);
    engine.push("http://ex/s", at, turtle.as_bytes(), RdfFormat::Turtle).expect("an event");
    engine.close();
    let error = engine.drain(query).expect_err("it is too costly");
    assert_eq!(error.code(), "query.too_costly", "{error}");
    assert_eq!(engine.state_size(), 0);
}

#[test]
fn memory_of_costly_queries_is_bounded() {
    let Some(before) = peak() else { return };
    let bind = |i: usize| format!("BIND(CONCAT(?x{i}, ?x{i}) AS ?x{}) ", i + 1);
    let doublings: String = (0..30).map(bind).collect();
    let product: String = (0..5).map(|i| format!("?a{i} :p ?b{i} . ")).collect();
    for pattern in [format!("?s :t ?x0 . {doublings}"), product, "?a (:p|:q)* ?b . ?c :q+ ?d".to_owned()] {
        fails(&pattern);
        let grown = peak().expect("as before").saturating_sub(before);
        assert!(grown < GROWTH_KB_MAX, "{grown} kB more than before for {pattern}");
    }
}
