//! Checks a body before the first of its events is applied: times, watermarks, and the order of both.
//!
//! Input: the items of a body. Output: those to apply, and the time of each event in each reading of its stream. Nothing
//! in the engine changes meanwhile: the check advances a copy of the stream's clock, so that later items are compared with
//! earlier ones.

use super::Engine;
use super::ingest::IngestReport;
use super::push::{Body, EventTime, Target};
use super::stream::Stream;
use crate::error::EngineError;
use crate::intake::{AssumedZone, Content, EventBatch, Intake, Item, PushOptions, Refused, time_of};
use crate::time::{Span, Timestamp};
use oxrdf::NamedNode;

/// The outcome of checking one part of a body.
enum Verdict {
    Take,
    Ahead,
    Skip,
}

/// The clock of a stream while a body advances it.
struct Clock {
    watermark: Timestamp,
    lateness: Span,
}

impl Clock {
    fn of(stream: &Stream) -> Self {
        Self { watermark: stream.watermark(), lateness: stream.options.lateness.unwrap_or(Span::ZERO) }
    }

    fn see(&mut self, at: Timestamp) {
        self.watermark = self.watermark.max(at - self.lateness);
    }
}

/// The state of checking a body. Nothing in the engine changes meanwhile.
struct Checking<'a> {
    clock: Clock,
    times: &'a mut Vec<EventTime>,
}

impl Engine {
    /// Removes the items that must not be applied, and records the time of each event in each reading of the stream.
    pub(super) fn check(
        &self,
        target: Target<'_>,
        intake: &mut Intake<'_>,
        batch: Option<&EventBatch>,
        options: &PushOptions,
        times: &mut Vec<EventTime>,
    ) -> Result<IngestReport, EngineError> {
        let mut report = IngestReport { refused: std::mem::take(&mut intake.refused), ..IngestReport::default() };
        report.events = report.refused.iter().filter(|refused| refused.index.is_some()).count() as u64;
        let mut checking = Checking { clock: Clock::of(&self.streams[target.stream]), times };
        let mut items = std::mem::take(&mut intake.buffers.items);
        let mut fault = None;
        items.retain_mut(|item| {
            if fault.is_some() {
                return false;
            }
            let n_times = checking.times.len();
            report.events += u64::from(matches!(item.content, Content::Event(_) | Content::Encoded(_)));
            let body = batch.map_or(Body::Text(intake), Body::Batch);
            match self.check_item(target, item, body, options, &mut checking) {
                Ok(Verdict::Take) => return true,
                Ok(Verdict::Ahead) => report.ahead += 1,
                Ok(Verdict::Skip) => {}
                Err(error) => {
                    checking.times.truncate(n_times);
                    let error = error.in_body(Some(item.index), item.position);
                    if options.atomic {
                        fault = Some(error);
                    } else {
                        report.refused.push(Refused { index: Some(item.index), error });
                    }
                }
            }
            false
        });
        intake.buffers.items = items;
        report.refused.sort_by_key(|refused| (refused.index, refused.error.position()));
        fault.map_or(Ok(report), Err)
    }

    fn check_item(
        &self,
        target: Target<'_>,
        item: &mut Item,
        body: Body<'_>,
        options: &PushOptions,
        checking: &mut Checking<'_>,
    ) -> Result<Verdict, EngineError> {
        let (Target { stream, readings }, Checking { clock, times }) = (target, checking);
        let is_ahead = |at: Timestamp| options.latest.is_some_and(|latest| at > latest);
        match &mut item.content {
            Content::End => clock.watermark = Timestamp::MAX,
            Content::Watermark(at) => {
                self.check_watermark(stream, *at, clock)?;
                // No event before `at` will arrive, so none before `latest` will either.
                *at = options.latest.map_or(*at, |latest| latest.min(*at));
                if *at <= clock.watermark {
                    return Ok(Verdict::Skip);
                }
                clock.watermark = *at;
            }
            event => {
                let predicate = self.streams[stream].options.timestamp_predicate.as_ref();
                let at = own_time(event, body, predicate, options.zone.as_ref())?;
                if is_ahead(at) {
                    return Ok(Verdict::Ahead);
                }
                times.extend(
                    readings.iter().map(|reading| self.time_under(*reading, event, at, body, options.zone.as_ref())),
                );
                clock.see(at);
            }
        }
        Ok(Verdict::Take)
    }

    fn check_watermark(&self, stream: usize, at: Timestamp, clock: &Clock) -> Result<(), EngineError> {
        if at >= clock.watermark {
            return Ok(());
        }
        let stream = self.streams[stream].iri.as_str().to_owned();
        Err(EngineError::WatermarkRegression { stream, watermark: clock.watermark, at })
    }
}

/// The time of an event: its own, or the one it states under the stream's predicate.
pub(super) fn own_time(
    event: &Content,
    body: Body<'_>,
    predicate: Option<&NamedNode>,
    zone: Option<&AssumedZone>,
) -> Result<Timestamp, EngineError> {
    let given = match event {
        Content::Event(event) => event.at,
        Content::Encoded(event) => event.at,
        Content::Watermark(_) | Content::End => None,
    };
    let time = match (given, predicate) {
        (None, Some(predicate)) => event_time(event, body, predicate, zone)?,
        (at, _) => at,
    };
    time.ok_or(EngineError::TimestampMissing).and_then(instant)
}

/// Whether events may have this time: the smallest and the largest value mean before and after all events.
pub(super) fn instant(at: Timestamp) -> Result<Timestamp, EngineError> {
    match at {
        Timestamp::MIN | Timestamp::MAX => Err(EngineError::BadTimestamp { value: at.to_string() }),
        at => Ok(at),
    }
}

/// The time that an event states under a predicate.
pub(super) fn event_time(
    event: &Content,
    body: Body<'_>,
    predicate: &NamedNode,
    zone: Option<&AssumedZone>,
) -> Result<Option<Timestamp>, EngineError> {
    match (event, body) {
        (Content::Event(event), Body::Text(intake)) => intake.time_under(event, predicate.as_str(), zone),
        (Content::Encoded(event), Body::Batch(batch)) => {
            let predicate = batch.dictionary().lookup(predicate.as_ref().into());
            let timed = batch.triples_of(event).iter().find(|triple| Some(triple[1]) == predicate);
            timed.map(|triple| time_of(batch.dictionary().term(triple[2]).as_ref(), zone)).transpose()
        }
        _ => Ok(None),
    }
}
