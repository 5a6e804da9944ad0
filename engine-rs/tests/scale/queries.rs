//! The queries to compare, and what their explanation states.

use whorl_engine::ScaledQuery;

pub(crate) const PREFIX: &str = "PREFIX : <http://ex/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> ";

pub(crate) const S: &str = "FROM NAMED WINDOW :w ON :s [RANGE 2s STEP 1s]";
pub(crate) const ST: &str =
    "FROM NAMED WINDOW :w ON :s [RANGE 2s STEP 1s] FROM NAMED WINDOW :x ON :t [RANGE 3s STEP 1s]";

/// The text of the query, with `OUT` for the R2S operator, and the kind of merge under RSTREAM and otherwise.
pub(crate) const QUERIES: &[(&str, &str, &str, &str)] = &[
    ("OUT SELECT ?k ?v ?r", S, "WINDOW :w { ?k :temp ?v ; :in ?r }", "union union"),
    ("OUT SELECT ?v", S, "WINDOW :w { ?k :temp ?v ; :in ?r }", "union netting"),
    ("OUT SELECT ?k ?v ?l", ST, "WINDOW :w { ?k :temp ?v } WINDOW :x { ?k :load ?l }", "union union"),
    ("OUT SELECT ?k ?v ?o", ST, "WINDOW :w { ?k :temp ?v } WINDOW :x { ?o :about ?k }", "union union"),
    ("OUT SELECT ?k (COUNT(*) AS ?n) (SUM(?v) AS ?sum) ", S, "WINDOW :w { ?k :temp ?v } GROUP BY ?k", "union union"),
    (
        "OUT SELECT ?r (COUNT(*) AS ?n) (COUNT(?v) AS ?m) (SUM(?v) AS ?sum) (AVG(?v) AS ?avg) (MIN(?v) AS ?min) (MAX(?v) AS ?max) (SAMPLE(?v) AS ?any)",
        S,
        "WINDOW :w { ?k :temp ?v ; :in ?r } GROUP BY ?r",
        "groups groups",
    ),
    (
        "OUT SELECT ?r (AVG(?v + 0.5) AS ?avg)",
        S,
        "WINDOW :w { ?k :temp ?v ; :in ?r } GROUP BY ?r HAVING (COUNT(*) > 1)",
        "groups groups",
    ),
    (
        "OUT SELECT (SUM(?v) AS ?sum) (AVG(?v) AS ?avg) (COUNT(*) AS ?n)",
        S,
        "WINDOW :w { ?k :temp ?v } FILTER(isNumeric(?v))",
        "groups groups",
    ),
    (
        "OUT SELECT ?room (MAX(?v) AS ?max)",
        S,
        "WINDOW :w { ?k :temp ?v } ?k :room ?room GROUP BY ?room",
        "groups groups",
    ),
    ("OUT SELECT ?k ?level ?v", S, "WINDOW :w { ?k :temp ?v } ?k :room ?room . ?room :level ?level", "union union"),
    ("OUT SELECT DISTINCT ?k ?r", S, "WINDOW :w { ?k :temp ?v ; :in ?r }", "union union"),
    ("OUT SELECT DISTINCT ?r", S, "WINDOW :w { ?k :temp ?v ; :in ?r }", "distinct distinct"),
    ("OUT SELECT ?k ?v", S, "WINDOW :w { ?k :temp ?v } ORDER BY DESC(?v) LIMIT 4", "top-k top-k"),
    ("OUT SELECT ?v", S, "WINDOW :w { ?k :temp ?v } ORDER BY ?v LIMIT 3 OFFSET 2", "top-k top-k"),
    ("OUT SELECT ?k ?v", S, "WINDOW :w { ?k :temp ?v } ORDER BY ?v ?k", "top-k union"),
    ("OUT SELECT ?v", S, "WINDOW :w { ?k :temp ?v } LIMIT 5", "top-k top-k"),
    (
        "OUT SELECT ?r (SUM(?v) AS ?sum)",
        S,
        "WINDOW :w { ?k :temp ?v ; :in ?r } GROUP BY ?r ORDER BY DESC(?sum) LIMIT 2",
        "groups groups",
    ),
    (
        "OUT SELECT ?k (SUM(?v) AS ?sum)",
        S,
        "WINDOW :w { ?k :temp ?v } GROUP BY ?k ORDER BY DESC(?sum) LIMIT 2",
        "top-k top-k",
    ),
    ("OUT SELECT ?k ?v ?r", S, "WINDOW :w { ?k :temp ?v OPTIONAL { ?k :in ?r } FILTER(?v > 1) }", "union union"),
    ("OUT SELECT ?k ?v", S, "WINDOW :w { ?k :temp ?v MINUS { ?k :in :r1 } }", "union union"),
    ("OUT SELECT ?k ?v", S, "WINDOW :w { ?k :temp ?v FILTER NOT EXISTS { ?k :in :r1 } }", "union union"),
    ("OUT SELECT ?k ?x", S, "WINDOW :w { { ?k :temp ?x } UNION { ?k :in ?x } }", "union union"),
    ("OUT SELECT ?a ?k ?b", S, "WINDOW :w { ?a :near ?k . ?k :near ?b }", "union union"),
    ("OUT SELECT ?a ?b", S, "WINDOW :w { ?a :near ?k . ?k :near ?b }", "union netting"),
    ("OUT SELECT (COUNT(*) AS ?n)", S, "WINDOW :w { ?a :near ?k OPTIONAL { ?k :near ?b } }", "groups groups"),
    (
        "OUT SELECT ?k ?n ?v",
        S,
        "WINDOW :w { ?k :temp ?v } { SELECT ?k (COUNT(*) AS ?n) { WINDOW :w { ?k :in ?r } } GROUP BY ?k }",
        "union union",
    ),
    (
        "OUT SELECT ?r (COUNT(*) AS ?n)",
        S,
        "{ SELECT DISTINCT ?k ?r { WINDOW :w { ?k :temp ?v ; :in ?r } } } GROUP BY ?r",
        "groups groups",
    ),
    (
        "OUT SELECT (MAX(?n) AS ?most)",
        S,
        "{ SELECT ?r (COUNT(*) AS ?n) { WINDOW :w { ?k :temp ?v ; :in ?r } } GROUP BY ?r }",
        "groups groups",
    ),
    ("OUT SELECT (BOUND(?zero) AS ?b) ?r", S, "WINDOW :w { ?k :in ?r } BIND(NOW() AS ?now)", "union union"),
];

pub(crate) fn query_text(query: &(&str, &str, &str, &str), r2s: &str) -> String {
    let (select, windows, body, _) = query;
    let (pattern, modifiers) = match body.find(" GROUP BY ?r").or(body.find(" GROUP BY ?k")).or(body.find(" ORDER")) {
        _ if body.contains("{ SELECT") && body.ends_with('}') => (*body, ""),
        Some(at) if !body[at..].contains('}') => body.split_at(at),
        _ => body.find(" LIMIT").map_or((*body, ""), |at| body.split_at(at)),
    };
    let out = format!("REGISTER {r2s} <http://ex/out> AS");
    format!("{PREFIX}{} {windows} WHERE {{ {pattern} }}{modifiers}", select.replace("OUT", &out))
}

pub(crate) fn merge_of(query: &ScaledQuery) -> String {
    let explained = query.explain();
    let start = explained.find("\"merge\":\"").expect("a merge") + 9;
    explained[start..].split('"').next().unwrap_or_default().to_owned()
}

pub(crate) fn why(query: &ScaledQuery) -> String {
    let explained = query.explain();
    let start = explained.find("\"why\":\"").expect("a reason") + 7;
    explained[start..].split("\",\"").next().unwrap_or_default().to_owned()
}
