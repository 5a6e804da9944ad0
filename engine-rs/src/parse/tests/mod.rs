//! Claims about whole queries: dialects and windows here, error positions and limits in the other files of this folder.
//!
//! They check the output of `parse_query`, not whether the engine gives windows the meaning that the parser found.

mod errors;
mod limits;

use oxrdf::Variable;
use spargebra::Query;
use spargebra::algebra::{AggregateExpression, AggregateFunction, GraphPattern};

use super::*;
use crate::time::{Span, Timestamp};

const HEAD: &str = "PREFIX : <http://e/> ";

fn parse(text: &str) -> ContinuousQuery {
    parse_query(text, &ParseOptions::default()).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn refuse(text: &str) -> ParseError {
    parse_query(text, &ParseOptions::default()).expect_err(text)
}

fn place(error: &ParseError) -> (u32, u32) {
    error.position().map_or((0, 0), |p| (p.line, p.column))
}

fn rsp(window: &str) -> String {
    format!("{HEAD}SELECT * FROM NAMED WINDOW :w ON :s [{window}] WHERE {{ WINDOW :w {{ ?s ?p ?o }} }}")
}

fn cqels(window: &str) -> String {
    format!("{HEAD}SELECT * WHERE {{ STREAM :s [{window}] {{ ?s ?p ?o }} }}")
}

fn csparql(window: &str) -> String {
    format!("REGISTER QUERY q AS {HEAD}SELECT * FROM STREAM <http://e/s> [{window}] WHERE {{ ?s ?p ?o }}")
}

fn kind(text: &str) -> WindowKind {
    parse(text).windows.remove(0).kind
}

fn ms(n: i64) -> Span {
    Span::from_millis(n)
}

fn step(width: i64, slide: i64) -> WindowKind {
    WindowKind::Step { width: ms(width), slide: ms(slide) }
}

fn body(query: &ContinuousQuery) -> String {
    query.query.to_string()
}

#[test]
fn every_window_form_of_rsp_ql() {
    for (text, expected) in [
        ("RANGE PT10S STEP PT5S", step(10_000, 5_000)),
        ("range 10s slide 5s", step(10_000, 5_000)),
        ("RANGE 1m30s STEP 30 seconds", step(90_000, 30_000)),
        ("RANGE 1000 STEP 500", step(1_000, 500)),
        ("RANGE PT10S", step(10_000, 10_000)),
        ("RANGE PT10S TUMBLING", step(10_000, 10_000)),
        ("ELEMENTS 10 STEP 2", WindowKind::Elements { size: 10, step: 2 }),
        ("ELEMENTS 10", WindowKind::Elements { size: 10, step: 1 }),
        ("COUNT 10", WindowKind::Elements { size: 10, step: 1 }),
        ("TRIPLES 7", WindowKind::Triples { size: 7 }),
        ("NOW", WindowKind::Now),
        ("ALL", WindowKind::All),
        (
            "FROM NOW-PT35M TO NOW-PT5M STEP PT5M",
            WindowKind::Past { from: ms(2_100_000), to: ms(300_000), slide: ms(300_000) },
        ),
        ("NOW - 10 S SLIDE 5 S", step(10_000, 5_000)),
    ] {
        assert_eq!(kind(&rsp(text)), expected, "{text}");
    }
}

#[test]
fn every_window_form_of_the_other_dialects() {
    assert_eq!(kind(&cqels("RANGE 1m 30s SLIDE 10s")), step(90_000, 10_000));
    assert_eq!(kind(&cqels("RANGE 10s TUMBLING")), step(10_000, 10_000));
    assert_eq!(kind(&cqels("RANGE 10s")), WindowKind::Sliding { width: ms(10_000) });
    assert_eq!(kind(&cqels("triples 3")), WindowKind::Triples { size: 3 });
    assert_eq!(kind(&cqels("NOW")), WindowKind::Now);
    assert_eq!(kind(&csparql("RANGE 30m STEP 5m")), step(1_800_000, 300_000));
    assert_eq!(kind(&csparql("RANGE 30m TUMBLING")), step(1_800_000, 1_800_000));
    assert_eq!(kind(&csparql("RANGE TRIPLES 20")), WindowKind::Triples { size: 20 });
    let error = refuse(&csparql("RANGE 30m"));
    assert_eq!(error.code(), "window.step_missing");
    assert!(error.hint().is_some_and(|hint| hint.contains("TUMBLING")));
}

#[test]
fn units_of_the_papers() {
    for (text, width, slide) in [
        ("RANGE 1500 MSEC STEP 500 MSEC", 1_500, 500),
        ("RANGE 30 SEC STEP 5 SEC", 30_000, 5_000),
        ("RANGE 30 MIN STEP 5 MIN", 1_800_000, 300_000),
        ("RANGE 1 HOUR STEP 10 MIN", 3_600_000, 600_000),
        ("RANGE 1 DAY STEP 1 HOUR", 86_400_000, 3_600_000),
        ("RANGE 30MIN STEP 5MIN", 1_800_000, 300_000),
        ("RANGE 1d STEP 1h", 86_400_000, 3_600_000),
        ("range 500ms step 100ms", 500, 100),
    ] {
        assert_eq!(kind(&csparql(text)), step(width, slide), "{text}");
    }
    assert_eq!(kind(&rsp("RANGE P1D STEP PT1H")), step(86_400_000, 3_600_000));
    assert_eq!(kind(&rsp("RANGE 1000 REPORT PERIODIC 500 NONEMPTY")), step(1_000, 1_000));
    assert_eq!(kind(&cqels("RANGE 1m 30s 500ms")), WindowKind::Sliding { width: ms(90_500) });
    assert_eq!(kind(&cqels("RANGE 5000000ns")), WindowKind::Sliding { width: ms(5) });
}

#[test]
fn clauses_of_c_sparql() {
    let rest = "PREFIX : <http://e/> CONSTRUCT { ?s :p ?o } FROM NAMED STREAM :s [RANGE 30m TUMBLING]\n\
                FROM STREAM <http://e/t> [RANGE TRIPLES 5] FROM <http://e/g> WHERE { ?s ?p ?o }";
    let query = parse(&format!("REGISTER STREAM TotalSales COMPUTED EVERY 5 MIN AS {rest}"));
    assert_eq!((query.dialect, query.name.as_deref()), (Dialect::CSparql, Some("TotalSales")));
    assert_eq!(query.report.periodic, Some(ms(300_000)));
    assert_eq!(query.default_graph, DefaultGraph { windows: vec![0, 1], with_static: true });
    assert_eq!(query.windows[1].kind, WindowKind::Triples { size: 5 });
    assert!(matches!(query.query, Query::Construct { dataset: Some(_), .. }));
    let named = ParseOptions { dialect: Some(Dialect::CSparql), ..ParseOptions::default() };
    assert_eq!(parse_query(&rsp("RANGE 10s"), &named).expect_err("no step").code(), "window.step_missing");
}

#[test]
fn spellings_found_in_the_wild() {
    let read = "WHERE { WINDOW :w { ?s ?p ?o } }";
    for (head, from, r2s) in [
        (
            "REGISTER RStream <http://e/q> AS",
            "FROM NAMED WINDOW :w ON STREAM :s [RANGE 10000 STEP 10000]",
            R2s::Rstream,
        ),
        ("register istream <q> as", "from named window :w on :s [range PT10S step PT10S]", R2s::Istream),
        ("REGISTER STREAM :q COMPUTE EVERY PT1S AS", "FROM NAMED WINDOW ON :s [RANGE 10s] AS :w", R2s::Rstream),
        ("REGISTER QUERY q AS", "FROM NAMED WINDOW :w ON :s RANGE 10s STEP 10s", R2s::Rstream),
        ("", "FROM GRAPH :g FROM NAMED GRAPH :h FROM NAMED WINDOW :w ON :s [RANGE 10s TUMBLING]", R2s::Rstream),
    ] {
        let query = parse(&format!("{HEAD}{head} SELECT ?s {from} {read}"));
        assert_eq!((query.r2s, query.windows[0].kind.clone()), (r2s, step(10_000, 10_000)), "{head} {from}");
    }
    let two = "FROM NAMED WINDOW :w ON :s [RANGE 10s] FROM NAMED WINDOW :v ON :s [FROM NOW-2h TO NOW-1h STEP 1h]";
    assert_eq!(
        parse(&format!("{HEAD}SELECT * {two} {{ WINDOW :w {{ ?s ?p ?o }} window :v {{ ?s ?p ?o }} }}")).windows.len(),
        2
    );
    let grouped = parse(&format!(
        "{HEAD}SELECT ?s count(distinct ?o) as ?n WHERE {{ STREAM :s [NOW] {{ ?s ?p ?o }} }} GROUPBY ?s"
    ));
    assert!(body(&grouped).contains("COUNT(DISTINCT"), "{}", body(&grouped));
    parse(&format!(
        "{HEAD}PREFIX x.y: <http://e/> SELECT * WHERE {{ ?meter x.y:stream.of ?s . STREAM ?s [ALL] {{ ?s :a..b ?o }} }}"
    ));
}

#[test]
fn aggregates_stand_where_groups_are() {
    for text in [
        "SELECT ?s (SUM(?o) AS ?n) { ?s ?p ?o } GROUP BY ?s HAVING (COUNT(?o) > 1) ORDER BY DESC(MAX(?o))",
        "SELECT (MAX(?n) AS ?m) { { SELECT (COUNT(?o) AS ?n) { ?s ?p ?o FILTER(?o > 1) } GROUP BY ?s } }",
        "SELECT * { ?s ?p ?o FILTER EXISTS { SELECT (AVG(?x) AS ?y) { ?s ?q ?x } } }",
        "SELECT (SUM(IF(?o > 1, 1, 0)) AS ?n) (IF(COUNT(?o) > 1, 'a', 'b') AS ?m) { ?s ?p ?o }",
    ] {
        parse(text);
    }
    assert_eq!(refuse("SELECT (SUM(1 + MEDIAN(?o)) AS ?n) { ?s ?p ?o }").code(), "aggregate.nested");
    assert_eq!(refuse("ASK { ?s ?p ?o FILTER EXISTS { ?s ?q ?r FILTER(MIN(?r) > 1) } }").code(), "aggregate.misplaced");
}

#[test]
fn windows_without_extent_are_refused() {
    for (text, code) in [
        ("RANGE 0s", "window.zero_width"),
        ("RANGE 10s STEP 0", "window.zero_slide"),
        ("RANGE -10s", "duration.negative"),
        ("RANGE 10s STEP 9ms", "window.too_many"),
        ("RANGE P1Y", "duration.calendar"),
        ("RANGE 10s STEP", "parse.unexpected_token"),
        ("RANGE 10s STEP 1s TUMBLING", "window.step_and_tumbling"),
        ("ELEMENTS 0", "window.zero_count"),
        ("TRIPLES -3", "window.zero_count"),
        ("FROM NOW-PT5M TO NOW-PT10M", "window.zero_width"),
        ("SOMETIMES", "parse.unexpected_token"),
    ] {
        assert_eq!(refuse(&rsp(text)).code(), code, "{text}");
    }
    assert_eq!(kind(&rsp("RANGE 10s STEP 10ms")), step(10_000, 10));
    assert_eq!(place(&refuse(&rsp("RANGE 0s"))), (1, 65));
}

#[test]
fn defaults_of_the_dialects() {
    let query = parse(&rsp("RANGE 10s"));
    assert_eq!((query.dialect, query.r2s, query.tick), (Dialect::RspQl, R2s::Rstream, Tick::Time));
    assert_eq!(query.report, Report { close: true, ..Report::default() });
    assert_eq!(
        (query.semantics, query.default_graph),
        (ContentSemantics::Set, DefaultGraph { windows: vec![], with_static: true })
    );
    assert_eq!((query.t0, query.bounds, query.partial), (Timestamp::EPOCH, Bounds::ClosedOpen, false));

    let query = parse(&csparql("RANGE 10s STEP 5s"));
    assert_eq!((query.dialect, query.r2s, query.name.as_deref()), (Dialect::CSparql, R2s::Rstream, Some("q")));
    assert_eq!(query.default_graph, DefaultGraph { windows: vec![0], with_static: true });

    let query = parse(&cqels("RANGE 10s"));
    assert_eq!((query.dialect, query.r2s, query.tick), (Dialect::CqelsQl, R2s::Istream, Tick::Tuple));
    assert_eq!(query.report, Report { change: true, nonempty: true, ..Report::default() });
    assert_eq!(query.semantics, ContentSemantics::Bag);

    let query = parse("ASK { ?s ?p ?o }");
    assert_eq!((query.dialect, query.windows.len()), (Dialect::RspQl, 0));
}

#[test]
fn options_win_over_text_and_dialect() {
    let options = ParseOptions {
        dialect: Some(Dialect::CqelsQl),
        report: Some(Report { nonempty: true, ..Report::default() }),
        tick: Some(Tick::Time),
        t0: Some(Timestamp::from_millis(5)),
        bounds: Some(Bounds::OpenClosed),
        partial: Some(true),
        semantics: Some(ContentSemantics::Set),
        r2s: Some(R2s::Changes),
        base_iri: None,
        default_graph: None,
        keep_answer: true,
        keep_windows: true,
        allow_cartesian: false,
    };
    let query = parse_query(&rsp("RANGE 10s"), &options).expect("well formed");
    assert_eq!(query.windows[0].kind, WindowKind::Sliding { width: ms(10_000) });
    assert_eq!((query.r2s, query.tick, query.partial), (R2s::Changes, Tick::Time, true));
    assert_eq!((query.bounds, query.semantics), (Bounds::OpenClosed, ContentSemantics::Set));
    assert_eq!(query.report, Report { nonempty: true, ..Report::default() });
}

#[test]
fn register_before_or_after_the_prologue() {
    let rest = "SELECT ?s FROM NAMED WINDOW :w ON STREAM :s [RANGE 10s] { WINDOW :w { ?s ?p ?o } }";
    for text in
        [format!("{HEAD} REGISTER RStream :q AS {rest}"), format!("REGISTER IStream <http://e/q> AS {HEAD}{rest}")]
    {
        assert_eq!(parse(&text).name.as_deref(), Some("http://e/q"));
    }
    let query = parse(&format!("{HEAD} REGISTER DSTREAM :q COMPUTED EVERY 5s AS {rest}"));
    assert_eq!((query.r2s, query.report.close, query.report.periodic), (R2s::Dstream, true, Some(ms(5_000))));
    let error = refuse(&format!("{HEAD}\nREGISTER STREAM :q UNDER ENTAILMENT REGIME <http://r> AS {rest}"));
    assert_eq!((error.code(), place(&error)), ("unsupported.entailment", (2, 20)));
}

#[test]
fn relation_to_stream_behind_the_form() {
    let from = "FROM NAMED WINDOW :w ON :s [RANGE 10s]";
    let read = "WINDOW :w { ?s ?p ?o }";
    assert_eq!(parse(&format!("{HEAD}SELECT ISTREAM ?s {from} {{ {read} }}")).r2s, R2s::Istream);
    assert_eq!(parse(&format!("{HEAD}SELECT CHANGES DISTINCT ?s {from} {{ {read} }}")).r2s, R2s::Changes);
    let query = parse(&format!("{HEAD}CONSTRUCT DSTREAM{{ ?s :p ?o }} {from} {{ {read} }}"));
    assert_eq!(query.r2s, R2s::Dstream);
    assert!(matches!(query.query, Query::Construct { .. }));
}

#[test]
fn time_report_and_tick_inside_the_brackets() {
    for text in [
        "RANGE 10s @:at STEP 5s",
        "RANGE 10s STEP 5s @ :at",
        "RANGE 10s@:at STEP 5s",
        "RANGE 10s STEP 5s @<http://e/at>",
    ] {
        let window = parse(&rsp(text)).windows.remove(0);
        assert_eq!(window.time_predicate.map(|p| p.into_string()).as_deref(), Some("http://e/at"), "{text}");
    }
    let query = parse(&rsp("RANGE 10s STEP 5s REPORT ON_CONTENT_CHANGE NON_EMPTY_CONTENT TICK TUPLE_DRIVEN"));
    assert_eq!(query.report, Report { change: true, nonempty: true, ..Report::default() });
    assert_eq!(query.tick, Tick::Tuple);
    assert_eq!(parse(&rsp("RANGE 10s REPORT PERIODIC 2s")).report.periodic, Some(ms(2_000)));
}

#[test]
fn names_of_windows_are_resolved() {
    let query = parse(
        "BASE <http://b/> PREFIX p: <ns#> SELECT * FROM NAMED WINDOW <w> ON p:s [RANGE 1s] { WINDOW <w> { ?s ?p ?o } }",
    );
    assert_eq!(query.windows[0].name.as_str(), "http://b/w");
    assert!(matches!(&query.windows[0].stream, StreamName::Iri(s) if s.as_str() == "http://b/ns#s"));
    // Without a BASE a relative name is still a name.
    let query = parse("SELECT * FROM NAMED WINDOW <w> ON <s> [RANGE 1s] { WINDOW <w> { ?s ?p ?o } }");
    assert_eq!(query.windows[0].name.as_str(), "urn:whorl:name:w");
    assert!(body(&query).contains("GRAPH <urn:whorl:name:w>"));
    // The form of the RSP group, with the name at the end.
    let query = parse(&format!(
        "{HEAD}SELECT * FROM NAMED WINDOW ON STREAM :s [RANGE 1s] AS :w {{ WINDOW :w {{ ?s ?p ?o }} }}"
    ));
    assert_eq!(query.windows[0].name.as_str(), "http://e/w");
}

#[test]
fn windows_and_their_uses_must_match() {
    let error =
        refuse(&format!("{HEAD}SELECT *\nFROM NAMED WINDOW :wind ON :s [RANGE 1s]\n{{ WINDOW :win {{ ?s ?p ?o }} }}"));
    assert_eq!((error.code(), place(&error)), ("window.undeclared", (3, 10)));
    assert_eq!(error.hint(), Some("did you mean <http://e/wind>?"));
    let error = refuse(&format!("{HEAD}SELECT *\n FROM NAMED WINDOW :w ON :s [RANGE 1s] {{ ?s ?p ?o }}"));
    assert_eq!((error.code(), place(&error)), ("window.unused", (2, 2)));
    let twice = "FROM NAMED WINDOW :w ON :s [RANGE 1s]";
    let error = refuse(&format!("{HEAD}SELECT * {twice} {twice} {{ WINDOW :w {{ ?s ?p ?o }} }}"));
    assert_eq!(error.code(), "window.duplicate");
}

#[test]
fn a_variable_reads_every_window() {
    let from = "FROM NAMED WINDOW :v ON :s [NOW] FROM NAMED WINDOW :w ON :s [RANGE 1s]";
    let query = parse(&format!("{HEAD}SELECT * {from} {{ window $w {{ ?s ?p ?o }} WINDOW ?w {{ ?o ?p ?s }} }}"));
    assert_eq!(query.window_variables, [Variable::new_unchecked("w")]);
    assert!(body(&query).contains("GRAPH ?w"), "{}", body(&query));
    let error = refuse(&format!("{HEAD}SELECT * {from}\n{{ WINDOW ?w {{ ?s ?p ?o }} GRAPH ?w {{ ?o ?p ?s }} }}"));
    assert_eq!((error.code(), place(&error)), ("window.variable_conflict", (2, 32)));
    let error = refuse(&format!("{HEAD}SELECT * {from}\n{{ GRAPH ?w {{ ?s ?p ?o }} WINDOW $w {{ ?o ?p ?s }} }}"));
    assert_eq!((error.code(), place(&error)), ("window.variable_conflict", (2, 32)));
    let error = refuse("SELECT * {\n WINDOW ?w { ?s ?p ?o } }");
    assert_eq!((error.code(), place(&error)), ("window.undeclared", (2, 9)));
    parse(&format!(
        "{HEAD}SELECT * {from} {{ WINDOW ?w {{ ?s ?p ?o }} WINDOW :w {{ ?s ?p ?o }} GRAPH ?g {{ ?o ?p ?s }} }}"
    ));
}

#[test]
fn the_default_graph_may_be_a_window() {
    let with = |text: &str, window: &str| {
        parse_query(text, &ParseOptions { default_graph: Some(window.to_owned()), ..ParseOptions::default() })
    };
    let query = with("SELECT * { ?s ?p ?o }", "<http://e/s> [RANGE 10s]").expect("well formed");
    assert_eq!((query.dialect, query.windows.len()), (Dialect::RspQl, 1));
    assert_eq!(query.default_graph, DefaultGraph { windows: vec![0], with_static: false });
    assert_eq!(query.windows[0].kind, step(10_000, 10_000));
    assert!(matches!(&query.windows[0].stream, StreamName::Iri(s) if s.as_str() == "http://e/s"));
    let query = with(&rsp("NOW"), " <http://e/s> [ALL TICK TUPLE] ").expect("well formed");
    assert_eq!(query.default_graph, DefaultGraph { windows: vec![1], with_static: false });
    assert_eq!((query.windows[1].kind.clone(), query.tick), (WindowKind::All, Tick::Tuple));
    assert_eq!(with(&cqels("NOW"), "<http://e/s> [NOW]").expect("well formed").default_graph.windows, [1]);
    for (window, code, column) in [
        ("<http://e/s>", "parse.unexpected_end", 13),
        ("<http://e/s> [RANGE 0s]", "window.zero_width", 21),
        ("[ALL]", "parse.unexpected_token", 1),
        ("<http://e/s> [ALL] x", "parse.unexpected_token", 20),
        ("e:s [ALL]", "prefix.unknown", 1),
        ("'", "parse.unterminated_string", 1),
    ] {
        let error = with("ASK { ?s ?p ?o }", window).expect_err(window);
        assert_eq!((error.code(), place(&error)), (code, (1, column)), "{window}");
        assert!(error.message().starts_with("in the option default_graph: "), "{error}");
    }
    let error = with(&csparql("RANGE 1s STEP 1s"), "<http://e/s> [ALL]").expect_err("two default graphs");
    assert_eq!((error.code(), place(&error)), ("option.default_graph", (1, 51)));
}

#[test]
fn stream_blocks_share_equal_windows() {
    let query = parse(&format!(
        "{HEAD}SELECT * {{ STREAM :s [NOW] {{ ?a :p ?b }} STREAM [NOW] :s {{ ?b :q ?c }} stream :s [RANGE 3s] {{ ?c :r ?d }} STREAM ?x [NOW] {{ ?d ?e ?f }} }}"
    ));
    let names: Vec<_> = query.windows.iter().map(|w| w.name.as_str()).collect();
    assert_eq!(names, ["urn:whorl:window:1", "urn:whorl:window:2", "urn:whorl:window:3"]);
    assert_eq!(body(&query).matches("GRAPH <urn:whorl:window:1>").count(), 2);
    assert!(matches!(&query.windows[2].stream, StreamName::Variable(v) if v.as_str() == "x"));
}

#[test]
fn words_in_strings_and_comments_are_no_clauses() {
    let query = parse(&format!(
        "{HEAD}# FROM NAMED WINDOW :x ON :y [RANGE 0]\nSELECT * FROM NAMED WINDOW :w ON :s [RANGE 1s] # [oops\n\
         {{ OPTIONAL {{ WINDOW :w {{ ?WINDOW :STREAM 'WINDOW :v {{' , \"\"\"STREAM <s> [NOW] {{\n\"\"\" }} }} FILTER(?s < 3 && ?t > 2) }}"
    ));
    assert_eq!(query.windows.len(), 1);
    assert!(body(&query).contains("WINDOW :v {"));
}

#[test]
fn dialects_do_not_mix() {
    let error =
        refuse(&format!("{HEAD}SELECT * FROM STREAM :s [RANGE 1s STEP 1s] {{\n STREAM :s [NOW] {{ ?s ?p ?o }} }}"));
    assert_eq!((error.code(), place(&error)), ("dialect.mixed", (2, 2)));
}

fn aggregate(select: &str) -> AggregateFunction {
    let query = parse(&format!("SELECT {select} {{ ?s ?p ?x }}")).query;
    let Query::Select { pattern, .. } = query else { panic!("no SELECT") };
    let mut pattern = pattern;
    loop {
        pattern = match pattern {
            GraphPattern::Project { inner, .. } | GraphPattern::Extend { inner, .. } => *inner,
            GraphPattern::Group { mut aggregates, .. } => match aggregates.remove(0).1 {
                AggregateExpression::FunctionCall { name, .. } => return name,
                AggregateExpression::CountSolutions { .. } => panic!("COUNT(*)"),
            },
            other => panic!("no group: {other:?}"),
        }
    }
}

#[test]
fn aggregates_beyond_sparql() {
    let extra = |select: &str| match aggregate(select) {
        AggregateFunction::Custom(name) => {
            name.as_str().strip_prefix(AGGREGATE_PREFIX).expect("one of ours").to_owned()
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(extra("(MEDIAN(?x) AS ?m)"), "median");
    assert_eq!(extra("(stddev_pop(DISTINCT ?x) AS ?m)"), "stddev_pop:distinct");
    for spelling in ["0.95", ".95", "95", "95.0"] {
        assert_eq!(extra(&format!("(PERCENTILE(?x + 1, {spelling}) AS ?m)")), "percentile:0.95");
        assert_eq!(extra(&format!("(PERCENTILE(DISTINCT ?x, {spelling}) AS ?m)")), "percentile:0.95:distinct");
    }
    assert_eq!(extra("MEDIAN(?x) AS ?n"), "median");
    assert_eq!(aggregate("(AVERAGE(?x) AS ?m)"), AggregateFunction::Avg);
    assert_eq!(aggregate("count(distinct ?x) as ?n"), AggregateFunction::Count);
    assert_eq!(refuse("SELECT (PERCENTILE(?x, ?y) AS ?m) { ?s ?p ?x }").code(), "aggregate.percentile");
    assert_eq!(refuse("SELECT (PERCENTILE(?x, 101) AS ?m) { ?s ?p ?x }").code(), "aggregate.percentile");
    parse("SELECT (?a + ?b) AS ?c { ?a ?median ?b FILTER(COALESCE (?a, 1) = CONCAT ('a', 'MEDIAN(1)')) }");
}

#[test]
fn a_token_is_as_long_as_it_can_be() {
    assert_eq!(refuse("SELECT * { ?s ?p ?x FILTER(?x<?a&&?b>?y) }").code(), "parse.unexpected_token");
    assert_eq!(refuse("SELECT * { ?s ?p ?x FILTER(IF(?x<?a,?b>?y,1)) }").code(), "parse.unexpected_token");
    parse("SELECT * { ?s ?p ?x FILTER(?x < ?a&&?b > ?y) }");
    parse("SELECT * { ?x<http://ex/?a=1&b=2>?y FILTER(?x IN(<http://ex/?a=(1)>)) }");
}

#[test]
fn booleans_are_keywords_in_any_case() {
    let lower = parse("SELECT ?s { ?s ?p true FILTER(false) }");
    assert_eq!(parse("SELECT ?s { ?s ?p TRUE FILTER(False) }").query, lower.query);
}

#[test]
fn a_star_shows_variables_in_the_order_of_the_text() {
    let columns = |text: &str| match parse(text).query {
        spargebra::Query::Select { pattern: GraphPattern::Slice { inner, .. }, .. } => match *inner {
            GraphPattern::Distinct { inner } => match *inner {
                GraphPattern::Project { variables, .. } => variables.iter().map(|v| v.as_str().to_owned()).collect(),
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        },
        other => vec![format!("{other:?}")],
    };
    let text = "SELECT DISTINCT * { ?z ?b $a { SELECT ?y { ?y ?hidden ?z } } } ORDER BY ?q LIMIT 5";
    assert_eq!(columns(text), ["z", "b", "a", "y"]);
}
