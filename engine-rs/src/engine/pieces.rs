//! A batch for one partition: pieces of streams, each read when its events are next.

use super::Engine;
use super::ingest::IngestReport;
use super::names::Names;
use super::push::{Body, Target, TimedEvent};
use crate::error::EngineError;
use crate::intake::{Content, EncodedEvent, EventBatch, Item};
use crate::time::Timestamp;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A stream of a batch. If its events were routed to partitions, unwanted triples are gone already, and the first and
/// last time of the whole stream are known.
pub(crate) struct BatchStream<'a> {
    pub iri: &'a str,
    pub is_routed: bool,
    pub times: Option<(Timestamp, Timestamp)>,
}

/// Some events of a stream, decoded only when they are next, so that they are still in the cache when used.
pub(crate) trait Piece {
    /// The number of the stream in the batch.
    fn stream(&self) -> usize;

    /// No event is before this time.
    fn begins_at(&self) -> Timestamp;

    /// The events by time and place.
    ///
    /// # Errors
    /// When they cannot be read.
    fn read(&self) -> Result<EventBatch, EngineError>;
}

/// The order of events across streams. Events without triples stand for what other partitions have seen; the first
/// precedes and the last follows all others of its instant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Turn {
    at: Timestamp,
    kind: TurnKind,
    place: u64,
    stream: usize,
    /// The piece that has the event.
    piece: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum TurnKind {
    First,
    Event,
    Last,
}

/// A piece, with its next event.
struct OpenPiece {
    stream: usize,
    batch: EventBatch,
    names: Names,
    n_taken: usize,
}

impl OpenPiece {
    fn turn(&self, piece: usize) -> Option<Turn> {
        let event = self.batch.events().get(self.n_taken)?;
        let at = event.at.unwrap_or(Timestamp::EPOCH);
        Some(Turn { at, kind: TurnKind::Event, place: event.index, stream: self.stream, piece })
    }
}

impl Engine {
    /// Applies a batch: the events of all streams in the order of their times and, within one instant, of their places.
    ///
    /// # Errors
    /// If a time is too far ahead; nothing is applied then. If a piece cannot be read; the events before it are
    /// applied.
    pub(crate) fn take_pieces<P: Piece>(
        &mut self,
        given: &[BatchStream<'_>],
        mut pieces: Vec<P>,
    ) -> Result<IngestReport, EngineError> {
        let streams = given.iter().map(|stream| self.writable_stream(stream.iri)).collect::<Result<Vec<_>, _>>()?;
        let readings: Vec<Vec<usize>> = streams.iter().map(|stream| self.readings_of(*stream).collect()).collect();
        for (stream, number) in given.iter().zip(&streams) {
            stream.times.map_or(Ok(()), |(_, last)| self.check_ahead(*number, last))?;
        }
        let mut ends = turns_of_ends(given);
        // Closes the batch: the next event is the last.
        pieces.sort_by_key(|piece| Reverse(piece.begins_at()));
        let mut open: Vec<Option<OpenPiece>> = Vec::new();
        let mut turns: BinaryHeap<Reverse<Turn>> = BinaryHeap::new();
        let mut report = IngestReport::default();
        loop {
            let turn = turns.peek().map(|turn| turn.0).into_iter().chain(ends.last().copied()).min();
            if let Some(piece) = pieces.pop_if(|piece| turn.is_none_or(|turn| piece.begins_at() <= turn.at)) {
                let (stream, names) = (piece.stream(), Names::of_pruned(given[piece.stream()].is_routed));
                let opened = OpenPiece { stream, batch: piece.read()?, names, n_taken: 0 };
                turns.extend(opened.turn(open.len()).map(Reverse));
                open.push(Some(opened));
                continue;
            }
            let Some(turn) = turn else { return Ok(report) };
            let (stream, readings) = (streams[turn.stream], &readings[turn.stream]);
            if turn.kind != TurnKind::Event {
                ends.pop();
                self.take_end(turn, stream, readings)?;
                continue;
            }
            let next = match &mut open[turn.piece] {
                Some(piece) => self.take_turn(turn, piece, stream, readings, &mut report)?,
                None => None,
            };
            match next {
                Some(next) => turns.peek_mut().into_iter().for_each(|mut first| *first = Reverse(next)),
                None => {
                    turns.pop();
                    open[turn.piece] = None;
                }
            }
        }
    }

    /// Applies the next event; returns the following event of its piece.
    fn take_turn(
        &mut self,
        turn: Turn,
        piece: &mut OpenPiece,
        stream: usize,
        readings: &[usize],
        report: &mut IngestReport,
    ) -> Result<Option<Turn>, EngineError> {
        let OpenPiece { batch, names, n_taken, .. } = piece;
        let content = Content::Encoded(batch.events()[*n_taken].clone());
        let item = Item { content, index: turn.place, scope: 0, position: None };
        report.events += 1;
        let times = self.times_of(&item, turn.at, batch, readings);
        let event = TimedEvent { item: &item, times: &times, body: Body::Batch(batch) };
        self.take_event(Target { stream, readings }, event, names, report);
        *n_taken += 1;
        Ok(piece.turn(turn.piece))
    }

    /// An event without triples, which is not counted.
    fn take_end(&mut self, turn: Turn, stream: usize, readings: &[usize]) -> Result<(), EngineError> {
        let nothing = EventBatch::new();
        let event = EncodedEvent { at: Some(turn.at), index: 0, triples: 0..0 };
        let item = Item { content: Content::Encoded(event), index: 0, scope: 0, position: None };
        let times = self.times_of(&item, turn.at, &nothing, readings);
        let event = TimedEvent { item: &item, times: &times, body: Body::Batch(&nothing) };
        self.take_event(Target { stream, readings }, event, &mut Names::default(), &mut IngestReport::default());
        Ok(())
    }
}

/// The first and last times of routed streams, latest first.
fn turns_of_ends(streams: &[BatchStream<'_>]) -> Vec<Turn> {
    let turn = |at, kind, stream| Turn { at, kind, place: 0, stream, piece: 0 };
    let routed = streams.iter().enumerate().filter(|(_, stream)| stream.is_routed);
    let times = routed.filter_map(|(number, stream)| Some((number, stream.times?)));
    let ends = times
        .flat_map(|(number, (first, last))| [turn(first, TurnKind::First, number), turn(last, TurnKind::Last, number)]);
    let mut ends: Vec<Turn> = ends.collect();
    ends.sort_unstable_by(|a, b| b.cmp(a));
    ends
}
