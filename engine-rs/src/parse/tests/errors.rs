//! Claims about the codes, messages and places of errors.

use super::*;

#[test]
fn errors_stand_where_the_user_wrote_them() {
    for (text, code, at) in [
        ("SELECT * { ?s ?p } ORDER BY ?s", "parse.unexpected_token", (1, 18)),
        ("SELECT * {\n ?s ?p ?o .\n FILTER(?o ~ 3) ?a ?b ?c }", "parse.unexpected_token", (3, 12)),
        ("SELEC * { ?s ?p ?o }", "parse.unexpected_token", (1, 1)),
        ("SELECT * { ?s ?p ?o } FOO", "parse.unexpected_token", (1, 23)),
        ("SELECT * { ?s ?p ?o ", "parse.unexpected_end", (1, 20)),
        ("SELECT *\n{ ?s x:p ?o }", "prefix.unknown", (2, 6)),
        ("SELECT * { ?s ?p ?o BIND(1 AS ?s) ?a ?b ?c }", "variable.in_scope", (1, 31)),
        ("SELECT ?s (COUNT(?o) AS ?c) { ?s ?p ?o } GROUP BY ?p", "select.not_grouped", (1, 8)),
        ("SELECT * { ?s <p> ?o . ?d ?e ?f }", "iri.invalid", (1, 15)),
        ("SELECT * { SERVICE <http://x> { ?s ?p ?o } }", "unsupported.service", (1, 12)),
        ("CONSTRUCT { GRAPH ?g { ?s ?p ?o GRAPH ?h { ?a ?b ?c } } } WHERE { }", "parse.unexpected_token", (1, 33)),
        ("CONSTRUCT { GRAPH [] { ?s ?p ?o } } WHERE { ?s ?p ?o }", "parse.unexpected_token", (1, 19)),
        ("CONSTRUCT { ?a ?b ?c GRAPH ?g { ?s ?p } } WHERE { ?s ?p ?o }", "parse.unexpected_token", (1, 39)),
        ("CONSTRUCT { GRAPH ?g { ?s ?p ?o } . ?a ?b } WHERE { ?s ?p ?o }", "parse.unexpected_token", (1, 43)),
    ] {
        let error = refuse(text);
        assert_eq!((error.code(), place(&error)), (code, at), "{text}\n{error}");
    }
}

#[test]
fn errors_behind_rewritten_clauses_keep_their_place() {
    let text = "PREFIX : <http://e/>\nREGISTER RSTREAM <q> AS SELECT * FROM NAMED WINDOW <w> ON <s> [RANGE\n 1s] {\n WINDOW <w> { ?s ?p } }";
    let error = refuse(text);
    assert_eq!((error.code(), place(&error)), ("parse.unexpected_token", (4, 21)), "{error}");
    let text = "SELECT * { STREAM <http://e/s> [NOW] { ?s ?p ?o } FILTER(MEDIAN ?o) }";
    assert_eq!(place(&refuse(text)), (1, 58));
    let text = "SELECT count(?x) as ?y {\n ?é ?p \"é\" . ?x ?y }";
    assert_eq!(place(&refuse(text)), (2, 20));
}

#[test]
fn expectations_are_named() {
    let error = refuse("SELECT * { ?s ?p } ");
    assert_eq!(error.message(), "unexpected '}', expected a variable, an IRI, a literal, '(' or '['");
    let error = refuse("PREFIX foaf: <http://f/> SELECT * { ?s foa:p ?o }");
    assert_eq!(error.hint(), Some("did you mean 'foaf:'?"));
}

#[test]
fn odd_input_is_an_error_and_no_panic() {
    for text in [
        "",
        "#",
        "\u{feff}",
        "FROM",
        "REGISTER",
        "REGISTER STREAM",
        "SELECT",
        "WINDOW",
        "{",
        "}",
        "]]]",
        "PREFIX",
        "PREFIX : ",
        "BASE",
        "BASE <x>",
        "SELECT * FROM NAMED WINDOW",
        "SELECT * FROM NAMED WINDOW <w> ON",
        "SELECT * FROM STREAM <s> [",
        "{ STREAM",
        "{ WINDOW",
        "SELECT MEDIAN(",
        "SELECT PERCENTILE()",
        "SELECT (PERCENTILE(",
        "é",
        "\\",
        "\u{0}",
        "SELECT * { ?s ?p '\\",
        "@",
        "<",
        "<<",
        "<<(",
    ] {
        assert!(parse_query(text, &ParseOptions::default()).is_err(), "{text}");
    }
    // A keyword as a name, so that two rewritings meet.
    let _ = parse_query("REGISTER QUERY SELECT AS (1) AS ?x { ?s ?p ?o }", &ParseOptions::default());
    parse("\u{feff}SELECT * { ?s ?p ?o }");
    let text = rsp("RANGE 10s STEP 5s @:at REPORT CLOSE");
    for end in 0..text.len() {
        let _ = parse_query(&text[..end], &ParseOptions::default());
        let _ = parse_query(&text[end..], &ParseOptions::default());
    }
}
