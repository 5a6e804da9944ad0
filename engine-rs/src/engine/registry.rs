//! Queries by number: registering, draining, explaining and removing them.

use super::families::{stream_families, window_families};
use super::query::{Failure, Registration, RunningQuery};
use super::stream::Stream;
use super::timeline::{Timeline, TimelineContext, TimelineHost, TimelineKey};
use super::validation::numbered_windows;
use super::{Engine, EngineOptions, StreamOptions};
use crate::encode::Dictionary;
use crate::error::EngineError;
use crate::model::VarTable;
use crate::parse::{ContinuousQuery, ParseOptions, StreamName, WindowClause};
use crate::plan::{
    Builder, BuiltQuery, Explained, Host, Meanings, Part, PlanError, PlanOptions, PlanView, PlannedQuery, WindowFamily,
    parse_with_stable_names,
};
use crate::sink::{QueryResult, ResultQueue, plan_json};
use crate::window::Rule;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use oxrdf::{NamedNode, Variable};
use std::collections::{BTreeMap, BTreeSet};

/// A registered query.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct QueryId(pub u64);

/// A query as listed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ListedQuery {
    pub id: QueryId,
    pub name: Option<String>,
    pub text: String,
}

/// The timeline of a query, and its place there.
#[derive(Debug, Default)]
pub(super) struct Registry {
    pub(super) places: BTreeMap<QueryId, (usize, usize)>,
    pub(super) registered: u64,
    /// The youngest timeline with each key: queries may join it until its first event.
    open: HashMap<TimelineKey, usize, FixedState>,
    /// Timelines without queries.
    unused: BTreeSet<usize>,
}

impl Registry {
    fn place(&self, id: QueryId) -> Result<(usize, usize), EngineError> {
        self.places.get(&id).copied().ok_or(EngineError::UnknownQuery { query: id.0 })
    }

    pub(super) fn places(&self) -> impl Iterator<Item = (QueryId, (usize, usize))> + '_ {
        self.places.iter().map(|(id, place)| (*id, *place))
    }
}

impl Engine {
    pub(super) fn place(&self, id: QueryId) -> Result<(usize, usize), EngineError> {
        self.registry.place(id)
    }

    /// Registers a query; it sees every event from now on. Streams that it names are declared. If it is refused, the
    /// engine stays unchanged.
    ///
    /// # Errors
    /// If the text does not parse or uses an unsupported feature.
    pub fn register(&mut self, text: &str, options: &ParseOptions) -> Result<QueryId, EngineError> {
        self.register_reading(text, options, None)
    }

    /// Like [`Engine::register`], for a query that may read only these streams and write none of them.
    ///
    /// # Errors
    /// Those of [`Engine::register`], and if the query reads another stream or writes one of these.
    pub fn register_reading(
        &mut self,
        text: &str,
        options: &ParseOptions,
        streams: Option<&[&str]>,
    ) -> Result<QueryId, EngineError> {
        let definition = parse_with_stable_names(text, options)?;
        self.register_parsed(definition, options, Part::Whole, streams)
            .map_err(|error| error.located(text, |shorter| self.refusal(shorter, options)))
    }

    /// Registers a query in place of another one, which ends. If the new query is refused, the old one keeps running
    /// unchanged; the new one may write the stream that the old one writes.
    ///
    /// # Errors
    /// Those of [`Engine::register_reading`], and if there is no query to replace.
    pub fn replace(
        &mut self,
        old: QueryId,
        text: &str,
        options: &ParseOptions,
        streams: Option<&[&str]>,
    ) -> Result<QueryId, EngineError> {
        self.registry.place(old)?;
        // Until the new query is accepted, the old one must neither lose its state nor appear to take the output.
        let chain = self.detach_chain(old);
        match self.register_reading(text, options, streams) {
            Ok(id) => {
                self.unregister(old)?;
                self.end_output(chain);
                Ok(id)
            }
            Err(error) => {
                self.attach_chain(chain);
                Err(error)
            }
        }
    }

    pub(super) fn register_parsed(
        &mut self,
        mut definition: ContinuousQuery,
        options: &ParseOptions,
        part: Part,
        streams: Option<&[&str]>,
    ) -> Result<QueryId, EngineError> {
        if definition.windows.is_empty() {
            return Err(PlanError::NoWindow.into());
        }
        let named_streams = self.named_streams(&definition)?;
        let families = families_of(&mut definition, &named_streams);
        let planned = PlannedQuery::new(&definition, &families, &part, &self.options.plan())?;
        let output = self.check_output(&definition)?;
        // Building may still refuse the query. Unless it cannot, try it with a scratch timeline and dictionary first:
        // interned terms and shared leaves could not be rolled back.
        if !planned.surely_builds() {
            build_apart(&definition, &planned, self.options.plan())?;
        }
        check_readable(&definition, streams)?;
        check_writable(output.as_ref(), streams)?;
        let id = QueryId(self.registry.registered + 1);
        let (options, EngineOptions { evaluation, retraction, .. }) = (options.clone(), self.options);
        let registration = Registration { id, name: None, options, evaluation, retraction, named_streams, part };
        let windows = self.windows_of(&definition)?;
        let timeline = self.timeline_for(timeline_key(&definition, &windows));
        let query = self.build_on(timeline, definition, registration, &planned, &windows)?;
        let Self { timelines, dictionary, graphs, stopwatch, interests_stale, waiting, search, .. } = self;
        let stopwatch = stopwatch.as_ref();
        let context = &mut TimelineContext { dictionary, graphs, stopwatch, interests_stale, waiting, search };
        let place = timelines[timeline].add_query(query, context);
        self.occupy(timeline);
        self.connect_readers(timeline);
        self.widen_interests(timeline, place);
        self.registry.registered = id.0;
        self.registry.places.insert(id, (timeline, place));
        if let Some(output) = output {
            self.start_chain(id, &output, (timeline, place));
        }
        let watermark = self.watermark_of(timeline);
        if watermark != crate::time::Timestamp::MIN {
            self.timelines[timeline].begin_by(watermark);
            self.advance_timeline(timeline, watermark);
        }
        self.refuse_if_failed(id)?;
        self.relay();
        Ok(id)
    }

    /// Refuses a query that has failed before its first event: there would be nothing to read from it, and a query that
    /// it replaces has to run on.
    fn refuse_if_failed(&mut self, id: QueryId) -> Result<(), EngineError> {
        let (timeline, place) = self.registry.place(id)?;
        let Some(Failure { code, reason }) = self.timelines[timeline].query(place).failed.clone() else {
            return Ok(());
        };
        // Nothing was relayed yet: for its readers, the stream is as it was before.
        self.detach_chain(id);
        self.unregister(id)?;
        // Numbers depend on what was accepted alone, because what was refused is in no log.
        self.registry.registered = id.0 - 1;
        Err(EngineError::FailedAtStart { code, reason })
    }

    /// Removes a query and everything that only it needed.
    ///
    /// # Errors
    /// If there is no such query.
    pub fn unregister(&mut self, id: QueryId) -> Result<(), EngineError> {
        let (timeline, place) = self.registry.place(id)?;
        self.rouse(timeline);
        self.waiting.clear(self.timelines[timeline].query_mut(place));
        self.timelines[timeline].remove_query(place);
        self.registry.places.remove(&id);
        self.end_chain(id);
        self.vacate_if_unused(timeline);
        self.narrow_interests(timeline);
        self.sweep();
        Ok(())
    }

    /// Drains the results since the last call. Their ids are valid until the next call that changes the engine.
    ///
    /// # Errors
    /// When there is no such query, or it has failed.
    pub fn drain(&mut self, id: QueryId) -> Result<Vec<QueryResult>, EngineError> {
        let (timeline, place) = self.registry.place(id)?;
        let query = self.timelines[timeline].query_mut(place);
        let results = query.results.drain(query.named_r2s);
        if let Some(failure) = &query.failed {
            return if results.is_empty() { Err(failed(id, failure)) } else { Ok(results) };
        }
        self.waiting.clear(query);
        self.tidy_waiting();
        Ok(results)
    }

    /// The registered queries, in the order of their registration.
    pub fn query_ids(&self) -> impl Iterator<Item = QueryId> + '_ {
        self.registry.places().map(|(id, _)| id)
    }

    /// The variables of a query's result, in order; none for ASK and CONSTRUCT.
    ///
    /// # Errors
    /// When there is no such query.
    pub fn variables(&self, id: QueryId) -> Result<Vec<Variable>, EngineError> {
        let (timeline, place) = self.registry.place(id)?;
        Ok(self.timelines[timeline].query(place).variables.clone())
    }

    /// The names of a query's windows, in the order of their clauses.
    ///
    /// # Errors
    /// When there is no such query.
    pub fn window_names(&self, id: QueryId) -> Result<Vec<NamedNode>, EngineError> {
        Ok(self.definition(id)?.windows.iter().map(|window| window.name.clone()).collect())
    }

    /// The parsed query.
    ///
    /// # Errors
    /// When there is no such query.
    pub fn definition(&self, id: QueryId) -> Result<&ContinuousQuery, EngineError> {
        let (timeline, place) = self.registry.place(id)?;
        Ok(&self.timelines[timeline].query(place).definition)
    }

    /// Gives a query a name, which the engine stores in snapshots, too, and does not interpret.
    ///
    /// # Errors
    /// When there is no such query.
    pub fn name_query(&mut self, id: QueryId, name: String) -> Result<(), EngineError> {
        let (timeline, place) = self.registry.place(id)?;
        self.timelines[timeline].query_mut(place).registration.name = Some(name);
        Ok(())
    }

    /// The queries in the order of their registration.
    #[must_use]
    pub fn listed_queries(&self) -> Vec<ListedQuery> {
        let listed = |(id, (timeline, place)): (QueryId, (usize, usize))| {
            let query = self.timelines[timeline].query(place);
            ListedQuery { id, name: query.registration.name.clone(), text: query.definition.text.clone() }
        };
        self.registry.places().map(listed).collect()
    }

    /// The plan as text, with live counters and the probing orders used.
    ///
    /// # Errors
    /// When there is no such query, or it has failed.
    pub fn explain(&self, id: QueryId) -> Result<String, EngineError> {
        Ok(self.plan_view(id)?.to_text())
    }

    /// The plan as a JSON object, for programs.
    ///
    /// # Errors
    /// When there is no such query, or it has failed.
    pub fn explain_json(&self, id: QueryId) -> Result<String, EngineError> {
        Ok(plan_json(&self.plan_view(id)?))
    }

    pub(super) fn plan_view(&self, id: QueryId) -> Result<PlanView, EngineError> {
        let (timeline, place) = self.registry.place(id)?;
        let timeline = &self.timelines[timeline];
        let query = timeline.query(place);
        if let Some(failure) = &query.failed {
            return Err(failed(id, failure));
        }
        let explained = Explained {
            definition: &query.definition,
            nodes: &query.nodes,
            vars: &query.vars,
            meanings: &query.meanings,
            leaves: timeline.leaves(),
            variables: &query.variables,
            output: self.output_stream(id)?,
        };
        Ok(explained.view())
    }

    /// Stream and rule of each window clause; declares the streams that are new.
    pub(super) fn windows_of(&mut self, definition: &ContinuousQuery) -> Result<Vec<(usize, Rule)>, EngineError> {
        let clauses = definition.windows.iter();
        clauses.map(|clause| Ok((self.stream_of(clause)?, Rule::new(&clause.kind, definition)))).collect()
    }

    fn stream_of(&mut self, clause: &WindowClause) -> Result<usize, EngineError> {
        let StreamName::Iri(iri) = &clause.stream else {
            unreachable!("windows of variable streams have become windows of the streams they name")
        };
        if self.stream_at(iri.as_str()).is_none() {
            self.declare_stream(iri.as_str(), StreamOptions::default())?;
        }
        Ok(self.derived_stream(iri, clause.time_predicate.as_ref()))
    }

    /// A timeline with this key that has not started, or a new one.
    fn timeline_for(&mut self, key: TimelineKey) -> usize {
        let is_open = |at: &usize| {
            let timeline = &self.timelines[*at];
            timeline.is_pristine() && !timeline.is_unused() && *timeline.key() == key
        };
        let shared = self.registry.open.get(&key).copied().filter(|_| self.options.sharing);
        if let Some(shared) = shared.filter(is_open) {
            return shared;
        }
        // Queries refer to timelines by number, so numbers never change; an unused timeline is replaced.
        let timeline = Timeline::new(key, self.options.thresholds);
        match self.registry.unused.first().copied() {
            Some(at) => {
                self.timelines[at] = timeline;
                at
            }
            None => {
                self.registry.unused.insert(self.timelines.len());
                self.timelines.push(timeline);
                self.timelines.len() - 1
            }
        }
    }

    /// Called when a timeline gets a query.
    fn occupy(&mut self, timeline: usize) {
        if self.registry.unused.remove(&timeline) {
            if self.options.sharing {
                let due = self.events + self.options.thresholds.join_events_min;
                self.joining.begin(timeline, self.timelines[timeline].key(), due);
            }
            self.registry.open.insert(self.timelines[timeline].key().clone(), timeline);
        }
    }

    /// A timeline frees its state with its last query.
    pub(super) fn vacate_if_unused(&mut self, timeline: usize) {
        let on = &mut self.timelines[timeline];
        if !on.is_unused() {
            return;
        }
        if self.registry.open.get(on.key()) == Some(&timeline) {
            self.registry.open.remove(on.key());
        }
        self.joining.end(timeline, on.key());
        for (stream, _) in &on.key().windows {
            let Stream { readers, awake, .. } = &mut self.streams[*stream];
            for timelines in [readers, awake] {
                if let Ok(at) = timelines.binary_search(&timeline) {
                    timelines.remove(at);
                }
            }
        }
        *on = Timeline::new(on.key().clone(), self.options.thresholds);
        self.registry.unused.insert(timeline);
    }

    /// Finds the timelines of a restored engine that queries may join, and those without queries.
    pub(super) fn find_timelines(&mut self) {
        for (at, timeline) in self.timelines.iter().enumerate() {
            if timeline.is_unused() {
                self.registry.unused.insert(at);
            } else if timeline.is_pristine() {
                self.registry.open.entry(timeline.key().clone()).or_insert(at);
            }
        }
    }

    /// The operators of a query, with their leaves on the timeline, before any input.
    pub(super) fn build_on(
        &mut self,
        timeline: usize,
        definition: ContinuousQuery,
        registration: Registration,
        planned: &PlannedQuery,
        windows: &[(usize, Rule)],
    ) -> Result<RunningQuery, EngineError> {
        let Registration { evaluation, retraction, .. } = registration;
        let options = PlanOptions { evaluation, retraction, ..self.options.plan() };
        let on = &mut self.timelines[timeline];
        let (built, windows) = build(&definition, planned, windows, on, &mut self.dictionary, options)?;
        let results = ResultQueue::new(self.options.result_rows_max);
        Ok(RunningQuery::new(definition, registration, built, windows, results, options))
    }

    /// Tells each stream which timelines read it.
    pub(super) fn connect_streams(&mut self) {
        for (number, stream) in self.streams.iter_mut().enumerate() {
            let reads = |timeline: &Timeline| {
                !timeline.is_unused() && timeline.key().windows.iter().any(|(of, _)| *of == number)
            };
            stream.readers = (0..self.timelines.len()).filter(|at| reads(&self.timelines[*at])).collect();
            stream.awake.clone_from(&stream.readers);
        }
        self.find_interests();
    }

    /// Tells the streams of a timeline that it reads them.
    fn connect_readers(&mut self, timeline: usize) {
        for (stream, _) in &self.timelines[timeline].key().windows {
            let Stream { readers, awake, .. } = &mut self.streams[*stream];
            for timelines in [readers, awake] {
                if let Err(at) = timelines.binary_search(&timeline) {
                    timelines.insert(at, timeline);
                }
            }
        }
    }
}

/// Several windows under one name; those of variable streams become windows of the streams they name.
pub(super) fn families_of(definition: &mut ContinuousQuery, named_streams: &[Vec<NamedNode>]) -> Vec<WindowFamily> {
    let mut families = stream_families(definition, named_streams);
    families.extend(window_families(definition));
    families
}

/// The windows and leaves that a query needs of a timeline.
pub(super) fn timeline_key(definition: &ContinuousQuery, windows: &[(usize, Rule)]) -> TimelineKey {
    let mut distinct: Vec<(usize, Rule)> = Vec::new();
    for window in windows {
        if !distinct.contains(window) {
            distinct.push(window.clone());
        }
    }
    TimelineKey {
        windows: distinct,
        report: definition.report,
        tick: definition.tick,
        bounds: definition.bounds,
        semantics: definition.semantics,
    }
}

/// Creates the operators of a query, and the leaves they need on the timeline; returns the window of each clause.
pub(super) fn build(
    definition: &ContinuousQuery,
    planned: &PlannedQuery,
    windows: &[(usize, Rule)],
    on: &mut Timeline,
    dictionary: &mut Dictionary,
    options: PlanOptions,
) -> Result<(BuiltQuery, Vec<usize>), PlanError> {
    let windows: Vec<usize> = windows.iter().map(|(stream, rule)| on.window_of(*stream, rule)).collect();
    let mut host = TimelineHost { timeline: on, windows: &windows };
    if definition.keep_windows {
        (0..windows.len()).for_each(|clause| {
            host.window_with_content(clause);
        });
    }
    let builder = Builder {
        query: definition,
        options,
        dictionary,
        host: &mut host,
        vars: VarTable::default(),
        meanings: Meanings::default(),
        nodes: Vec::new(),
        reevaluates: false,
        expressions: 0,
    };
    Ok((builder.build_query(planned)?, windows))
}

/// The operators of a query on a timeline and with a dictionary of their own.
pub(super) fn build_apart(
    definition: &ContinuousQuery,
    planned: &PlannedQuery,
    options: PlanOptions,
) -> Result<(BuiltQuery, Timeline), PlanError> {
    let windows = numbered_windows(definition);
    let mut timeline = Timeline::new(timeline_key(definition, &windows), options.thresholds);
    let mut dictionary = Dictionary::new(0);
    let (built, _) = build(definition, planned, &windows, &mut timeline, &mut dictionary, options)?;
    Ok((built, timeline))
}

fn check_readable(definition: &ContinuousQuery, streams: Option<&[&str]>) -> Result<(), EngineError> {
    let Some(streams) = streams else { return Ok(()) };
    let read = definition.windows.iter().filter_map(|window| match &window.stream {
        StreamName::Iri(iri) => Some(iri.as_str()),
        StreamName::Variable(_) => None,
    });
    match read.into_iter().find(|stream| !streams.contains(stream)) {
        None => Ok(()),
        Some(stream) => {
            let hint = String::from("declare it first, or register the query that writes it");
            Err(EngineError::UnknownStream { stream: stream.to_owned(), hint })
        }
    }
}

/// Streams that are known and that no query writes are written from outside.
fn check_writable(output: Option<&NamedNode>, streams: Option<&[&str]>) -> Result<(), EngineError> {
    match (output, streams) {
        (Some(output), Some(streams)) if streams.contains(&output.as_str()) => {
            Err(EngineError::OutputDeclared { stream: output.as_str().to_owned() })
        }
        _ => Ok(()),
    }
}

pub(super) fn failed(id: QueryId, failure: &Failure) -> EngineError {
    EngineError::QueryFailed { query: id.0, code: failure.code, reason: failure.reason.clone() }
}
