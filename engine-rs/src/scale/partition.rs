//! The partition stage: takes the chunks of one batch, returns partial results.

use super::chunk::{ChunkReader, Head};
use super::query::{ScaledQuery, engine_options};
use super::reported::{ONLY, Reported, Writing};
use super::seal::{Owner, opened, sealed};
use crate::codec::{Reader, Writer};
use crate::engine::{BatchStream, Engine, Piece};
use crate::error::EngineError;
use crate::intake::EventBatch;
use crate::parse::RdfFormat;
use crate::time::Timestamp;
use std::sync::Arc;

/// Static data: the name of a graph (`None`: the default graph), a document, and its format.
pub(super) type Document<'a> = (Option<&'a str>, &'a [u8], RdfFormat);

/// The outcome of a batch.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Absorbed {
    /// Events with triples for this partition. An event with triples for two partitions counts in both.
    pub events: u64,
    /// Triples of the accepted events.
    pub triples: u64,
    /// Events that were too late for every window.
    pub late: u64,
}

/// The engine of one partition.
pub struct PartitionEngine {
    query: Arc<ScaledQuery>,
    partition: u32,
    engine: Engine,
    /// The number of blank nodes in static data, which every partition numbers alike.
    shared_blanks: u64,
}

impl PartitionEngine {
    /// A partition that has only static data, which every partition loads in the same order.
    ///
    /// # Errors
    /// If there is no such partition, or a document does not parse.
    pub fn new(query: Arc<ScaledQuery>, partition: u32, graphs: &[Document<'_>]) -> Result<Self, EngineError> {
        check_partition(&query, partition)?;
        let engine = query.engine(partition, graphs)?;
        let shared_blanks = engine.dictionary().blanks_so_far();
        Ok(Self { query, partition, engine, shared_blanks })
    }

    /// Restores a partition from its snapshot.
    ///
    /// # Errors
    /// When the bytes are damaged (`snapshot.damaged`), of another release (`snapshot.version`), or of another query or
    /// partition (`snapshot.query`).
    pub fn restore(query: Arc<ScaledQuery>, partition: u32, snapshot: &[u8]) -> Result<Self, EngineError> {
        check_partition(&query, partition)?;
        let mut from = Reader::new(opened(&query, Owner::Partition(partition), snapshot)?);
        let shared_blanks = from.u64()?;
        let engine = Engine::restore(from.rest(), engine_options())?;
        Ok(Self { query, partition, engine, shared_blanks })
    }

    #[must_use]
    pub fn snapshot(&self) -> Vec<u8> {
        let mut to = Writer::default();
        to.u64(self.shared_blanks);
        let mut payload = to.into_bytes();
        payload.extend(self.engine.snapshot());
        sealed(&self.query, Owner::Partition(self.partition), &payload)
    }

    /// Applies all chunks of one batch: events in the order of their times, and then the watermark that all events of
    /// the batch imply, including those of other partitions. Nothing is applied if a chunk is damaged or belongs to
    /// another partition. A chunk that is intact but invalid leaves the engine unusable: restore it.
    ///
    /// # Errors
    /// If a chunk is damaged, belongs to another query or partition, or has a time too far ahead.
    pub fn absorb<B: AsRef<[u8]>>(&mut self, chunks: &[B]) -> Result<Absorbed, EngineError> {
        let n_streams = self.query.streams.len();
        let mut times: Vec<Option<(Timestamp, Timestamp)>> = vec![None; n_streams];
        let mut pieces = Vec::with_capacity(chunks.len());
        for chunk in chunks {
            let mut reader = ChunkReader::new(chunk.as_ref())?;
            let head = reader.head()?;
            self.check(&head)?;
            let of_stream = times.get_mut(head.stream).ok_or(EngineError::ChunkOfOther { what: "stream" })?;
            *of_stream = both(*of_stream, head.times);
            pieces.push(ChunkPiece { head, reader });
        }
        let is_routed = self.query.is_spread();
        let streams = self.query.streams.iter().zip(times);
        let streams = streams.map(|((iri, _), times)| BatchStream { iri: iri.as_str(), is_routed, times });
        let streams: Vec<_> = streams.collect();
        for stream in streams.iter().filter(|stream| stream.times.is_some()) {
            self.engine.mark_active(stream.iri)?;
        }
        let report = self.engine.take_pieces(&streams, pieces)?;
        self.leave_idle_behind()?;
        Ok(Absorbed { events: report.events, triples: report.triples, late: report.late })
    }

    /// A stream that lags more than its idle timeout holds nothing back until its next event. This is decided only
    /// between batches, because then all partitions have the same information about each stream.
    fn leave_idle_behind(&mut self) -> Result<(), EngineError> {
        let fastest = self.watermarks().filter_map(|(_, at)| at).max();
        for (iri, options) in &self.query.streams {
            let (Some(timeout), Some(fastest)) = (options.idle_timeout, fastest) else { continue };
            if self.engine.watermark(iri.as_str())?.is_none_or(|at| at < fastest - timeout) {
                self.engine.mark_idle(iri.as_str())?;
            }
        }
        Ok(())
    }

    /// Ends all streams: every window closes.
    pub fn close(&mut self) {
        self.engine.close();
    }

    /// Drains the reports since the last call.
    ///
    /// # Errors
    /// When the query has failed.
    pub fn drain(&mut self) -> Result<Vec<Reported>, EngineError> {
        let results = self.engine.drain(ONLY)?;
        let writing = Writing {
            dictionary: self.engine.dictionary(),
            partition: Some(self.partition).filter(|_| self.query.is_spread()),
            shared_blanks: self.shared_blanks,
        };
        Ok(results.into_iter().map(|result| writing.reported(result)).collect())
    }

    /// The watermark of each stream; `None` before its first event.
    pub fn watermarks(&self) -> impl Iterator<Item = (&str, Option<Timestamp>)> {
        let watermark = |iri: &str| self.engine.watermark(iri).ok().flatten();
        self.query.streams.iter().map(move |(iri, _)| (iri.as_str(), watermark(iri.as_str())))
    }

    /// The number of mappings, rows, groups and stream terms kept here.
    #[must_use]
    pub fn state_size(&self) -> usize {
        self.engine.state_size()
    }

    #[must_use]
    pub fn query(&self) -> &ScaledQuery {
        &self.query
    }

    fn check(&self, head: &Head) -> Result<(), EngineError> {
        if head.fingerprint != self.query.fingerprint_bytes() {
            return Err(EngineError::ChunkOfOther { what: "query" });
        }
        if head.partition != self.partition {
            return Err(EngineError::ChunkOfOther { what: "partition" });
        }
        Ok(())
    }
}

/// A chunk that is verified to belong to this partition.
struct ChunkPiece<'a> {
    head: Head,
    reader: ChunkReader<'a>,
}

impl Piece for ChunkPiece<'_> {
    fn stream(&self) -> usize {
        self.head.stream
    }

    fn begins_at(&self) -> Timestamp {
        self.head.times.map_or(Timestamp::MIN, |(first, _)| first)
    }

    fn read(&self) -> Result<EventBatch, EngineError> {
        let mut batch = EventBatch::new();
        self.reader.clone().events(&self.head, &mut batch)?;
        batch.sort_by_place();
        Ok(batch)
    }
}

/// The union of two ranges of times.
fn both(a: Option<(Timestamp, Timestamp)>, b: Option<(Timestamp, Timestamp)>) -> Option<(Timestamp, Timestamp)> {
    match (a, b) {
        (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
        (a, b) => a.or(b),
    }
}

fn check_partition(query: &ScaledQuery, partition: u32) -> Result<(), EngineError> {
    let partitions = query.partitions();
    if partition < partitions {
        return Ok(());
    }
    Err(super::query::unsupported(format!("there is no partition {partition}"), format!("there are {partitions}")))
}
