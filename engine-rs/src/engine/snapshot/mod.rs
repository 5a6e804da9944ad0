//! Snapshots: a whole engine as one document of bytes, and back.
//!
//! ```text
//!   magic · format · length · checksum · payload
//!   payload: dictionary · static graphs · streams · queries · timelines · chains · joining · counters
//! ```
//!
//! Invariant: whatever arrives next, a restored engine produces the same bytes as the saved one. Everything that can
//! affect an order is therefore kept: ids of terms, slots of mappings, places of queries. The plan is not saved;
//! queries are planned again from their texts, and each operator then restores its own state. Indexes are rebuilt.
//! Cost: one pass over the state in each direction.

mod queries;
mod streams;
mod timelines;

use super::chain::Chain;
use super::joining::Joining;
use super::registry::QueryId;
use super::stream::Stream;
use super::timeline::Timeline;
use super::{Engine, EngineOptions, empty_dictionary};
use crate::codec::{Damaged, Decoded, Reader, Writer, checksum, ensure};
use crate::encode::Dictionary;
use crate::error::EngineError;
use crate::rare::Rare;
use crate::store::StaticGraphs;
use queries::QueryRecord;
use std::panic::catch_unwind;

const MAGIC: [u8; 8] = *b"WHORLSNP";
/// Must be increased whenever documents of the previous release become unreadable.
const FORMAT: u32 = 7;
const HEADER_BYTES: usize = 28;

impl Engine {
    /// The whole engine as bytes, from which [`Engine::restore`] creates an equal engine.
    ///
    /// ```
    /// use whorl_engine::{Engine, EngineOptions};
    ///
    /// let mut engine = Engine::new(EngineOptions::default());
    /// engine.update("INSERT DATA { <http://ex/a> <http://ex/limit> 20 }", None)?;
    /// let restored = Engine::restore(&engine.snapshot(), EngineOptions::default())?;
    /// assert_eq!(restored.stats(), engine.stats());
    /// # Ok::<(), whorl_engine::EngineError>(())
    /// ```
    #[must_use]
    pub fn snapshot(&self) -> Vec<u8> {
        let mut to = Writer::starting_with(HEADER_BYTES);
        self.dictionary.save(&mut to);
        self.graphs.save(&mut to);
        to.list(self.streams.iter(), |to, stream| stream.save(to));
        self.save_queries(&mut to);
        for timeline in self.timelines.iter().filter(|timeline| !timeline.is_unused()) {
            let view = self.view_of(timeline);
            timeline.save(self.clock_of(timeline), self.reports_of(timeline), view.as_ref(), &mut to);
        }
        to.list(self.chains.iter(), save_chain);
        self.joining.save(&mut to);
        to.u64(self.events);
        to.count(self.terms_after_sweep);
        sealed(to.into_bytes())
    }

    /// The saved engine, with these options. Restored queries keep their way of retracting results, whatever the
    /// options say.
    ///
    /// # Errors
    /// If the bytes are damaged or not a snapshot (`snapshot.damaged`), or come from another release
    /// (`snapshot.version`).
    pub fn restore(bytes: &[u8], options: EngineOptions) -> Result<Self, EngineError> {
        let payload = opened(bytes)?;
        // With a valid checksum, wrong values can only be forged. The readers find most of them; a panic catches the
        // rest.
        let restored = catch_unwind(|| Self::restore_payload(payload, options));
        restored.unwrap_or(Err(EngineError::SnapshotDamaged { reason: "its parts contradict each other" }))
    }

    fn restore_payload(payload: &[u8], options: EngineOptions) -> Result<Self, EngineError> {
        let mut from = Reader::new(payload);
        let mut engine = Self::new(options);
        let terms = from.rest();
        engine.dictionary = Dictionary::restored(empty_dictionary(&options), &mut from)?;
        engine.graphs = StaticGraphs::restored(options.thresholds.changes_kept_max, &mut from)?;
        let streams: Vec<Stream> = from.list(1, Stream::restored)?;
        for stream in streams {
            engine.add_stream(stream);
        }
        // Values computed during the restore are used by no event.
        engine.dictionary.set_epoch(0);
        let n_terms = engine.dictionary.len();
        engine.restore_queries(&mut from)?;
        if engine.dictionary.len() != n_terms {
            return Err(EngineError::SnapshotVersion { reason: "its queries have other constants".to_owned() });
        }
        engine.restore_timelines(&mut from)?;
        engine.restore_chains(&mut from)?;
        let joining = Joining::restored(&engine.timelines, &mut from)?;
        engine.joining = if options.sharing { joining } else { Joining::default() };
        engine.events = from.u64()?;
        engine.terms_after_sweep = from.number()?;
        from.end()?;
        engine.reconnect_streams();
        engine.list_waiting();
        engine.find_timelines();
        engine.settle_dictionary(n_terms, terms)?;
        Rare::Restored.note();
        Ok(engine)
    }

    /// Writes which places of the timelines are in use, then the queries in the order of their registration.
    fn save_queries(&self, to: &mut Writer) {
        to.list(self.timelines.iter(), |to, timeline| {
            let places = if timeline.is_unused() { &[] } else { timeline.queries.as_slice() };
            to.list(places.iter(), |to, query| to.bool(query.is_some()));
        });
        to.u64(self.registry.registered);
        to.list(self.registry.places.iter(), |to, (id, (timeline, place))| {
            QueryRecord::of(*id, (*timeline, *place), self.timelines[*timeline].query(*place)).save(to);
        });
    }

    fn restore_queries(&mut self, from: &mut Reader<'_>) -> Result<(), EngineError> {
        let options = self.options;
        let places: Vec<Vec<bool>> = from.list(8, |from| from.list(1, Reader::bool))?;
        self.timelines = places.iter().map(|places| Timeline::unused(places.len(), options.thresholds)).collect();
        self.registry.registered = from.u64()?;
        let records: Vec<QueryRecord> = from.list(32, QueryRecord::restored)?;
        for record in records {
            let (timeline, place) = record.place;
            let is_free = places.get(timeline).and_then(|places| places.get(place)) == Some(&true)
                && self.timelines[timeline].queries[place].is_none();
            ensure(is_free && record.id.0 <= self.registry.registered, "two queries share a place")?;
            self.registry.places.insert(record.id, record.place);
            self.reregister(record)?;
        }
        Ok(())
    }

    /// Connects streams and queries. Declarations made since the last registration stay as they were.
    fn reconnect_streams(&mut self) {
        let is_new: Vec<bool> = self.streams.iter().map(|stream| stream.interest.is_none()).collect();
        self.connect_streams();
        for (stream, is_new) in self.streams.iter_mut().zip(is_new) {
            stream.interest.take_if(|_| is_new);
        }
    }

    /// Restores the dictionary as it was saved, without the terms that restoring has computed.
    fn settle_dictionary(&mut self, n_terms: usize, saved: &[u8]) -> Decoded<()> {
        let mut from = Reader::new(saved);
        if self.dictionary.len() == n_terms {
            self.dictionary.set_epoch(from.u64()?);
        } else {
            self.dictionary = Dictionary::restored(empty_dictionary(&self.options), &mut from)?;
        }
        Ok(())
    }

    fn restore_timelines(&mut self, from: &mut Reader<'_>) -> Result<(), EngineError> {
        let Self { timelines, dictionary, .. } = self;
        let mut used = timelines.iter_mut().filter(|timeline| !timeline.is_unused());
        used.try_for_each(|timeline| timeline.restore(dictionary, from))
    }

    fn restore_chains(&mut self, from: &mut Reader<'_>) -> Decoded<()> {
        for _ in 0..from.count(16)? {
            let (query, stream) = (QueryId(from.u64()?), from.number()?);
            let place = self.registry.places.get(&query).copied();
            let (timeline, place) =
                place.ok_or(Damaged { what: "a stream is written by a query that does not exist" })?;
            ensure(stream < self.streams.len(), "a query writes a stream that does not exist")?;
            self.timelines[timeline].query_mut(place).writes();
            self.chains.push(Chain { query, timeline, place, stream });
        }
        Ok(())
    }
}

fn save_chain(to: &mut Writer, chain: &Chain) {
    to.u64(chain.query.0);
    to.count(chain.stream);
}

/// Writes the header into the space reserved for it.
fn sealed(mut document: Vec<u8>) -> Vec<u8> {
    let payload = &document[HEADER_BYTES..];
    let (length, sum) = (payload.len() as u64, checksum(payload));
    document[..8].copy_from_slice(&MAGIC);
    document[8..12].copy_from_slice(&FORMAT.to_le_bytes());
    document[12..20].copy_from_slice(&length.to_le_bytes());
    document[20..28].copy_from_slice(&sum.to_le_bytes());
    document
}

/// The payload of an intact document.
fn opened(document: &[u8]) -> Result<&[u8], EngineError> {
    let (header, payload) = document.split_at_checked(HEADER_BYTES).ok_or(Damaged { what: "it ends too early" })?;
    let mut header = Reader::new(header);
    ensure(header.u64()?.to_le_bytes() == MAGIC, "it does not start like a snapshot")?;
    let format = header.u32()?;
    if format != FORMAT {
        let reason = format!("its format is {format}, and this release reads {FORMAT}");
        return Err(EngineError::SnapshotVersion { reason });
    }
    ensure(header.u64()? == payload.len() as u64, "its length is not the stated one")?;
    ensure(header.u64()? == checksum(payload), "its checksum is wrong")?;
    Ok(payload)
}
