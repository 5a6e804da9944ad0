//! Claims about hostile input: whatever it is, the parser responds quickly and on a small stack.
//!
//! Covers parsing, cloning, printing and dropping; the engine's own walks of the tree are not seen here.

use super::*;

/// Runs on the stack of a worker thread, not on the larger one of the main thread.
fn on_small_stack(text: String) -> Result<(), ParseError> {
    let work = move || {
        parse_query(&text, &ParseOptions::default()).map(|query| drop((query.clone(), query.query.to_string())))
    };
    let thread = std::thread::Builder::new().stack_size(2 * 1024 * 1024).spawn(work).expect("a thread");
    thread.join().expect("no overflow")
}

fn nested(n: usize) -> Vec<String> {
    let around = |open: &str, inner: &str, close: &str| format!("{}{inner}{}", open.repeat(n), close.repeat(n));
    vec![
        format!("SELECT * {{ {} }}", around("{", "?s ?p ?o", "}")),
        format!("SELECT * {{ {} }}", around("{", "?s ?p", "}")),
        format!("SELECT * {{ {} }}", around("OPTIONAL {", "?s ?p ?o", "}")),
        format!("SELECT * {{ {} }}", around("FILTER EXISTS {", "?s ?p ?o", "}")),
        format!("SELECT * {{ {} }}", around("FILTER(!EXISTS {", "?s ?p", "})")),
        format!("SELECT * {{ {} }}", around("{SELECT * {", "?s ?p ?o", "}}")),
        format!("SELECT * {{ FILTER({}) }}", around("(", "1", ")")),
        format!("SELECT * {{ FILTER({}) }}", around("!(", "1 1", ")")),
        format!("SELECT * {{ FILTER({}) }}", around("-(", "1", ")")),
        format!("SELECT * {{ FILTER({}) }}", around("STR(", "1", ")")),
        format!("SELECT * {{ FILTER({}) }}", around("REGEX(", "1", ",1)")),
        format!("SELECT * {{ FILTER({}) }}", around("REPLACE(", "1", ",1,1)")),
        format!("SELECT * {{ FILTER <a:f>{} }}", around("(EXISTS{FILTER <a:f>", "(1 1)", "})")),
        format!("SELECT ({} AS ?m) {{ }}", around("MEDIAN(", "1", ")")),
        format!("SELECT * {{ FILTER(1<{}>1) }}", around("(", "1", ")")),
        format!("SELECT * {{ ?s ?p {} }}", around("[ ?p ", "1", "]")),
        format!("SELECT * {{ ?s ?p {} }}", around("(", "1", ")")),
        format!("SELECT * {{ ?s {} ?o }}", around("(", "<a:b>", ")*")),
        format!("SELECT * {{ ?s ?p {} }}", around("<<( ?s ?p ", "1", ")>>")),
        format!("SELECT * {{ ?s ?p {} }}", around("<< ?s ?p ", "1", ">>")),
        format!("SELECT * {{ ?s ?p 1 {} }}", around("{| ?p 1 ", "", "|}")),
    ]
}

fn chained(n: usize) -> Vec<String> {
    let columns: String = (0..n).map(|i| format!("(1 AS ?v{i}) ")).collect();
    let binds: String = (0..n).map(|i| format!("BIND(1 AS ?v{i}) ")).collect();
    vec![
        format!("SELECT * {{ FILTER(1{}) }}", "+1".repeat(n)),
        format!("SELECT * {{ FILTER(1{}) }}", "*?x".repeat(n)),
        format!("SELECT * {{ FILTER(1{}) }}", "||1".repeat(n)),
        format!("SELECT * {{ FILTER(1{}) }}", " && 1 < 2".repeat(n)),
        format!("SELECT * {{ FILTER({}1) }}", "!".repeat(n)),
        format!("SELECT * {{ {{}} {} }}", "UNION {}".repeat(n)),
        format!("SELECT * {{ {} }}", "OPTIONAL {}".repeat(n)),
        format!("SELECT * {{ {} }}", "MINUS {} ".repeat(n)),
        format!("SELECT * {{ {} }}", "{} ?s ?p ?o ".repeat(n)),
        format!("SELECT * {{ {} }}", "FILTER(1) ".repeat(n)),
        format!("SELECT * {{ {} }}", "VALUES ?x {} ".repeat(n)),
        format!("SELECT * {{ {binds} }}"),
        format!("SELECT {columns} {{}}"),
        format!("SELECT * {{ ?s <a:b>{} ?o }}", "/<a:b>".repeat(n)),
        format!("SELECT * {{ ?s <a:b>{} ?o }}", "|<a:b>".repeat(n)),
        format!("ASK {{}} HAVING {}", "(1)".repeat(n)),
        format!("SELECT (1 AS ?x) {{}} GROUP BY {}", "(1+1)".repeat(n)),
        format!("DESCRIBE {}", "<a:b> ".repeat(n)),
    ]
}

#[test]
fn what_is_nested_too_deep_is_refused_on_a_small_stack() {
    for text in nested(2_000) {
        let error = on_small_stack(text.clone()).expect_err(&text);
        assert_eq!(error.code(), "limit.depth", "{}", &text[..40]);
    }
    // Exactly at the limit the parser runs, whether it accepts the text or not.
    for text in (0..=64).step_by(3).flat_map(nested) {
        let _ = on_small_stack(text);
    }
}

#[test]
fn what_is_chained_too_long_is_refused_on_a_small_stack() {
    // An IRI to the grammar, and comparisons to the parser.
    let hidden = |n: usize| format!("SELECT * {{ FILTER(1<2{}>1) }}", "&&2".repeat(n));
    assert_eq!(on_small_stack(hidden(60)).expect_err("an IRI").code(), "parse.unexpected_token");
    for text in chained(3_000).into_iter().chain([hidden(3_000)]) {
        let error = on_small_stack(text.clone()).expect_err(&text);
        assert_eq!(error.code(), "limit.operators", "{}", &text[..40]);
    }
    for text in [60, 120, 250, 254, 255, 256].into_iter().flat_map(chained) {
        let _ = on_small_stack(text);
    }
}

#[test]
fn ordinary_queries_are_far_from_the_limits() {
    for text in chained(60) {
        on_small_stack(text.clone()).unwrap_or_else(|e| panic!("{e}\n{text}"));
    }
    let rows: String = (0..2_000).map(|i| format!("({i} {i}) ")).collect();
    parse(&format!("SELECT * {{ VALUES (?a ?b) {{ {rows} }} }}"));
    let triples = "?s <http://example.org/a-b/c-d/e+f>/<http://example.org/x> ?o . ".repeat(400);
    parse(&format!("SELECT * {{ {triples} }}"));
    let list: String = (0..2_000).map(|i| format!("{i}, ")).collect();
    parse(&format!("SELECT * {{ ?s ?p ?o FILTER(?o IN ({list} 0)) }}"));
    assert_eq!(refuse(&" ".repeat(70_000)).code(), "limit.text");
}

/// Each name stands for an expression with twice as many operators: the text that SPARQL would need passes the limits.
#[test]
fn names_of_columns_that_double_are_refused() {
    let columns: String = (1..40).map(|n| format!("(?n{} + ?n{} AS ?n{n}) ", n - 1, n - 1)).collect();
    let text = format!("{HEAD}SELECT (COUNT(?s) AS ?n0) {columns} WHERE {{ STREAM :s [NOW] {{ ?s ?p ?o }} }}");
    assert_eq!(refuse(&text).code(), "select.alias_reused");
}
