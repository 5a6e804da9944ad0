//! Requests that a server makes between two batches: inexpensive queries, and removing streams.

use super::Engine;
use super::stream::Stream;
use crate::error::EngineError;
use crate::time::Timestamp;

impl Engine {
    /// The watermark of a stream; `None` before its first event.
    ///
    /// # Errors
    /// When the stream is not known.
    pub fn watermark(&self, stream: &str) -> Result<Option<Timestamp>, EngineError> {
        let watermark = self.streams[self.known_stream(stream)?].watermark();
        Ok((watermark != Timestamp::MIN).then_some(watermark))
    }

    /// Removes a stream that no query reads or writes, with its state and its settings.
    ///
    /// # Errors
    /// When the stream is not known, or in use.
    pub fn drop_stream(&mut self, stream: &str) -> Result<(), EngineError> {
        let number = self.writable_stream(stream)?;
        let readings: Vec<_> = self.readings_of(number).collect();
        if readings.iter().any(|reading| !self.streams[*reading].readers.is_empty()) {
            return Err(EngineError::StreamInUse { stream: stream.to_owned() });
        }
        // Streams keep their numbers, because timelines and chains refer to them by number.
        for reading in readings {
            let Stream { iri, by_predicate, .. } = &self.streams[reading];
            self.streams[reading] = Stream::new(iri.clone(), by_predicate.clone(), Default::default());
        }
        self.sweep();
        Ok(())
    }
}
