//! One-time queries over static graphs and the current content of windows.
//!
//! A window whose content is kept is a graph under its own name: `GRAPH <w>` reads it, `GRAPH ?g` finds it, FROM names
//! it. Windows of several queries with the same name form one graph, the union of their contents. The name
//! `urn:whorl:window:` followed by the query number and the clause number (`urn:whorl:window:3:1`) denotes a single
//! window. Asking changes nothing: the terms that the query creates are not interned.

use super::Engine;
use super::registry::QueryId;
use crate::error::EngineError;
use crate::limits::{Breach, Budget, Deadline, within};
use crate::parse::{PlainQuery, parse_plain};
use crate::plan::{evaluable, graph_names};
use crate::reevaluate::{Found, ReadableWindow, ask_once};
use crate::sink::{AnswerFormat, write_boolean, write_graph, write_solutions};
use oxrdf::NamedNode;
use spargebra::Query;
use spargebra::algebra::QueryDataset;

/// How a query is asked.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AskOptions {
    /// Relative IRIs are resolved against this when the text has no BASE.
    pub base_iri: Option<String>,
    /// With either of these, the dataset is exactly what they name, whatever FROM and FROM NAMED say.
    pub default_graphs: Option<Vec<String>>,
    pub named_graphs: Option<Vec<String>>,
}

/// The result of an ad-hoc query.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum QueryForm {
    Select,
    Ask,
    Construct,
    Describe,
}

impl QueryForm {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Select => "select",
            Self::Ask => "ask",
            Self::Construct => "construct",
            Self::Describe => "describe",
        }
    }
}

/// The form of an ad-hoc query, so that a format can be chosen before it runs.
///
/// # Errors
/// When the text does not parse, or is a continuous query.
pub fn query_form(text: &str, base_iri: Option<&str>) -> Result<QueryForm, EngineError> {
    Ok(match parse_plain(text, base_iri)?.query {
        Query::Select { .. } => QueryForm::Select,
        Query::Ask { .. } => QueryForm::Ask,
        Query::Construct { .. } => QueryForm::Construct,
        Query::Describe { .. } => QueryForm::Describe,
    })
}

impl Engine {
    /// Answers a SPARQL query once, over the static graphs and the windows whose content is kept
    /// ([`crate::ParseOptions::keep_windows`]).
    ///
    /// ```
    /// use whorl_engine::{AnswerFormat, AskOptions, Engine, EngineOptions};
    ///
    /// let mut engine = Engine::new(EngineOptions::default());
    /// engine.update("INSERT DATA { <http://ex/a> <http://ex/limit> 20 }", None)?;
    /// let csv = engine.ask("SELECT ?n { ?room <http://ex/limit> ?n }", AnswerFormat::Csv, &AskOptions::default())?;
    /// assert_eq!(csv, b"n\r\n20\r\n");
    /// # Ok::<(), whorl_engine::EngineError>(())
    /// ```
    ///
    /// # Errors
    /// When the text does not parse, is a continuous query, asks another server, names a window whose content is not
    /// kept, or the format is not one for its form.
    pub fn ask(&self, text: &str, format: AnswerFormat, options: &AskOptions) -> Result<Vec<u8>, EngineError> {
        let found = self.asked(text, options, None)?;
        write_found(found.map_err(|breach| EngineError::question_too_costly(&breach))?, format)
    }

    /// Like [`Engine::ask`], with a time limit in milliseconds by the injected clock; `None` if the limit was exceeded.
    ///
    /// # Errors
    /// As [`Engine::ask`].
    pub fn ask_for(
        &self,
        text: &str,
        format: AnswerFormat,
        options: &AskOptions,
        allowed_ms: u64,
    ) -> Result<Option<Vec<u8>>, EngineError> {
        match self.asked(text, options, self.deadline(allowed_ms))? {
            Ok(found) => write_found(found, format).map(Some),
            Err(breach) if breach.is_of_time() => Ok(None),
            Err(breach) => Err(EngineError::question_too_costly(&breach)),
        }
    }

    fn asked(
        &self,
        text: &str,
        options: &AskOptions,
        deadline: Option<Deadline>,
    ) -> Result<Result<Found, Breach>, EngineError> {
        let asked = asked_query(text, options)?;
        let windows = self.readable_windows();
        self.check_windows_kept(&asked, &windows)?;
        let mut budget = Budget::until(self.options.limits, deadline);
        match within(|| ask_once(&asked, &self.graphs, &windows, &self.dictionary, &mut budget)) {
            Ok(found) => Ok(Ok(found.map_err(|error| EngineError::AskFailed { reason: error.to_string() })?)),
            Err(breach) => Ok(Err(breach)),
        }
    }

    /// The deadline this many milliseconds from now, if there is a clock.
    pub(super) fn deadline(&self, allowed_ms: u64) -> Option<Deadline> {
        self.stopwatch.as_ref().map(|stopwatch| Deadline::after(allowed_ms, stopwatch.clock()))
    }

    /// The name under which the content of a query's window can be read separately, if it is kept.
    pub(super) fn window_graph(&self, id: QueryId, clause: usize) -> Option<String> {
        let (timeline, place) = self.place(id).ok()?;
        let timeline = &self.timelines[timeline];
        let query = timeline.query(place);
        if !query.definition.keep_windows {
            return None;
        }
        let window = *query.windows.get(clause)?;
        timeline.window(window).content().map(|_| window_name(id, clause))
    }

    pub(super) fn readable_windows(&self) -> Vec<ReadableWindow<'_>> {
        let mut windows = Vec::new();
        for (id, (timeline, place)) in self.registry.places() {
            let timeline = &self.timelines[timeline];
            let query = timeline.query(place);
            // Content that is kept only for evaluation is not readable.
            if !query.definition.keep_windows {
                continue;
            }
            for (clause, window) in query.windows.iter().enumerate() {
                let Some(content) = timeline.window(*window).content() else { continue };
                let name = query.definition.windows[clause].name.clone();
                windows.push(ReadableWindow { name, content, is_listed: true });
                let name = NamedNode::new_unchecked(window_name(id, clause));
                windows.push(ReadableWindow { name, content, is_listed: false });
            }
        }
        windows
    }

    /// Refuses windows whose content is not kept: reading one as empty would suggest that it is.
    pub(super) fn check_windows_kept(
        &self,
        asked: &PlainQuery,
        kept: &[ReadableWindow<'_>],
    ) -> Result<(), EngineError> {
        let is_kept = |name: &NamedNode| kept.iter().any(|window| window.name == *name);
        let is_static = |name: &NamedNode| {
            let id = self.dictionary.lookup(name.as_ref().into());
            id.is_some_and(|id| self.graphs.named().contains_key(&id))
        };
        let runs = |name: &NamedNode| {
            let mut places = self.registry.places();
            places.any(|(id, (timeline, place))| {
                let clauses = &self.timelines[timeline].query(place).definition.windows;
                let mut windows = clauses.iter().enumerate();
                windows.any(|(clause, window)| window.name == *name || window_name(id, clause) == name.as_str())
            })
        };
        let names = graph_names(&asked.query);
        match names.into_iter().find(|name| !is_kept(name) && !is_static(name) && runs(name)) {
            Some(window) => Err(EngineError::WindowNotKept { window: window.as_str().to_owned() }),
            None => Ok(()),
        }
    }
}

/// The query of a text, with the dataset of the request.
pub(super) fn asked_query(text: &str, options: &AskOptions) -> Result<PlainQuery, EngineError> {
    let mut asked = parse_plain(text, options.base_iri.as_deref())?;
    override_dataset(&mut asked, options)?;
    unfold_paths(&mut asked.query);
    Ok(asked)
}

pub(super) fn write_found(found: Found, format: AnswerFormat) -> Result<Vec<u8>, EngineError> {
    match found {
        Found::Boolean(value) => write_boolean(format, value),
        Found::Solutions { variables, rows } => write_solutions(format, &variables, rows.into_iter()),
        Found::Graph(quads) => write_graph(format, quads.into_iter()),
    }
}

fn window_name(id: QueryId, clause: usize) -> String {
    format!("urn:whorl:window:{}:{}", id.0, clause + 1)
}

fn unfold_paths(query: &mut Query) {
    let (Query::Select { pattern, .. }
    | Query::Construct { pattern, .. }
    | Query::Describe { pattern, .. }
    | Query::Ask { pattern, .. }) = query;
    *pattern = evaluable(pattern);
}

/// The dataset of the request takes precedence over that of the text, as the SPARQL protocol requires.
fn override_dataset(asked: &mut PlainQuery, options: &AskOptions) -> Result<(), EngineError> {
    if options.default_graphs.is_none() && options.named_graphs.is_none() {
        return Ok(());
    }
    let nodes = |names: &Option<Vec<String>>| -> Result<Vec<NamedNode>, EngineError> {
        let node = |name: &String| NamedNode::new(name).map_err(|_| EngineError::BadIri { iri: name.clone() });
        names.iter().flatten().map(node).collect()
    };
    let chosen = QueryDataset { default: nodes(&options.default_graphs)?, named: Some(nodes(&options.named_graphs)?) };
    let (Query::Select { dataset, .. }
    | Query::Construct { dataset, .. }
    | Query::Describe { dataset, .. }
    | Query::Ask { dataset, .. }) = &mut asked.query;
    *dataset = Some(chosen);
    Ok(())
}
