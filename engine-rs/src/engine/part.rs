//! Parts of a query that is spread over partitions: one engine runs what is below the cut for one of them, another one
//! what is above it for all. `plan/cut.rs` says what that is, `scale/` puts the engines together.

use super::Engine;
use super::ingest::IngestReport;
use super::push::Names;
use super::registry::{QueryId, build, families_of, timeline_key};
use super::timeline::{Timeline, Workshop};
use super::validation::numbered_windows;
use crate::encode::Dictionary;
use crate::error::EngineError;
use crate::intake::{Content, EncodedEvent, EventBatch, Item};
use crate::model::{TermId, Weight};
use crate::parse::{ContinuousQuery, ParseOptions, parse_query};
use crate::plan::{BuiltQuery, Explained, Part, rename_invented};
use crate::time::Timestamp;
use crate::window::WindowBounds;
use oxrdf::Variable;

/// A part of a query before it runs.
pub(crate) struct Rehearsal {
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
        let mut definition = parse_query(text, options)?;
        rename_invented(&mut definition);
        self.register_parsed(definition, options, part).map_err(|error| error.located(text))
    }

    /// One instant of what is above the cut: the changes of all partitions, then the report.
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
        let Self { timelines, dictionary, graphs, stopwatch, .. } = self;
        let workshop = &mut Workshop { dictionary, graphs, stopwatch: stopwatch.as_ref() };
        timelines[timeline].settle_given(place, at, windows, changes, workshop);
        Ok(())
    }

    /// Terms that come next are used by an event of their own; those nothing holds any more are let go.
    pub(crate) fn begin_rows(&mut self) {
        self.sweep_if_due();
        self.events += 1;
        self.dictionary.set_epoch(self.events);
    }

    pub(crate) fn dictionary_mut(&mut self) -> &mut Dictionary {
        &mut self.dictionary
    }
}

/// The events of one stream, and the first and last time of the stream in the batch where the events were dealt out;
/// then they have nothing that nobody wants.
pub(crate) struct SortedEvents<'a> {
    pub stream: &'a str,
    pub batch: &'a EventBatch,
    pub times: Option<(Timestamp, Timestamp)>,
}

/// An event among those of all streams: time, place in its source, number of the stream. Events without triples stand
/// for what other partitions have seen; the first comes before and the last after all others of its instant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Turn {
    at: Timestamp,
    kind: TurnKind,
    place: u64,
    stream: u32,
    event: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum TurnKind {
    First,
    Event,
    Last,
}

impl Engine {
    /// Takes a batch: the events of all streams in the order of their times.
    ///
    /// # Errors
    /// When a time is too far ahead; nothing is taken then.
    pub(crate) fn take_sorted(&mut self, shares: &[SortedEvents<'_>]) -> Result<IngestReport, EngineError> {
        let streams = shares.iter().map(|share| self.writable_stream(share.stream)).collect::<Result<Vec<_>, _>>()?;
        let readings: Vec<Vec<usize>> = streams.iter().map(|stream| self.readings_of(*stream).collect()).collect();
        let mut turns = Vec::new();
        for (number, share) in shares.iter().enumerate() {
            add_turns(number as u32, share, &mut turns);
        }
        turns.sort();
        for (number, stream) in streams.iter().enumerate() {
            let last = turns.iter().rev().find(|turn| turn.stream as usize == number);
            last.map_or(Ok(()), |turn| self.check_ahead(*stream, turn.at))?;
        }
        let mut names: Vec<Names<'_>> =
            shares.iter().map(|share| Names::of_pruned(share.batch, share.times.is_some())).collect();
        let mut report = IngestReport::default();
        let nothing = EventBatch::new();
        for turn in turns {
            let number = turn.stream as usize;
            let batch = shares[number].batch;
            let event = match turn.kind {
                TurnKind::Event => batch.events()[turn.event as usize].clone(),
                TurnKind::First | TurnKind::Last => EncodedEvent { at: Some(turn.at), index: 0, triples: 0..0 },
            };
            let item = Item { content: Content::Encoded(event), index: turn.place, scope: 0, position: None };
            let mut unseen = IngestReport::default();
            let (report, names) = match turn.kind {
                TurnKind::Event => (&mut report, &mut names[number]),
                TurnKind::First | TurnKind::Last => (&mut unseen, &mut Names::of(&nothing)),
            };
            report.events += 1;
            let times = self.times_of(&item, turn.at, batch, &readings[number])?;
            self.take_event(streams[number], &readings[number], &item, &times, names, report);
        }
        Ok(report)
    }
}

fn add_turns(stream: u32, share: &SortedEvents<'_>, turns: &mut Vec<Turn>) {
    if let Some((first, last)) = share.times {
        turns.push(Turn { at: first, kind: TurnKind::First, place: 0, stream, event: 0 });
        turns.push(Turn { at: last, kind: TurnKind::Last, place: 0, stream, event: 0 });
    }
    for (event, encoded) in share.batch.events().iter().enumerate() {
        let at = encoded.at.unwrap_or(Timestamp::EPOCH);
        turns.push(Turn { at, kind: TurnKind::Event, place: encoded.index, stream, event: event as u32 });
    }
}

impl Timeline {
    fn settle_given(
        &mut self,
        place: usize,
        at: Timestamp,
        windows: &[WindowBounds],
        changes: &[(Vec<TermId>, Weight)],
        workshop: &mut Workshop<'_>,
    ) {
        if let Some(query) = &mut self.queries[place] {
            query.guarded(|query| query.give(changes));
        }
        self.settle(place, at, workshop);
        if let Some(query) = &mut self.queries[place] {
            query.guarded(|query| query.report(at, |_| windows.iter().copied().collect(), workshop.dictionary));
        }
        self.close_evaluation(place);
    }
}

/// What a part of a query would be; nothing is registered.
///
/// # Errors
/// As [`Engine::register`].
pub(crate) fn rehearse(definition: &ContinuousQuery, part: &Part) -> Result<Rehearsal, EngineError> {
    let mut definition = definition.clone();
    let families = families_of(&mut definition, &[]);
    let windows = numbered_windows(&definition);
    let mut timeline = Timeline::new(timeline_key(&definition, &windows));
    let mut dictionary = Dictionary::new(0);
    let options = super::EngineOptions::default().plan();
    let (built, _) = build(&definition, &families, part, &windows, &mut timeline, &mut dictionary, options)?;
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
    Ok(Rehearsal { text: explained.view().to_text(), columns })
}
