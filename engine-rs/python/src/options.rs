//! Words and numbers from Python as options of the engine.

use crate::error::raise_duration;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict};
use whorl_engine::{
    AnswerFormat, AskOptions, BodyFormat, EngineOptions, Evaluation, Limits, OptionError, OptionValue, ParseOptions,
    Probing, RdfFormat, Retraction, Span, Thresholds,
};

/// The value for a word; the error for an unknown word lists the known ones.
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

/// How a body of events is to be read.
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

/// A results format, or an RDF format for graphs.
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

pub fn retraction(word: &str) -> PyResult<Retraction> {
    choose("retraction", word, &[("auto", Retraction::Auto), ("tree", Retraction::Tree), ("probe", Retraction::Probe)])
}

pub fn evaluation(word: &str) -> PyResult<Evaluation> {
    choose("evaluation", word, &[("incremental", Evaluation::Incremental), ("reevaluate", Evaluation::Reevaluate)])
}

/// The options of a query, by name; the engine knows the names and their values. `None` means not set.
pub fn query(chosen: Option<&Bound<'_, PyDict>>) -> PyResult<ParseOptions> {
    let mut options = ParseOptions::default();
    for (name, value) in chosen.into_iter().flatten().filter(|(_, value)| !value.is_none()) {
        let name: String = name.extract()?;
        options.set(&name, &option_value(&name, &value)?).map_err(|error| match error {
            OptionError::Unknown { .. } => PyTypeError::new_err(error.to_string()),
            _ => PyValueError::new_err(error.to_string()),
        })?;
    }
    Ok(options)
}

/// The options of an ad-hoc query, by name. `None` means not set.
pub fn ask(chosen: Option<&Bound<'_, PyDict>>) -> PyResult<AskOptions> {
    let mut options = AskOptions::default();
    for (name, value) in chosen.into_iter().flatten() {
        match name.extract::<&str>()? {
            "base_iri" => options.base_iri = value.extract()?,
            "default_graphs" => options.default_graphs = value.extract()?,
            "named_graphs" => options.named_graphs = value.extract()?,
            other => return Err(PyTypeError::new_err(format!("unknown option '{other}'"))),
        }
    }
    Ok(options)
}

/// A duration in milliseconds, in the grammar of queries.
#[pyfunction]
pub fn parse_duration(py: Python<'_>, text: &str) -> PyResult<i64> {
    whorl_engine::parse_duration(text).map(Span::as_millis).map_err(|error| raise_duration(py, &error))
}

fn option_value(name: &str, value: &Bound<'_, PyAny>) -> PyResult<OptionValue> {
    // A Python bool is an int, too.
    if let Ok(flag) = value.cast::<PyBool>() {
        return Ok(OptionValue::Flag(flag.is_true()));
    }
    let number = || value.extract().map(OptionValue::Number);
    let text = || value.extract().map(OptionValue::Text);
    let words = || value.extract().map(OptionValue::Words);
    number().or_else(|_| text()).or_else(|_| words()).map_err(|_: PyErr| {
        let kind = value.get_type().name().map_or_else(|_| String::from("such a value"), |name| name.to_string());
        PyTypeError::new_err(format!("option '{name}' cannot be {kind}"))
    })
}

/// The options of an engine, by name; omitted options have their defaults.
pub fn engine(chosen: Option<&Bound<'_, PyDict>>) -> PyResult<EngineOptions> {
    let mut options = EngineOptions::default();
    for (name, value) in chosen.into_iter().flatten().filter(|(_, value)| !value.is_none()) {
        let name: String = name.extract()?;
        match name.as_str() {
            "hash_seed" => options.hash_seed = value.extract()?,
            "probing_order" => options.probing = Probing::Fixed(value.extract()?),
            "retraction" => options.retraction = retraction(&value.extract::<String>()?)?,
            "evaluation" => options.evaluation = evaluation(&value.extract::<String>()?)?,
            "sharing" => options.sharing = value.extract()?,
            "pruning" => options.pruning = value.extract()?,
            "result_rows_max" => options.result_rows_max = value.extract()?,
            "limits" => options.limits = limits(&value.cast_into()?)?,
            "thresholds" => options.thresholds = thresholds(&value.cast_into()?)?,
            other => return Err(PyTypeError::new_err(format!("Engine has no option '{other}'"))),
        }
    }
    Ok(options)
}

/// The limits of a query, by name; `None` or a missing name means unlimited, an unknown name is refused.
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

/// When structures grow and clean up, by name: for tests that make rare paths common. `{"tiny": True}` starts from the
/// smallest values.
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
            "arrivals_compared_max" => thresholds.arrivals_compared_max = value.extract()?,
            "rows_compared_max" => thresholds.rows_compared_max = value.extract()?,
            "new_terms_min" => thresholds.new_terms_min = value.extract()?,
            "terms_shrink_min" => thresholds.terms_shrink_min = value.extract()?,
            "removed_triples_min" => thresholds.removed_triples_min = value.extract()?,
            "quiet_reports_max" => thresholds.quiet_reports_max = value.extract()?,
            "repeated_reports_max" => thresholds.repeated_reports_max = value.extract()?,
            "bag_chunk_max" => thresholds.bag_chunk_max = value.extract()?,
            "regexes_cached_max" => thresholds.regexes_cached_max = value.extract()?,
            "keys_moved" => thresholds.keys_moved = value.extract()?,
            "keys_shrink_min" => thresholds.keys_shrink_min = value.extract()?,
            "text_chunk_max" => thresholds.text_chunk_max = value.extract()?,
            "leaves_compared_max" => thresholds.leaves_compared_max = value.extract()?,
            "triples_compared_max" => thresholds.triples_compared_max = value.extract()?,
            "predicates_kept_max" => thresholds.predicates_kept_max = value.extract()?,
            "changes_kept_max" => thresholds.changes_kept_max = value.extract()?,
            "row_slots_kept" => thresholds.row_slots_kept = value.extract()?,
            "buffers_ordered_max" => thresholds.buffers_ordered_max = value.extract()?,
            "folded_min" => thresholds.folded_min = value.extract()?,
            "subsets_indexed_max" => thresholds.subsets_indexed_max = value.extract()?,
            "checks" => thresholds.checks = value.extract()?,
            other => return Err(PyValueError::new_err(format!("there is no threshold '{other}'"))),
        }
    }
    Ok(thresholds)
}
