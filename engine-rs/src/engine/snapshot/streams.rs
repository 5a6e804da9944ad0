//! A stream in a snapshot: its settings, its clock, its waiting events. Its readers follow from the queries.

use super::super::interest::Interest;
use super::super::stream::{Stream, StreamCounts, StreamMapping, StreamOptions};
use crate::codec::{Damaged, Decoded, Reader, Writer};
use crate::intake::RowMapping;
use crate::time::Timestamp;
use crate::window::Element;

impl Stream {
    pub(super) fn save(&self, to: &mut Writer) {
        to.text(self.iri.as_str());
        to.option(self.by_predicate.as_ref(), |to, predicate| to.text(predicate.as_str()));
        to.option(self.options.lateness, Writer::span);
        to.option(self.options.idle_timeout, Writer::span);
        to.option(self.options.timestamp_predicate.as_ref(), |to, predicate| to.text(predicate.as_str()));
        to.at(self.greatest);
        to.at(self.watermark);
        to.bool(self.idle);
        to.list(self.waiting.values(), |to, element| element.save(to));
        let StreamCounts { events, triples, late, unreadable } = self.counts;
        [events, triples, late, unreadable].into_iter().for_each(|count| to.u64(count));
        to.bool(self.interest.is_some());
        to.option(self.mapping.as_ref(), |to, found| {
            to.text(found.mapping.text());
            to.text(&found.time_column);
        });
    }

    pub(super) fn restored(from: &mut Reader<'_>) -> Decoded<Self> {
        let (iri, by_predicate) = (from.iri()?, from.option(Reader::iri)?);
        let options = StreamOptions {
            lateness: from.option(Reader::span)?,
            idle_timeout: from.option(Reader::span)?,
            timestamp_predicate: from.option(Reader::iri)?,
        };
        let mut stream = Self::new(iri, by_predicate, options);
        (stream.greatest, stream.watermark, stream.idle) = (from.at()?, from.at()?, from.bool()?);
        let keyed = |element: Element| -> ((Timestamp, u64), Element) { ((element.at, element.seq), element) };
        stream.waiting = from.list(32, |from| Element::restored(from).map(keyed))?;
        let mut count = || from.u64();
        stream.counts = StreamCounts { events: count()?, triples: count()?, late: count()?, unreadable: count()? };
        stream.interest = from.bool()?.then(Interest::default);
        stream.mapping = from.option(restored_mapping)?;
        Ok(stream)
    }
}

/// A row mapping is parsed again from its text.
fn restored_mapping(from: &mut Reader<'_>) -> Decoded<StreamMapping> {
    let mapping = RowMapping::parse(&from.text()?);
    let mapping = mapping.map_err(|_| Damaged { what: "a row mapping cannot be read" })?;
    Ok(StreamMapping { mapping, time_column: from.text()? })
}
