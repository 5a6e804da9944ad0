//! Words and numbers from Python as options of the engine.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use whorl_engine::{
    AnswerFormat, BodyFormat, Bounds, ContentSemantics, Dialect, EngineOptions, Limits, Probing, R2s, RdfFormat,
    Report, Retraction, Span, Thresholds, Tick,
};

/// The value that belongs to a word; an unknown word names the known ones.
fn choose<T: Copy>(what: &str, word: &str, choices: &[(&str, T)]) -> PyResult<T> {
    let found = choices.iter().find(|(name, _)| name.eq_ignore_ascii_case(word));
    found.map(|(_, value)| *value).ok_or_else(|| {
        let known: Vec<String> = choices.iter().map(|(name, _)| format!("'{name}'")).collect();
        PyValueError::new_err(format!("{what} is one of {}, not '{word}'", known.join(", ")))
    })
}

pub fn format(word: &str) -> PyResult<RdfFormat> {
    choose(
        "format",
        word,
        &[
            ("turtle", RdfFormat::Turtle),
            ("ntriples", RdfFormat::NTriples),
            ("nquads", RdfFormat::NQuads),
            ("trig", RdfFormat::TriG),
            ("jsonld", RdfFormat::JsonLd),
            ("ttl", RdfFormat::Turtle),
            ("nt", RdfFormat::NTriples),
            ("nq", RdfFormat::NQuads),
        ],
    )
}

/// How a body of events is read.
pub enum Body {
    Text(BodyFormat),
    /// An Arrow IPC stream.
    Arrow,
}

pub fn body(word: &str) -> PyResult<Body> {
    match word.to_ascii_lowercase().as_str() {
        "ndjson" => Ok(Body::Text(BodyFormat::NdJson)),
        "arrow" => Ok(Body::Arrow),
        other => Ok(Body::Text(format(other)?.into())),
    }
}

/// A format of results, or one of RDF for graphs.
pub fn answer_format(word: &str) -> PyResult<AnswerFormat> {
    choose(
        "format",
        word,
        &[
            ("json", AnswerFormat::Json),
            ("xml", AnswerFormat::Xml),
            ("csv", AnswerFormat::Csv),
            ("tsv", AnswerFormat::Tsv),
            ("turtle", AnswerFormat::Rdf(RdfFormat::Turtle)),
            ("ntriples", AnswerFormat::Rdf(RdfFormat::NTriples)),
            ("nquads", AnswerFormat::Rdf(RdfFormat::NQuads)),
            ("trig", AnswerFormat::Rdf(RdfFormat::TriG)),
            ("jsonld", AnswerFormat::Rdf(RdfFormat::JsonLd)),
        ],
    )
}

pub fn dialect(word: &str) -> PyResult<Dialect> {
    choose("dialect", word, &[("rspql", Dialect::RspQl), ("csparql", Dialect::CSparql), ("cqels", Dialect::CqelsQl)])
}

pub fn tick(word: &str) -> PyResult<Tick> {
    choose("tick", word, &[("time", Tick::Time), ("tuple", Tick::Tuple)])
}

pub fn bounds(word: &str) -> PyResult<Bounds> {
    choose("bounds", word, &[("[)", Bounds::ClosedOpen), ("(]", Bounds::OpenClosed)])
}

pub fn semantics(word: &str) -> PyResult<ContentSemantics> {
    choose("semantics", word, &[("set", ContentSemantics::Set), ("bag", ContentSemantics::Bag)])
}

pub fn r2s(word: &str) -> PyResult<R2s> {
    choose(
        "r2s",
        word,
        &[("RSTREAM", R2s::Rstream), ("ISTREAM", R2s::Istream), ("DSTREAM", R2s::Dstream), ("CHANGES", R2s::Changes)],
    )
}

pub fn retraction(word: &str) -> PyResult<Retraction> {
    choose("retraction", word, &[("auto", Retraction::Auto), ("tree", Retraction::Tree), ("probe", Retraction::Probe)])
}

/// `close`, `change`, `nonempty`, `periodic(500ms)`: all that are named must hold.
pub fn report(words: &[String]) -> PyResult<Report> {
    let mut report = Report::default();
    for word in words {
        match word.to_ascii_lowercase().as_str() {
            "close" => report.close = true,
            "change" => report.change = true,
            "nonempty" => report.nonempty = true,
            other => report.periodic = Some(period(other)?),
        }
    }
    Ok(report)
}

fn period(word: &str) -> PyResult<Span> {
    let inside = word.strip_prefix("periodic(").and_then(|rest| rest.strip_suffix(')'));
    let span = inside.and_then(|text| text.parse::<i64>().ok()).filter(|ms| *ms > 0).map(Span::from_millis);
    span.ok_or_else(|| {
        PyValueError::new_err(format!(
            "report is made of close, change, nonempty and periodic(milliseconds), not '{word}'"
        ))
    })
}

/// The options of an engine, by name; what is left out is as usual.
pub fn engine(chosen: Option<&Bound<'_, PyDict>>) -> PyResult<EngineOptions> {
    let mut options = EngineOptions::default();
    for (name, value) in chosen.into_iter().flatten().filter(|(_, value)| !value.is_none()) {
        let name: String = name.extract()?;
        match name.as_str() {
            "hash_seed" => options.hash_seed = value.extract()?,
            "probing_order" => options.probing = Probing::Fixed(value.extract()?),
            "retraction" => options.retraction = retraction(&value.extract::<String>()?)?,
            "sharing" => options.sharing = value.extract()?,
            "result_rows_max" => options.result_rows_max = value.extract()?,
            "limits" => options.limits = limits(&value.cast_into()?)?,
            "thresholds" => options.thresholds = thresholds(&value.cast_into()?)?,
            other => return Err(PyTypeError::new_err(format!("Engine has no option '{other}'"))),
        }
    }
    Ok(options)
}

/// What a query may cost, by name; `None` and a name left out are no limit, an unknown name is refused.
pub fn limits(chosen: &Bound<'_, PyDict>) -> PyResult<Limits> {
    let mut limits = Limits::default();
    for (name, value) in chosen {
        let name: String = name.extract()?;
        let value = &value;
        match name.as_str() {
            "work" => limits.work = value.extract()?,
            "result_rows" => limits.result_rows = value.extract()?,
            "state_rows" => limits.state_rows = value.extract()?,
            "literal_bytes" => limits.literal_bytes = value.extract()?,
            "concat_bytes" => limits.concat_bytes = value.extract()?,
            "windows" => limits.windows = value.extract()?,
            "window_width_ms" => limits.window_width = value.extract::<Option<i64>>()?.map(Span::from_millis),
            "triple_patterns" => limits.triple_patterns = value.extract()?,
            "refuse_costly" => limits.refuse_costly = value.extract()?,
            other => {
                let known = "work, result_rows, state_rows, literal_bytes, concat_bytes, windows, window_width_ms, triple_patterns and refuse_costly";
                return Err(PyValueError::new_err(format!("limits are {known}, not '{other}'")));
            }
        }
    }
    Ok(limits)
}

/// When structures grow and tidy up, by name: for tests that make the rare common. `{"tiny": True}` starts from the
/// smallest of all.
pub fn thresholds(chosen: &Bound<'_, PyDict>) -> PyResult<Thresholds> {
    let is_tiny = chosen.get_item("tiny")?.is_some_and(|tiny| tiny.is_truthy().unwrap_or(false));
    let mut thresholds = if is_tiny { Thresholds::tiny() } else { Thresholds::default() };
    for (name, value) in chosen {
        let name: String = name.extract()?;
        let value = &value;
        match name.as_str() {
            "tiny" => {}
            "ring_slots_min" => thresholds.ring_slots_min = value.extract()?,
            "ring_shrink_min" => thresholds.ring_shrink_min = value.extract()?,
            "ring_gaps_max" => thresholds.ring_gaps_max = value.extract()?,
            "first_position" => thresholds.first_position = value.extract()?,
            "zero_keys_min" => thresholds.zero_keys_min = value.extract()?,
            "arrivals_compared_max" => thresholds.arrivals_compared_max = value.extract()?,
            "rows_compared_max" => thresholds.rows_compared_max = value.extract()?,
            "new_terms_min" => thresholds.new_terms_min = value.extract()?,
            "terms_shrink_min" => thresholds.terms_shrink_min = value.extract()?,
            "removed_triples_min" => thresholds.removed_triples_min = value.extract()?,
            "checks" => thresholds.checks = value.extract()?,
            other => return Err(PyValueError::new_err(format!("there is no threshold '{other}'"))),
        }
    }
    Ok(thresholds)
}
