//! Plans as people and programs see them: one file each in `tests/plans`, with the text, and for some the JSON.
//!
//! Detects: any change in how a query is planned or shown, and names that differ from run to run. Does not detect: whether
//! the plan is a good one. `WHORL_CASES_UPDATE=1` rewrites the expected parts; a person reads the diff.
//!
//! ```text
//! # claim
//! == query     one query
//! == static    Turtle for the default graph
//! == events    on :s, one a line: seconds and Turtle; seconds alone move time
//! == text      what `explain` gives
//! == json      what `explain_json` gives, laid out
//! ```

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use whorl_engine::{ContentSemantics, Engine, EngineOptions, ParseOptions, QueryId, RdfFormat, Timestamp};

const PREFIX: &str = "PREFIX : <http://ex/> ";

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/plans");
    let mut files: Vec<_> =
        std::fs::read_dir(folder).expect("plans").map(|entry| entry.expect("a file").path()).collect();
    files.sort();
    files
}

fn sections(text: &str) -> BTreeMap<&str, &str> {
    let parts = text.split("\n== ").skip(1);
    parts.map(|part| part.split_once('\n').unwrap_or((part, ""))).map(|(name, body)| (name.trim(), body)).collect()
}

fn run(sections: &BTreeMap<&str, &str>, options: EngineOptions) -> (Engine, QueryId) {
    let mut engine = Engine::new(options);
    if let Some(turtle) = sections.get("static") {
        engine.load(None, format!("{PREFIX}{turtle}").as_bytes(), RdfFormat::Turtle).expect("static data");
    }
    let query = engine.register(sections["query"], &ParseOptions::default()).expect("a query");
    for line in sections["events"].lines() {
        let (at, turtle) = line.split_once(' ').unwrap_or((line, ""));
        let at = Timestamp::from_millis(at.parse::<i64>().expect("seconds") * 1000);
        if turtle.is_empty() {
            engine.advance_to(at).expect("time moves on");
        } else {
            let rdf = format!("{PREFIX}{turtle}");
            engine.push("http://ex/s", Some(at), rdf.as_bytes(), RdfFormat::Turtle).expect("an event");
        }
    }
    (engine, query)
}

/// JSON on several lines: objects inside lists and the members that hold such lists each get their own.
fn laid_out(json: &str) -> String {
    let mut text = String::new();
    let (mut depth, mut quoted, mut escaped) = (0, false, false);
    for c in json.chars() {
        let line = |depth: usize| format!("\n{}", "  ".repeat(depth));
        match c {
            '{' if !quoted => {
                depth += 1;
                text.push_str(&line(depth));
            }
            '}' if !quoted => depth -= 1,
            _ => {}
        }
        quoted ^= c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        text.push(c);
    }
    text.trim_start().to_owned() + "\n"
}

#[test]
fn plans_are_shown_as_written_down() {
    let update = std::env::var_os("WHORL_CASES_UPDATE").is_some();
    let mut differing = Vec::new();
    for path in files() {
        let file = std::fs::read_to_string(&path).expect("a plan");
        let sections = sections(&file);
        let (engine, query) = run(&sections, EngineOptions::default());
        let input = file.split_once("== text").expect("a text").0;
        let mut now = format!("{input}== text\n{}", engine.explain(query).expect("a plan"));
        if sections.contains_key("json") {
            now.push_str(&format!("== json\n{}", laid_out(&engine.explain_json(query).expect("a plan"))));
        }
        if update {
            std::fs::write(&path, now).expect("a plan");
        } else if now != file {
            differing.push(format!("{}\n{now}", path.display()));
        }
    }
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}

#[test]
fn equal_texts_are_shown_equally() {
    for path in files() {
        let file = std::fs::read_to_string(path).expect("a plan");
        let sections = sections(&file);
        let options = |hash_seed| EngineOptions { hash_seed, ..EngineOptions::default() };
        let (one, first) = run(&sections, options(1));
        let (other, second) = run(&sections, options(2));
        assert_eq!(one.explain(first).expect("a plan"), other.explain(second).expect("a plan"));
        assert_eq!(one.explain_json(first).expect("a plan"), other.explain_json(second).expect("a plan"));
    }
}

/// The W3C tests tell by this word what has no incremental operator.
#[test]
fn only_what_is_reevaluated_says_so() {
    for path in files() {
        let file = std::fs::read_to_string(&path).expect("a plan");
        let (engine, query) = run(&sections(&file), EngineOptions::default());
        let text = engine.explain(query).expect("a plan");
        let is_path = path.file_stem().is_some_and(|stem| stem == "path");
        assert_eq!(text.matches("re-evaluated").count(), usize::from(is_path), "{text}");
        let json = engine.explain_json(query).expect("a plan");
        assert_eq!(json.matches("\"reason\":").count(), usize::from(is_path), "{json}");
    }
}

#[test]
fn long_details_are_cut_in_text_and_whole_in_json() {
    let mut engine = Engine::new(EngineOptions::default());
    let list: Vec<String> = (0..100).map(|n| n.to_string()).collect();
    let list = list.join(", ");
    let text = format!(
        "{PREFIX}SELECT ?r FROM NAMED WINDOW :w ON :s [RANGE 1s] WHERE {{ WINDOW :w {{ ?r :temp ?t }} FILTER(?t IN ({list})) }}"
    );
    let query = engine.register(&text, &ParseOptions::default()).expect("a query");
    let shown = engine.explain(query).expect("a plan");
    assert!(shown.contains('…') && shown.lines().all(|line| line.chars().count() < 240), "{shown}");
    assert!(engine.explain_json(query).expect("a plan").contains(&list));
}

#[test]
fn errors_name_windows_and_terms_as_the_user_does() {
    let mut engine = Engine::new(EngineOptions::default());
    let bag = ParseOptions { semantics: Some(ContentSemantics::Bag), ..ParseOptions::default() };
    let mut refused = |body: &str| {
        let text = format!(
            "{PREFIX}PREFIX f: <urn:whorl:fn:>\nSELECT ?r FROM NAMED WINDOW :w ON :s [RANGE 1s] WHERE {{ {body} }}"
        );
        engine.register(&text, &bag).expect_err("a refusal").to_string()
    };
    let error = refused("WINDOW :w { ?r :p ?t BIND(f:timestamp(?r, :p, (?t + 1) * 2) AS ?at) }");
    assert!(error.contains("(?t + 1) * 2 as an argument"), "{error}");
}

/// Whether the plan says so after the events, each of them the same triple.
fn merged(query: &str, seconds: &[i64]) -> String {
    let mut engine = Engine::new(EngineOptions::default());
    let query = engine.register(&format!("{PREFIX}{query}"), &ParseOptions::default()).expect("a query");
    for second in seconds {
        let at = Timestamp::from_millis(second * 1000);
        engine.push("http://ex/s", Some(at), b"<http://ex/a> <http://ex/p> 1 .", RdfFormat::Turtle).expect("an event");
    }
    engine.advance_to(Timestamp::from_millis(100_000)).expect("time moves on");
    let plan = engine.explain(query).expect("a plan");
    let leaf = plan.lines().find(|line| line.contains("matched")).expect("a leaf");
    leaf.split(" · ").find(|part| part.ends_with("merged")).unwrap_or("none").to_owned()
}

#[test]
fn copies_that_a_set_window_merges_are_counted() {
    let set = "SELECT ?b FROM NAMED WINDOW :w ON :s [RANGE 10s] WHERE { WINDOW :w { :a :p ?b . ?b ?q ?c } }";
    // Two further copies in the first window; the one at 12 is in a window of its own.
    assert_eq!(merged(set, &[1, 2, 3, 12]), "2 merged");
    assert_eq!(merged(set, &[1, 12, 23]), "none");
    // What leaves and returns at one instant shares no window with the copy before.
    let sliding = set.replace("[RANGE 10s]", "[RANGE 10s STEP 5s]");
    assert_eq!(merged(&sliding, &[1, 6, 16]), "1 merged");
}
