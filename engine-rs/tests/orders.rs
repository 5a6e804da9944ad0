//! One order of rows, whatever the evaluation mode, the partitions, the way of reading, and the order of arrival.
//!
//! Detects: ties decided by ids, hidden columns or the order of arrival. Does not detect: a wrong order of values,
//! which the tests of expressions cover.

use whorl_engine::{AnswerFormat, AskOptions, Engine, EngineOptions, Evaluation, ParseOptions, RdfFormat, Timestamp};

const FORMS: [&str; 5] = ["01", "1", "1.0", "1e0", "\"1\"^^<http://www.w3.org/2001/XMLSchema#int>"];
const FROM: &str = "FROM NAMED WINDOW :w ON :s [RANGE 1s]";

fn turtle(order: &[usize]) -> String {
    let triples: String = order.iter().map(|n| format!(":b{} :v {} . ", (n * 3) % 5, FORMS[*n])).collect();
    format!("PREFIX : <http://ex/> {triples}")
}

/// The values of `?x` in the first report, after pushing the events one by one.
fn reported(query: &str, evaluation: Evaluation, order: &[usize]) -> Vec<String> {
    let mut engine = Engine::new(EngineOptions { evaluation, ..EngineOptions::default() });
    let text = format!("PREFIX : <http://ex/> {}", query.replace("FROM", FROM));
    let query = engine.register(&text, &ParseOptions::default()).expect("the query registers");
    for n in order {
        let body = turtle(&[*n]);
        engine.push("http://ex/s", Some(Timestamp::EPOCH), body.as_bytes(), RdfFormat::Turtle).expect("an event");
    }
    engine.advance_to(Timestamp::from_millis(1000)).expect("a watermark");
    let envelopes = engine.drain_json(query, "q").expect("a result");
    values(&envelopes[0])
}

fn asked(query: &str, order: &[usize]) -> Vec<String> {
    let mut engine = Engine::new(EngineOptions::default());
    engine.load(None, turtle(order).as_bytes(), RdfFormat::Turtle).expect("static data");
    let text = format!("PREFIX : <http://ex/> {}", query.replace("FROM ", "").replace("WINDOW :w", ""));
    values(&engine.ask(&text, AnswerFormat::Json, &AskOptions::default()).expect("an answer"))
}

/// Text and datatype of each `?x`.
fn values(json: &[u8]) -> Vec<String> {
    let json: serde_json::Value = serde_json::from_slice(json).expect("JSON");
    let rows = json.pointer("/results/bindings").or_else(|| json.pointer("/results/results/bindings"));
    let rows = rows.and_then(serde_json::Value::as_array);
    let value = |row: &serde_json::Value| format!("{} {}", row["x"]["value"], row["x"]["datatype"]).replace('"', "");
    rows.unwrap_or_else(|| panic!("rows in {json}")).iter().map(value).collect()
}

#[test]
fn ties_are_in_one_order_in_every_way() {
    let ordered: Vec<String> =
        [("1.0", "decimal"), ("1e0", "double"), ("1", "int"), ("01", "integer"), ("1", "integer")]
            .iter()
            .map(|(text, name)| format!("{text} http://www.w3.org/2001/XMLSchema#{name}"))
            .collect();
    let orders = [[0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [2, 4, 0, 3, 1], [1, 0, 3, 4, 2]];
    for order in orders {
        for (query, n) in [
            ("SELECT ?x FROM WHERE { WINDOW :w { ?b :v ?x } } ORDER BY ?x LIMIT 3", 3),
            ("SELECT ?x FROM WHERE { WINDOW :w { ?b :v ?x } } ORDER BY ?x", 5),
            ("SELECT ?x FROM WHERE { WINDOW :w { ?b :v ?x } } LIMIT 2", 2),
            ("SELECT ?x ?b FROM WHERE { WINDOW :w { ?b :v ?x } } ORDER BY (?x + 0) LIMIT 4", 4),
            ("SELECT DISTINCT ?x FROM WHERE { WINDOW :w { ?b :v ?x } } ORDER BY ?x LIMIT 4", 4),
            ("SELECT ?x FROM WHERE { WINDOW :w { ?b :v ?x } }", 5),
        ] {
            for evaluation in [Evaluation::Incremental, Evaluation::Reevaluate] {
                assert_eq!(reported(query, evaluation, &order), ordered[..n], "{query} {evaluation:?} {order:?}");
            }
            if query.contains("ORDER BY") {
                assert_eq!(asked(query, &order), ordered[..n], "{query} asked, {order:?}");
            }
        }
    }
}
