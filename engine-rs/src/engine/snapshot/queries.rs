//! A query in a snapshot: how it was registered, then its counters, queue and operator state.

use super::super::Engine;
use super::super::query::{Failure, Registration, RunningQuery};
use super::super::registry::{QueryId, families_of, timeline_key};
use super::super::timeline::Timeline;
use crate::codec::{Damaged, Decoded, Reader, Writer, ensure};
use crate::encode::Dictionary;
use crate::error::EngineError;
use crate::expr::EvalContext;
use crate::flow::Operator;
use crate::limits::Budget;
use crate::parse::{ContinuousQuery, ParseOptions, StreamName};
use crate::plan::{
    Evaluation, NodeKind, Part, PlanNode, PlanOptions, PlannedQuery, Retraction, Share, WindowFamily,
    parse_with_stable_names,
};
use crate::time::Timestamp;
use crate::window::Rule;
use oxrdf::Variable;

/// The arguments for registering a query again.
pub(super) struct QueryRecord {
    pub id: QueryId,
    /// Its timeline, and its place there.
    pub place: (usize, usize),
    text: String,
    registration: Registration,
    /// If it has failed, it has no operators and reads no leaves.
    has_failed: bool,
}

impl QueryRecord {
    pub(super) fn of(id: QueryId, place: (usize, usize), query: &RunningQuery) -> Self {
        Self {
            id,
            place,
            text: query.definition.text.clone(),
            registration: (*query.registration).clone(),
            has_failed: query.failed.is_some(),
        }
    }

    pub(super) fn save(&self, to: &mut Writer) {
        to.u64(self.id.0);
        to.count(self.place.0);
        to.count(self.place.1);
        to.text(&self.text);
        to.option(self.registration.name.as_ref(), |to, name| to.text(name));
        to.bool(self.has_failed);
        self.registration.options.save(to);
        save_way((self.registration.evaluation, self.registration.retraction), to);
        to.list(self.registration.named_streams.iter(), |to, streams| {
            to.list(streams.iter(), |to, stream| to.text(stream.as_str()));
        });
        save_part(&self.registration.part, to);
    }

    pub(super) fn restored(from: &mut Reader<'_>) -> Decoded<Self> {
        let (id, place, text) = (QueryId(from.u64()?), (from.number()?, from.number()?), from.text()?);
        let name = from.option(Reader::text)?;
        let has_failed = from.bool()?;
        let (options, (evaluation, retraction)) = (ParseOptions::restored(from)?, restored_way(from)?);
        let named_streams = from.list(8, |from| from.list(8, Reader::iri))?;
        let part = restored_part(from)?;
        let registration = Registration { id, name, options, evaluation, retraction, named_streams, part };
        Ok(Self { id, place, text, registration, has_failed })
    }

    fn definition(&self) -> Result<ContinuousQuery, EngineError> {
        let definition =
            parse_with_stable_names(&self.text, &self.registration.options).map_err(|error| self.refused(error))?;
        let by_variable = definition.windows.iter().filter(|w| matches!(w.stream, StreamName::Variable(_))).count();
        let named = &self.registration.named_streams;
        ensure(
            named.len() == by_variable && named.iter().all(|streams| !streams.is_empty()),
            "a window has no stream",
        )?;
        Ok(definition)
    }

    fn refused(&self, error: impl std::fmt::Display) -> EngineError {
        EngineError::SnapshotVersion { reason: format!("query {} is refused: {error}", self.id.0) }
    }
}

impl Engine {
    /// Plans a query again on its timeline and in its place, without evaluating it.
    pub(super) fn reregister(&mut self, record: QueryRecord) -> Result<(), EngineError> {
        let mut definition = record.definition()?;
        let families = families_of(&mut definition, &record.registration.named_streams);
        let windows = self.windows_of(&definition)?;
        let key = timeline_key(&definition, &windows);
        let (timeline, place) = record.place;
        let on = &mut self.timelines[timeline];
        if on.is_unused() {
            let places = on.queries.len();
            *on = Timeline::new(key, self.options.thresholds);
            on.make_room(places);
        } else if *on.key() != key {
            return Err(EngineError::SnapshotVersion { reason: "its queries have other windows".to_owned() });
        }
        let query = self.build_again(&record, timeline, definition, (&families, &windows))?;
        let on = &mut self.timelines[timeline];
        on.seat_query(place, query);
        if record.has_failed {
            on.release(place);
        }
        Ok(())
    }

    fn build_again(
        &mut self,
        record: &QueryRecord,
        timeline: usize,
        definition: ContinuousQuery,
        (families, windows): (&[WindowFamily], &[(usize, Rule)]),
    ) -> Result<RunningQuery, EngineError> {
        let registration = record.registration.clone();
        let plan = PlanOptions { evaluation: registration.evaluation, ..self.options.plan() };
        let planned = PlannedQuery::new(&definition, families, &registration.part, &plan);
        let planned = planned.map_err(|error| record.refused(error))?;
        let query = self.build_on(timeline, definition, registration, &planned, windows);
        query.map_err(|error| record.refused(error))
    }

    /// Plans a query again for another timeline with the same key, without state.
    pub(in super::super) fn planned_for(&mut self, id: QueryId, to: usize) -> Result<RunningQuery, EngineError> {
        let (from, place) = self.place(id)?;
        let record = QueryRecord::of(id, (from, place), self.timelines[from].query(place));
        let mut definition = record.definition()?;
        let families = families_of(&mut definition, &record.registration.named_streams);
        let windows = self.windows_of(&definition)?;
        self.build_again(&record, to, definition, (&families, &windows))
    }
}

impl RunningQuery {
    /// A failed query does not run again; only its results and its error are kept.
    pub(in super::super) fn save_state(&self, n_reports: u64, to: &mut Writer) {
        to.option(self.failed.as_ref(), |to, failure| {
            to.text(failure.code);
            to.text(&failure.reason);
        });
        to.u64(self.evaluations_by(n_reports));
        self.results.save(self.named_r2s, to);
        if self.failed.is_some() {
            return;
        }
        to.option(self.settled_version, Writer::u64);
        to.option(self.last_boolean, Writer::bool);
        self.r2s.save(to);
        to.list(self.nodes.iter(), |to, node| {
            save_shape(node, to);
            node.operator().save(to);
        });
        self.scratch.budget.save(to);
    }

    pub(in super::super) fn restore_state(
        &mut self,
        dictionary: &mut Dictionary,
        from: &mut Reader<'_>,
    ) -> Result<(), EngineError> {
        self.failed = from.option(|from| Ok(Failure::restored(&from.text()?, from.text()?)))?;
        self.evaluations = from.u64()?;
        self.results.restore(self.named_r2s, from)?;
        if self.failed.is_some() {
            return Ok(());
        }
        self.settled_version = from.option(Reader::u64)?;
        self.last_boolean = from.option(Reader::bool)?;
        self.r2s.restore(from)?;
        let n_nodes = from.count(16)?;
        self.check_plan(n_nodes == self.nodes.len())?;
        let limits = self.scratch.budget.limits();
        self.scratch.budget = self.scratch.budget.paid();
        for at in 0..n_nodes {
            let mut shape = Writer::default();
            save_shape(&self.nodes[at], &mut shape);
            let is_same = from.skip_if(&shape.into_bytes());
            self.check_plan(is_same)?;
            let eval = &mut EvalContext { dictionary, now: Timestamp::EPOCH, scratch: &mut self.scratch };
            operator_mut(&mut self.nodes[at].kind).restore(from, eval)?;
        }
        self.scratch.budget = Budget::restored(limits, from)?;
        Ok(())
    }

    fn check_plan(&self, is_same: bool) -> Result<(), EngineError> {
        let reason = || "the plan of a query differs".to_owned();
        if is_same { Ok(()) } else { Err(EngineError::SnapshotVersion { reason: reason() }) }
    }
}

/// Identifies the kind of a node, so that no other node reads its state.
fn save_shape(node: &PlanNode, to: &mut Writer) {
    to.text(node.description.operator);
    to.count(node.schema.width());
    to.list(node.inputs.iter(), |to, input| to.count(*input));
}

fn operator_mut(kind: &mut NodeKind) -> &mut dyn Operator {
    match kind {
        NodeKind::Join(join) => join.as_mut(),
        NodeKind::Operator(operator) => operator.as_mut(),
    }
}

fn save_part(part: &Part, to: &mut Writer) {
    let share = |to: &mut Writer, share: &Share| {
        to.text(share.variable.as_str());
        to.u32(share.partitions);
        to.u32(share.partition);
        to.bool(share.is_checked);
    };
    match part {
        Part::Whole => to.u8(0),
        Part::Share(of) => {
            to.u8(1);
            share(to, of);
        }
        Part::Below(of) => {
            to.u8(2);
            share(to, of);
        }
        Part::Above { variable, columns } => {
            to.u8(3);
            to.text(variable.as_str());
            to.list(columns.iter(), |to, (column, certain)| {
                to.text(column.as_str());
                to.bool(*certain);
            });
        }
    }
}

fn restored_part(from: &mut Reader<'_>) -> Decoded<Part> {
    let share = |from: &mut Reader<'_>| {
        let (variable, partitions, partition) = (restored_variable(from)?, from.u32()?, from.u32()?);
        Ok(Share { variable, partitions, partition, is_checked: from.bool()? })
    };
    Ok(match from.u8()? {
        0 => Part::Whole,
        1 => Part::Share(share(from)?),
        2 => Part::Below(share(from)?),
        3 => Part::Above {
            variable: restored_variable(from)?,
            columns: from.list(9, |from| Ok((restored_variable(from)?, from.bool()?)))?,
        },
        _ => return Err(Damaged { what: "a query has an unknown part" }),
    })
}

fn restored_variable(from: &mut Reader<'_>) -> Decoded<Variable> {
    Variable::new(from.text()?).map_err(|_| Damaged { what: "a variable has no name" })
}

/// The modes of evaluation and retraction are written as indexes into this list.
const WAYS: [(Evaluation, Retraction); 6] = [
    (Evaluation::Incremental, Retraction::Auto),
    (Evaluation::Incremental, Retraction::Tree),
    (Evaluation::Incremental, Retraction::Probe),
    (Evaluation::Reevaluate, Retraction::Auto),
    (Evaluation::Reevaluate, Retraction::Tree),
    (Evaluation::Reevaluate, Retraction::Probe),
];

fn save_way(value: (Evaluation, Retraction), to: &mut Writer) {
    let place = WAYS.iter().position(|choice| *choice == value);
    to.u8(place.expect("the list has every choice") as u8);
}

fn restored_way(from: &mut Reader<'_>) -> Decoded<(Evaluation, Retraction)> {
    let place = from.u8()? as usize;
    WAYS.get(place).copied().ok_or(Damaged { what: "a query has an unknown evaluation mode" })
}
