//! Golden cases: one behaviour per file in `tests/cases`, with the answer written out.
//!
//! Detects: any change of an answer, of its instants or of its order. Does not detect: faults no case
//! was written for. `WHORL_CASES_UPDATE=1` rewrites the expected parts; a person reads the diff.
//! `WHORL_CASE=periodic` runs only the cases whose file name contains `periodic`.
//!
//! ```text
//! # claim
//! option report change            any option of a query, one a line
//! stream :s lateness 2s           settings of a stream
//! before REGISTER STREAM :t AS …  a query registered before, whose stream the query reads
//! query  SELECT …                 indented lines go on
//! static :a :p :b                 Turtle for the default graph
//! at 4   :r1 :temp 20             an event on :s; seconds, or 4500ms
//! at 4 on :s2 …                   an event on another stream
//! at 4 in :g …                    an event in a named graph
//! load :a :p :c                   more Turtle for the default graph, while the query runs
//! replace :a :p :c                the default graph is exactly this Turtle
//! update DELETE WHERE { … }       SPARQL Update of the static graphs
//! watermark 10                    no more events before
//! close                           all streams end
//! expect
//! at 4   + r1 20                  a row that comes (- one that goes)
//! at 10  = r1 20 | r2 30          the rows of an RSTREAM report, "= none" when empty
//! ```

use std::fmt::Write;
use std::path::{Path, PathBuf};
use whorl_engine::{
    Answered, Engine, EngineOptions, OptionValue, ParseOptions, QueryId, QueryResult, R2s, RdfFormat, Rows, Span,
    StreamOptions, TermId, Timestamp,
};

const PREFIXES: &str = "PREFIX : <http://ex/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> ";

struct Case {
    input: String,
    before: Vec<String>,
    query: String,
    options: ParseOptions,
    streams: Vec<(String, StreamOptions)>,
    statics: Vec<String>,
    steps: Vec<Step>,
    expected: String,
}

enum Step {
    Event { at: Timestamp, stream: String, turtle: String },
    Load(String),
    Replace(String),
    Update(String),
    Watermark(Timestamp),
    Close,
}

fn millis(text: &str) -> i64 {
    match text.strip_suffix("ms") {
        Some(ms) => ms.parse().expect("milliseconds"),
        None => (text.trim_end_matches('s').parse::<f64>().expect("seconds") * 1000.0).round() as i64,
    }
}

fn iri(name: &str) -> String {
    match name.strip_prefix(':') {
        Some(local) => format!("http://ex/{local}"),
        None => name.trim_matches(['<', '>']).to_owned(),
    }
}

/// Instants are in seconds, as everywhere in a case; all else is what `ParseOptions::set` reads.
fn set_option(options: &mut ParseOptions, key: &str, value: &str) {
    let value = match key {
        "t0" => OptionValue::Number(millis(value)),
        _ => OptionValue::Text(value.to_owned()),
    };
    options.set(key, &value).unwrap_or_else(|error| panic!("{error}"));
}

fn parse(text: &str) -> Case {
    let (input, expected) = text.split_once("\nexpect\n").expect("a case has an expect line");
    let mut case = Case {
        input: input.to_owned(),
        before: vec![],
        query: String::new(),
        options: ParseOptions::default(),
        streams: vec![],
        statics: vec![],
        steps: vec![],
        expected: expected.to_owned(),
    };
    for line in input.lines() {
        if line.starts_with([' ', '\t']) {
            case.query.push('\n');
            case.query.push_str(line);
            continue;
        }
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        match word {
            "" | "#" => {}
            "before" => case.before.push(rest.to_owned()),
            "query" => case.query = rest.to_owned(),
            "option" => {
                let (key, value) = rest.split_once(char::is_whitespace).expect("option key value");
                set_option(&mut case.options, key, value.trim());
            }
            "stream" => {
                let words: Vec<&str> = rest.split_whitespace().collect();
                let mut options = StreamOptions::default();
                for pair in words[1..].chunks(2) {
                    let span = Some(Span::from_millis(millis(pair[1])));
                    if pair[0] == "lateness" { options.lateness = span } else { options.idle_timeout = span }
                }
                case.streams.push((iri(words[0]), options));
            }
            "static" => case.statics.push(rest.to_owned()),
            "at" => {
                let (at, mut rest) = rest.split_once(char::is_whitespace).expect("at time triples");
                let mut stream = iri(":s");
                if let Some(other) = rest.trim().strip_prefix("on ") {
                    let (name, triples) = other.split_once(char::is_whitespace).expect("on stream triples");
                    stream = iri(name);
                    rest = triples;
                }
                let mut turtle = format!("{} .", rest.trim().trim_end_matches('.'));
                if let Some((name, triples)) = turtle.strip_prefix("in ").and_then(|t| t.split_once(' ')) {
                    turtle = format!("GRAPH {name} {{ {triples} }}");
                }
                case.steps.push(Step::Event { at: Timestamp::from_millis(millis(at)), stream, turtle });
            }
            "load" => case.steps.push(Step::Load(rest.to_owned())),
            "replace" => case.steps.push(Step::Replace(rest.to_owned())),
            "update" => case.steps.push(Step::Update(rest.to_owned())),
            "watermark" => case.steps.push(Step::Watermark(Timestamp::from_millis(millis(rest)))),
            "close" => case.steps.push(Step::Close),
            other => panic!("unknown line {other}"),
        }
    }
    case
}

fn run(case: &Case, options: EngineOptions) -> String {
    let mut engine = Engine::new(options);
    for (stream, settings) in &case.streams {
        engine.declare_stream(stream, settings.clone()).expect("stream");
    }
    let load = |engine: &mut Engine, turtle: &str| {
        engine.load(None, format!("{PREFIXES} {turtle} .").as_bytes(), RdfFormat::Turtle).expect("static data");
    };
    case.statics.iter().for_each(|turtle| load(&mut engine, turtle));
    for before in &case.before {
        let registered = engine.register(&format!("{PREFIXES}{before}"), &ParseOptions::default());
        registered.expect("the query before registers");
    }
    let query = engine.register(&format!("{PREFIXES}{}", case.query), &case.options).expect("the query registers");
    let mut text = String::new();
    for step in &case.steps {
        match step {
            Step::Event { at, stream, turtle } => {
                let report = engine
                    .push(stream, Some(*at), format!("{PREFIXES}{turtle}").as_bytes(), RdfFormat::TriG)
                    .expect("event");
                if report.late > 0 {
                    writeln!(text, "late {}", time(*at)).expect("text");
                }
            }
            Step::Load(turtle) => load(&mut engine, turtle),
            Step::Replace(turtle) => {
                let rdf = format!("{PREFIXES}{turtle} .");
                engine.replace_graph(None, rdf.as_bytes(), RdfFormat::Turtle).expect("static data");
            }
            Step::Update(text) => {
                engine.update(&format!("{PREFIXES}{text}"), None).expect("an update");
            }
            Step::Watermark(at) => engine.advance_to(*at).expect("watermark"),
            Step::Close => engine.close(),
        }
        render(&mut engine, query, &mut text);
    }
    text
}

fn time(at: Timestamp) -> String {
    match at.as_millis() % 1000 {
        0 => format!("{}", at.as_millis() / 1000),
        _ => format!("{}ms", at.as_millis()),
    }
}

fn render(engine: &mut Engine, query: QueryId, text: &mut String) {
    for result in engine.drain(query).expect("results") {
        render_result(engine, &result, text);
    }
}

fn render_result(engine: &Engine, result: &QueryResult, text: &mut String) {
    let at = time(result.at);
    let (inserted, deleted) = match &result.answer {
        Answered::Boolean(value) => {
            writeln!(text, "at {at}  = {value}").expect("text");
            return;
        }
        Answered::Bindings { inserted, deleted } | Answered::Graph { inserted, deleted } => (inserted, deleted),
    };
    let rows = |rows: &Rows| {
        rows.iter().map(|row| row.iter().map(|id| term(engine, *id)).collect::<Vec<_>>().join(" ")).collect::<Vec<_>>()
    };
    if result.r2s == R2s::Rstream {
        let shown = rows(inserted);
        let shown = if shown.is_empty() { "none".to_owned() } else { shown.join(" | ") };
        writeln!(text, "at {at}  = {shown}").expect("text");
        return;
    }
    rows(deleted).iter().for_each(|row| writeln!(text, "at {at}  - {row}").expect("text"));
    rows(inserted).iter().for_each(|row| writeln!(text, "at {at}  + {row}").expect("text"));
}

fn term(engine: &Engine, id: TermId) -> String {
    if !id.is_bound() {
        return "_".to_owned();
    }
    match engine.dictionary().term(id) {
        whorl_engine::rdf::Term::NamedNode(node) => {
            node.as_str().strip_prefix("http://ex/").map_or_else(|| node.to_string(), str::to_owned)
        }
        whorl_engine::rdf::Term::Literal(literal) if literal.datatype().as_str().ends_with("#integer") => {
            literal.value().to_owned()
        }
        other => other.to_string().replace("http://www.w3.org/2001/XMLSchema#", "xsd:"),
    }
}

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/cases");
    let entries = std::fs::read_dir(&folder).expect("the folder of cases");
    let mut files: Vec<_> = entries
        .map(|entry| entry.expect("entry").path())
        .filter(|p| p.extension().is_some_and(|e| e == "case") && is_chosen(p))
        .collect();
    files.sort();
    files
}

/// Whether the file name contains `WHORL_CASE`; every name does when the variable is not set.
fn is_chosen(path: &Path) -> bool {
    let chosen = std::env::var("WHORL_CASE").unwrap_or_default();
    path.file_stem().is_some_and(|name| name.to_string_lossy().contains(&chosen))
}

/// Other ways to the same result: none of them may change it.
fn ways() -> Vec<EngineOptions> {
    use whorl_engine::{Probing, Retraction};
    let base = EngineOptions::default();
    vec![
        base,
        EngineOptions { retraction: Retraction::Tree, probing: Probing::Fixed(1), ..base },
        EngineOptions {
            retraction: Retraction::Probe,
            probing: Probing::Fixed(2),
            sharing: false,
            hash_seed: 7,
            ..base
        },
    ]
}

#[test]
fn every_case_gives_the_answer_it_says() {
    let update = std::env::var_os("WHORL_CASES_UPDATE").is_some();
    let mut wrong = Vec::new();
    let files = files();
    assert!(!files.is_empty());
    for path in files {
        let text = std::fs::read_to_string(&path).expect("a readable case");
        let case = parse(&text);
        for (way, options) in ways().into_iter().enumerate() {
            let answer = run(&case, options);
            if answer == case.expected {
                continue;
            }
            if update && way == 0 {
                std::fs::write(&path, format!("{}\nexpect\n{answer}", case.input)).expect("rewritten");
            } else {
                wrong.push(format!("{} (way {way})\nexpected\n{}got\n{answer}", path.display(), case.expected));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
