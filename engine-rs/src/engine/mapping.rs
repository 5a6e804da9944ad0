//! Row mappings of streams: how columns become triples.

use super::Engine;
use super::stream::StreamMapping;
use crate::error::EngineError;
use crate::intake::{RowMapper, RowMapping};

impl Engine {
    /// Sets or removes the mapping of a stream; the text is checked at once.
    ///
    /// # Errors
    /// If the stream is not known, or the text is not a valid mapping.
    pub fn set_mapping(&mut self, stream: &str, text: Option<&str>, time_column: &str) -> Result<(), EngineError> {
        let stream = self.writable_stream(stream)?;
        let mapping = text.map(RowMapping::parse).transpose()?;
        let time_column = time_column.to_owned();
        self.streams[stream].mapping = mapping.map(|mapping| StreamMapping { mapping, time_column });
        Ok(())
    }

    /// The text of a stream's mapping and the name of the column with the times.
    ///
    /// # Errors
    /// When the stream is not known.
    pub fn mapping(&self, stream: &str) -> Result<Option<(&str, &str)>, EngineError> {
        let stream = self.known_stream(stream)?;
        let mapping = self.streams[stream].mapping.as_ref();
        Ok(mapping.map(|found| (found.mapping.text(), found.time_column.as_str())))
    }

    /// Compiles a stream's mapping for rows.
    ///
    /// # Errors
    /// If the stream is not known.
    pub fn row_mapper(&self, stream: &str) -> Result<Option<(RowMapping, RowMapper)>, EngineError> {
        let stream = self.known_stream(stream)?;
        let Some(found) = &self.streams[stream].mapping else { return Ok(None) };
        let mapper = RowMapper::new(&found.mapping)?.with_salt(self.events);
        Ok(Some((found.mapping.clone(), mapper)))
    }
}
