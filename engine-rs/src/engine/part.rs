//! Parts of a partitioned query: one engine per partition runs the plan below the cut, one more runs the plan above it.
//! `plan/cut.rs` decides what that is, `scale/` combines the engines.

use super::Engine;
use super::registry::{QueryId, build_apart, families_of};
use super::timeline::{Timeline, TimelineContext};
use crate::encode::Dictionary;
use crate::error::EngineError;
use crate::model::{TermId, Weight};
use crate::parse::{ContinuousQuery, ParseOptions};
use crate::plan::{BuiltQuery, Explained, Part, PlannedQuery, parse_with_stable_names};
use crate::sink::Draft;
use crate::time::Timestamp;
use crate::window::WindowBounds;
use oxrdf::Variable;

/// A part of a query, planned but not registered.
pub(crate) struct PartPreview {
    /// Its columns at the root, and whether each is always bound.
    pub columns: Vec<(Variable, bool)>,
    pub text: String,
}

impl Engine {
    /// Registers a part of a query.
    ///
    /// # Errors
    /// As [`Engine::register`], and when the query has no such part.
    pub(crate) fn register_part(
        &mut self,
        text: &str,
        options: &ParseOptions,
        part: Part,
    ) -> Result<QueryId, EngineError> {
        let definition = parse_with_stable_names(text, options)?;
        self.register_parsed(definition, options, part, None).map_err(|error| error.located(text, |_| None))
    }

    /// Runs the part above the cut for one instant: takes the changes of all partitions, then reports.
    ///
    /// # Errors
    /// When there is no such query, or it has failed.
    pub(crate) fn settle_part(
        &mut self,
        id: QueryId,
        at: Timestamp,
        windows: &[WindowBounds],
        changes: &[(Vec<TermId>, Weight)],
    ) -> Result<(), EngineError> {
        let (timeline, place) = self.place(id)?;
        let Self { timelines, dictionary, graphs, stopwatch, interests_stale, waiting, search, .. } = self;
        let stopwatch = stopwatch.as_ref();
        let context = &mut TimelineContext { dictionary, graphs, stopwatch, interests_stale, waiting, search };
        timelines[timeline].settle_given(place, at, windows, changes, context);
        Ok(())
    }

    /// Starts a new epoch for the terms that follow, so that terms which nothing holds any more can be released.
    pub(crate) fn begin_rows(&mut self) {
        self.sweep_if_due();
        self.events += 1;
        self.dictionary.set_epoch(self.events);
    }

    pub(crate) fn dictionary_mut(&mut self) -> &mut Dictionary {
        &mut self.dictionary
    }
}

impl Timeline {
    fn settle_given(
        &mut self,
        place: usize,
        at: Timestamp,
        windows: &[WindowBounds],
        changes: &[(Vec<TermId>, Weight)],
        context: &mut TimelineContext<'_>,
    ) {
        if let Some(query) = &mut self.queries[place] {
            query.guarded(|query| query.give(changes));
        }
        self.evaluate(place, at, None, context);
        if let Some(query) = &mut self.queries[place] {
            let cover = |_: &[usize], draft: &mut Draft<'_>| windows.iter().for_each(|bounds| draft.cover(*bounds));
            query.guarded(|query| query.report(at, cover, None, context.dictionary));
        }
        self.close_evaluation(place, context);
    }
}

/// Describes a part of a query without registering it.
///
/// # Errors
/// As [`Engine::register`].
pub(crate) fn preview_part(definition: &ContinuousQuery, part: &Part) -> Result<PartPreview, EngineError> {
    let mut definition = definition.clone();
    let families = families_of(&mut definition, &[]);
    let options = super::EngineOptions::default().plan();
    let planned = PlannedQuery::new(&definition, &families, part, &options)?;
    let (built, timeline) = build_apart(&definition, &planned, options)?;
    let BuiltQuery { nodes, vars, meanings, .. } = &built;
    let schema = nodes.last().map(|root| root.schema.clone()).unwrap_or_default();
    let columns: Vec<_> = schema.iter().map(|(var, certain)| (vars.name(var).clone(), certain)).collect();
    let variables: Vec<Variable> = columns.iter().map(|(variable, _)| variable.clone()).collect();
    let explained = Explained {
        definition: &definition,
        nodes,
        vars,
        meanings,
        leaves: timeline.leaves(),
        variables: &variables,
        output: None,
    };
    Ok(PartPreview { text: explained.view().to_text(), columns })
}
