//! Queries by number: registered, drained, explained, let go.

use super::families::{stream_families, window_families};
use super::query::{Failure, Registration, RunningQuery};
use super::timeline::{Timeline, TimelineHost, TimelineKey, Workshop};
use super::{Engine, StreamOptions};
use crate::encode::Dictionary;
use crate::error::EngineError;
use crate::model::VarTable;
use crate::parse::{ContinuousQuery, ParseOptions, StreamName, WindowClause, parse_query};
use crate::plan::{
    Builder, BuiltQuery, Explained, Host, Meanings, Part, PlanError, PlanOptions, PlanView, WindowFamily,
    rename_invented,
};
use crate::sink::{QueryResult, ResultQueue, plan_json};
use crate::window::Rule;
use oxrdf::{NamedNode, Variable};
use std::collections::BTreeMap;

/// A registered query.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct QueryId(pub u64);

/// Which timeline a query runs on, and where there.
#[derive(Debug, Default)]
pub(super) struct Registry {
    pub(super) places: BTreeMap<QueryId, (usize, usize)>,
    pub(super) registered: u64,
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

    /// Registers a query; from now on every event counts for it. Streams it names are declared.
    ///
    /// # Errors
    /// When the text does not parse, or asks for what is not supported.
    pub fn register(&mut self, text: &str, options: &ParseOptions) -> Result<QueryId, EngineError> {
        let mut definition = parse_query(text, options)?;
        rename_invented(&mut definition);
        self.register_parsed(definition, options, Part::Whole).map_err(|error| error.located(text))
    }

    pub(super) fn register_parsed(
        &mut self,
        mut definition: ContinuousQuery,
        options: &ParseOptions,
        part: Part,
    ) -> Result<QueryId, EngineError> {
        if definition.windows.is_empty() {
            return Err(PlanError::NoWindow.into());
        }
        let named_streams = self.named_streams(&definition)?;
        let retraction = self.options.retraction;
        let registration = Registration { options: options.clone(), retraction, named_streams, part };
        let families = families_of(&mut definition, &registration.named_streams);
        let output = self.check_output(&definition)?;
        let windows = self.windows_of(&definition)?;
        let timeline = self.timeline_for(timeline_key(&definition, &windows));
        let query = match self.build_on(timeline, definition, registration, &families, &windows) {
            Ok(query) => query,
            Err(error) => {
                self.empty_unused_timelines();
                return Err(error);
            }
        };
        let Self { timelines, dictionary, graphs, stopwatch, .. } = self;
        let workshop = &mut Workshop { dictionary, graphs, stopwatch: stopwatch.as_ref() };
        let place = timelines[timeline].add_query(query, workshop);
        self.connect_streams();
        self.registry.registered += 1;
        let id = QueryId(self.registry.registered);
        self.registry.places.insert(id, (timeline, place));
        if let Some(output) = output {
            self.start_chain(id, &output, (timeline, place));
        }
        let watermark = self.watermark_of(timeline);
        if watermark != crate::time::Timestamp::MIN {
            self.timelines[timeline].begin_by(watermark);
            self.advance_timeline(timeline, watermark);
        }
        self.relay();
        Ok(id)
    }

    /// Ends a query and lets go of everything only it needed.
    ///
    /// # Errors
    /// When there is no such query.
    pub fn unregister(&mut self, id: QueryId) -> Result<(), EngineError> {
        let (timeline, place) = self.registry.place(id)?;
        self.timelines[timeline].remove_query(place);
        self.registry.places.remove(&id);
        self.end_chain(id);
        self.empty_unused_timelines();
        self.connect_streams();
        self.sweep();
        Ok(())
    }

    /// Takes the results that have come since the last call. Their ids are valid until the next call that changes
    /// the engine.
    ///
    /// # Errors
    /// When there is no such query, or it has failed.
    pub fn drain(&mut self, id: QueryId) -> Result<Vec<QueryResult>, EngineError> {
        let (timeline, place) = self.registry.place(id)?;
        let query = self.timelines[timeline].query_mut(place);
        let results = query.results.drain();
        match &query.failed {
            Some(failure) if results.is_empty() => Err(failed(id, failure)),
            _ => Ok(results),
        }
    }

    /// The registered queries, in the order of their registration.
    pub fn query_ids(&self) -> impl Iterator<Item = QueryId> + '_ {
        self.registry.places().map(|(id, _)| id)
    }

    /// Makes the query panic at its next instant: for tests of what a failure leaves unharmed.
    ///
    /// # Errors
    /// When there is no such query.
    #[doc(hidden)]
    pub fn break_query(&mut self, id: QueryId) -> Result<(), EngineError> {
        let (timeline, place) = self.registry.place(id)?;
        self.timelines[timeline].query_mut(place).is_broken = true;
        Ok(())
    }

    /// The variables of a query's answer, in order; none for ASK and CONSTRUCT.
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

    /// The plan as text, with live counts and the probing orders taken.
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

    /// Stream and rule of each window clause; streams are declared where they are new.
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

    /// A timeline that reads these windows in this way and has not begun, or a new one.
    fn timeline_for(&mut self, key: TimelineKey) -> usize {
        let open = |timeline: &Timeline| timeline.is_pristine() && !timeline.is_unused() && *timeline.key() == key;
        if let Some(shared) = self.timelines.iter().position(open).filter(|_| self.options.sharing) {
            return shared;
        }
        // Timelines keep their number, because queries are found by it; an unused one is replaced.
        match self.timelines.iter().position(Timeline::is_unused) {
            Some(at) => {
                self.timelines[at] = Timeline::new(key, self.options.thresholds);
                at
            }
            None => {
                self.timelines.push(Timeline::new(key, self.options.thresholds));
                self.timelines.len() - 1
            }
        }
    }

    /// The operators of a query, with their leaves on the timeline; they have not seen anything yet.
    pub(super) fn build_on(
        &mut self,
        timeline: usize,
        definition: ContinuousQuery,
        registration: Registration,
        families: &[WindowFamily],
        windows: &[(usize, Rule)],
    ) -> Result<RunningQuery, EngineError> {
        let options = PlanOptions { retraction: registration.retraction, ..self.options.plan() };
        let on = &mut self.timelines[timeline];
        let (built, windows) =
            build(&definition, families, &registration.part, windows, on, &mut self.dictionary, options)?;
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
        }
        self.find_interests();
    }

    /// What an unused timeline held is let go.
    fn empty_unused_timelines(&mut self) {
        let thresholds = self.options.thresholds;
        for timeline in self.timelines.iter_mut().filter(|timeline| timeline.is_unused()) {
            *timeline = Timeline::new(timeline.key().clone(), thresholds);
        }
    }
}

/// Several windows under one name; those of variable streams become windows of the streams they name.
pub(super) fn families_of(definition: &mut ContinuousQuery, named_streams: &[Vec<NamedNode>]) -> Vec<WindowFamily> {
    let mut families = stream_families(definition, named_streams);
    families.extend(window_families(definition));
    families
}

/// What a query needs of a timeline.
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

/// Makes the operators of a query, and the leaves they need on the timeline; gives, for each clause, its window there.
pub(super) fn build(
    definition: &ContinuousQuery,
    families: &[WindowFamily],
    part: &Part,
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
        families,
        part,
        options,
        dictionary,
        host: &mut host,
        vars: VarTable::default(),
        meanings: Meanings::default(),
        nodes: Vec::new(),
        reevaluates: false,
        expressions: 0,
    };
    Ok((builder.build_query()?, windows))
}

pub(super) fn failed(id: QueryId, failure: &Failure) -> EngineError {
    EngineError::QueryFailed { query: id.0, code: failure.code, reason: failure.reason.clone() }
}
