//! Invalid queries and their errors: `tests/wrong/*.txt`, one kind of fault per file.
//!
//! A case is a name, the text, and after `---` the code, line:column, message and hint that `Engine::register` must
//! return. Detects: changes in the wording and position of errors. Does not detect: a valid query that is refused.
//! Rewritten with `WHORL_UPDATE=1 cargo test -p whorl-engine --test wrong_queries`; a person reads the diff and asks of
//! each case: would I look there, and do I know what to do?

use std::fmt::Write;
use std::path::{Path, PathBuf};

use whorl_engine::{Engine, EngineError, EngineOptions, ParseOptions};

struct Case {
    name: String,
    text: String,
    expected: String,
}

fn read(path: &Path) -> Vec<Case> {
    let file = std::fs::read_to_string(path).expect("a readable file");
    let cases = file.split("=== ").skip(1).map(|case| {
        let (name, rest) = case.split_once('\n').expect("a name");
        let (text, expected) = rest.split_once("---\n").expect("an expectation");
        let text = text.strip_suffix('\n').unwrap_or(text);
        Case { name: name.to_owned(), text: text.to_owned(), expected: expected.trim().to_owned() }
    });
    cases.collect()
}

fn refusal(text: &str) -> Option<EngineError> {
    Engine::new(EngineOptions::default()).register(text, &ParseOptions::default()).err()
}

fn describe(error: &EngineError) -> String {
    let hint = error.hint().unwrap_or_default();
    let place = error.position().map(|place| format!("{}:{}", place.line, place.column)).unwrap_or_default();
    format!("{} {place}\n{}\nhint: {hint}", error.code(), error.message())
}

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wrong");
    let mut files: Vec<_> = std::fs::read_dir(folder).expect("the folder").map(|f| f.expect("a file").path()).collect();
    files.sort();
    files
}

#[test]
fn every_wrong_query_is_refused_with_place_and_advice() {
    let update = std::env::var_os("WHORL_UPDATE").is_some();
    let (mut failures, mut n_cases) = (Vec::new(), 0);
    for path in files() {
        let mut rewritten = String::new();
        for case in read(&path) {
            n_cases += 1;
            let Some(error) = refusal(&case.text) else {
                failures.push(format!("{}\n{}\nis taken without an error", case.name, case.text));
                write!(rewritten, "=== {}\n{}\n---\n{}\n\n", case.name, case.text, case.expected).expect("memory");
                continue;
            };
            let found = describe(&error);
            write!(rewritten, "=== {}\n{}\n---\n{found}\n\n", case.name, case.text).expect("memory");
            let complete = error.position().is_some() && error.hint().is_some_and(|hint| !hint.is_empty());
            if !complete || (!update && found != case.expected) {
                failures.push(format!("{}\n{}\nexpected\n{}\nfound\n{found}", case.name, case.text, case.expected));
            }
        }
        if update {
            std::fs::write(&path, rewritten.trim_end().to_owned() + "\n").expect("a writable file");
        }
    }
    assert!(failures.is_empty(), "{} cases:\n\n{}", failures.len(), failures.join("\n\n"));
    assert!(n_cases >= 100, "{n_cases} cases");
}

#[test]
fn places_are_inside_the_text() {
    for case in files().iter().flat_map(|path| read(path)) {
        let Some(place) = refusal(&case.text).and_then(|error| error.position()) else {
            panic!("no place: {}", case.name)
        };
        let line = case.text.split('\n').nth(place.line as usize - 1).unwrap_or_else(|| panic!("{}", case.name));
        assert!(place.column as usize <= line.chars().count() + 1, "{}", case.name);
    }
}
