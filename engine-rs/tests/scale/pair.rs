//! One engine and the same query partitioned, side by side.

use std::sync::Arc;

use whorl_engine::rdf::{Literal, Term, Triple};
use whorl_engine::{
    Answered, Engine, EngineOptions, EventBatch, MergeEngine, ParseOptions, PartitionEngine, QueryId, QueryResult,
    RdfFormat, Reported, ReportedRow, Rows, ScaledQuery, Span, StreamOptions, Timestamp,
};

use crate::streams::{Event, Random, STREAMS, batches};

pub(crate) const STATIC: &str = "@prefix : <http://ex/> . :k0 :room :r0 . :k1 :room :r0 . :k2 :room :r1 . :k3 :room :r1 . :r0 :level 1 . :r1 :level 2 .";

pub(crate) fn stream_options(lateness: i64) -> StreamOptions {
    StreamOptions { lateness: (lateness > 0).then(|| Span::from_millis(lateness)), ..StreamOptions::default() }
}

/// How far the second stream may lag behind the first one.
pub(crate) fn with_timeout(options: StreamOptions, iri: &str, timeout: Option<i64>) -> StreamOptions {
    let idle_timeout = timeout.filter(|_| iri == STREAMS[1]).map(Span::from_millis);
    StreamOptions { idle_timeout, ..options }
}

pub(crate) fn cells(rows: &Rows, sign: i8, engine: &Engine) -> Vec<ReportedRow> {
    let cell = |id: &whorl_engine::TermId| id.is_bound().then(|| engine.dictionary().term(*id).to_string());
    rows.iter().map(|row| ReportedRow { sign, cells: row.iter().map(cell).collect() }).collect()
}

pub(crate) fn said(result: &QueryResult, engine: &Engine) -> Reported {
    let rows = match &result.answer {
        Answered::Bindings { inserted, deleted } | Answered::Graph { inserted, deleted } => {
            let mut rows = cells(inserted, 1, engine);
            rows.extend(cells(deleted, -1, engine));
            rows
        }
        Answered::Boolean(value) => {
            let cell = Term::from(Literal::from(*value)).to_string();
            vec![ReportedRow { sign: 1, cells: vec![Some(cell)] }]
        }
    };
    Reported { seq: result.seq, at: result.at, windows: result.windows.to_vec(), rows }
}

/// One engine that receives each batch sorted by time.
pub(crate) struct Embedded {
    pub(crate) engine: Engine,
    pub(crate) query: QueryId,
    pub(crate) timeout: Option<i64>,
}

impl Embedded {
    pub(crate) fn new(
        text: &str,
        options: &ParseOptions,
        streams: &[String],
        lateness: i64,
        timeout: Option<i64>,
    ) -> Self {
        let mut engine = Engine::new(EngineOptions::default());
        for stream in streams {
            engine.declare_stream(stream, stream_options(lateness)).expect("a stream");
        }
        engine.load(None, STATIC.as_bytes(), RdfFormat::Turtle).expect("static data");
        let query = engine.register(text, options).expect(text);
        Self { engine, query, timeout: timeout.filter(|_| streams.len() == 2) }
    }

    pub(crate) fn take(&mut self, batch: &[(usize, &Event)]) {
        let mut sorted = batch.to_vec();
        if self.timeout.is_some() && batch.iter().any(|(_, event)| event.stream == 1) {
            self.engine.mark_active(STREAMS[1]).expect("a stream");
        }
        sorted.sort_by_key(|(number, event)| (event.at, *number));
        for (_, event) in sorted {
            let at = Timestamp::from_millis(event.at);
            self.engine.push_triples(STREAMS[event.stream], at, &event.triples).expect("an event");
        }
        // The second stream is idle when a batch leaves it too far behind.
        if let Some(timeout) = self.timeout {
            let [first, second] = STREAMS.map(|stream| self.engine.watermark(stream).expect("a stream"));
            let millis = |at: Option<Timestamp>| at.map_or(i64::MIN / 2, Timestamp::as_millis);
            if first.is_some() && millis(second) < millis(first) - timeout {
                self.engine.mark_idle(STREAMS[1]).expect("a stream");
            }
        }
    }

    pub(crate) fn drain(&mut self) -> Vec<Reported> {
        let results = self.engine.drain(self.query).expect("answers");
        results.iter().map(|result| said(result, &self.engine)).collect()
    }
}

/// The same query in partitions.
pub(crate) struct Spread {
    pub(crate) query: Arc<ScaledQuery>,
    pub(crate) partitions: Vec<PartitionEngine>,
    pub(crate) merge: MergeEngine,
}

impl Spread {
    pub(crate) fn new(query: ScaledQuery) -> Self {
        let query = Arc::new(query);
        let graphs = [(None, STATIC.as_bytes(), RdfFormat::Turtle)];
        let partition = |number| PartitionEngine::new(query.clone(), number, &graphs).expect("a partition");
        let partitions = (0..query.partitions()).map(partition).collect();
        Self { merge: MergeEngine::new(query.clone()).expect("a merge"), query, partitions }
    }

    /// Routes runs of events of one stream, as tasks would, and shuffles the chunks.
    pub(crate) fn take(&mut self, batch: &[(usize, &Event)], random: &mut Random) {
        let mut chunks: Vec<Vec<Vec<u8>>> = self.partitions.iter().map(|_| Vec::new()).collect();
        let mut rest = batch;
        while let Some((first, event)) = rest.first() {
            let same = rest.iter().take_while(|(_, other)| other.stream == event.stream).count();
            let (run, after) = rest.split_at(1 + random.below(same as u64) as usize);
            rest = after;
            let routed = self.query.route(STREAMS[event.stream], &event_batch(run), *first as u64).expect("chunks");
            assert_eq!(routed.len(), chunks.len(), "one chunk per partition");
            routed.into_iter().zip(&mut chunks).for_each(|(chunk, of)| of.push(chunk));
        }
        for (partition, chunks) in self.partitions.iter_mut().zip(&mut chunks) {
            for i in (1..chunks.len()).rev() {
                chunks.swap(i, random.below(1 + i as u64) as usize);
            }
            partition.absorb(chunks).expect("a batch");
        }
    }

    pub(crate) fn drain(&mut self) -> Vec<Reported> {
        let partials = self.partitions.iter_mut().map(|partition| partition.drain().expect("partial answers"));
        let partials = partials.collect();
        self.merge.merge(partials).expect("answers")
    }

    pub(crate) fn restart(&mut self, random: &mut Random) {
        for (number, partition) in self.partitions.iter_mut().enumerate() {
            if random.chance(4) {
                let snapshot = partition.snapshot();
                *partition =
                    PartitionEngine::restore(self.query.clone(), number as u32, &snapshot).expect("the partition");
                assert_eq!(partition.snapshot(), snapshot);
            }
        }
        if random.chance(4) {
            let snapshot = self.merge.snapshot();
            self.merge = MergeEngine::restore(self.query.clone(), &snapshot).expect("the merge");
            assert_eq!(self.merge.snapshot(), snapshot);
        }
    }
}

pub(crate) fn event_batch(run: &[(usize, &Event)]) -> EventBatch {
    let mut batch = EventBatch::new();
    for (index, (_, event)) in run.iter().enumerate() {
        batch.begin(Some(Timestamp::from_millis(event.at)), index as u64);
        for Triple { subject, predicate, object } in &event.triples {
            let ids = [subject.clone().into(), predicate.clone().into(), object.clone()].map(|term| batch.term(&term));
            batch.push(ids);
        }
    }
    batch
}

pub(crate) fn scaled(text: &str, options: &ParseOptions, partitions: u32, lateness: i64) -> ScaledQuery {
    scaled_within(text, options, partitions, lateness, None)
}

pub(crate) fn scaled_within(
    text: &str,
    options: &ParseOptions,
    partitions: u32,
    lateness: i64,
    timeout: Option<i64>,
) -> ScaledQuery {
    let streams = streams_in(text);
    let settings = |iri: &String| (iri.clone(), with_timeout(stream_options(lateness), iri, timeout));
    let streams: Vec<_> = streams.iter().map(settings).collect();
    ScaledQuery::new(text, options.clone(), partitions, &streams).expect(text)
}

pub(crate) fn streams_in(text: &str) -> Vec<String> {
    let names = [(":s [", STREAMS[0]), (":t [", STREAMS[1])];
    names.iter().filter(|(mark, _)| text.contains(mark)).map(|(_, iri)| (*iri).to_owned()).collect()
}

/// Runs a query both ways on several streams; returns the number of rows.
pub(crate) fn compare(text: &str, options: &ParseOptions, partitions: u32, seed: u64) -> usize {
    let mut random = Random(seed);
    let lateness = [0, 0, 400, 1_500][random.below(4) as usize];
    let timeout = [None, Some(0), Some(500), Some(3_000)][random.below(4) as usize];
    let read = streams_in(text);
    let mut embedded = Embedded::new(text, options, &read, lateness, timeout);
    let mut spread = Spread::new(scaled_within(text, options, partitions, lateness, timeout));
    let (mut number, mut n_rows) = (0, 0);
    let check = |embedded: &mut Embedded, spread: &mut Spread| {
        let (expected, found) = (embedded.drain(), spread.drain());
        assert_eq!(found, expected, "{partitions} partitions, seed {seed}: {text}");
        found.iter().map(|reported| reported.rows.len()).sum::<usize>()
    };
    for batch in batches(&mut random, lateness) {
        let events = batch.iter().filter(|event| read.iter().any(|iri| iri == STREAMS[event.stream]));
        let numbered: Vec<(usize, &Event)> = events.enumerate().map(|(at, event)| (number + at, event)).collect();
        number += numbered.len();
        embedded.take(&numbered);
        spread.take(&numbered, &mut random);
        n_rows += check(&mut embedded, &mut spread);
        spread.restart(&mut random);
    }
    embedded.engine.close();
    spread.partitions.iter_mut().for_each(PartitionEngine::close);
    n_rows += check(&mut embedded, &mut spread);
    // Terms of results that have been drained are freed by the next sweep.
    spread.partitions.iter_mut().for_each(PartitionEngine::close);
    let left: usize = spread.partitions.iter().map(PartitionEngine::state_size).sum();
    // The one row of an ungrouped aggregate always exists; with partitions it is in the merge.
    assert!(
        left == 0 || spread.query.partitions() == 1,
        "{left} left: nothing is left in {partitions} partitions, seed {seed}: {text}"
    );
    n_rows
}
