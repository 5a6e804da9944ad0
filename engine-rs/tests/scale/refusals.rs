//! What partitions refuse: states and chunks of other queries, and data that cannot be distributed.

use std::sync::Arc;

use whorl_engine::rdf::Triple;
use whorl_engine::{
    BodyFormat, EventBatch, MergeEngine, ParseOptions, PartitionEngine, RdfFormat, ScaledQuery, StreamOptions,
    Timestamp,
};

use crate::pair::{event_batch, scaled};
use crate::queries::{PREFIX, QUERIES, query_text};
use crate::streams::{Event, Random, STREAMS, iri, triple};

fn star() -> String {
    query_text(&QUERIES[0], "RSTREAM")
}

/// Chunks of one event per key, and the partitions that received them.
fn filled(query: &Arc<ScaledQuery>) -> (Vec<Vec<u8>>, Vec<PartitionEngine>) {
    let mut random = Random(7);
    let triples: Vec<Triple> = (0..40).map(|_| triple(&mut random, 0)).collect();
    let events: Vec<Event> =
        triples.iter().map(|triple| Event { stream: 0, at: 5_000, triples: vec![triple.clone()] }).collect();
    let numbered: Vec<(usize, &Event)> = events.iter().enumerate().collect();
    let chunks = query.route(STREAMS[0], &event_batch(&numbered), 0).expect("chunks");
    let partition = |(number, chunk): (usize, &Vec<u8>)| {
        let mut partition = PartitionEngine::new(query.clone(), number as u32, &[]).expect("a partition");
        partition.absorb(&[chunk]).expect("a batch");
        partition
    };
    let partitions = chunks.iter().enumerate().map(partition).collect();
    (chunks, partitions)
}

#[test]
fn a_snapshot_of_something_else_is_refused() {
    let query = Arc::new(scaled(&star(), &ParseOptions::default(), 2, 0));
    let others = [
        scaled(&star(), &ParseOptions::default(), 3, 0),
        scaled(&star(), &ParseOptions::default(), 2, 500),
        scaled(&query_text(&QUERIES[1], "RSTREAM"), &ParseOptions::default(), 2, 0),
    ];
    let (_, partitions) = filled(&query);
    let snapshot = partitions[0].snapshot();
    let code = |query: &Arc<ScaledQuery>, number: u32, bytes: &[u8]| {
        PartitionEngine::restore(query.clone(), number, bytes).err().map(|error| error.code())
    };
    assert_eq!(code(&query, 0, &snapshot), None);
    assert_eq!(code(&query, 1, &snapshot), Some("snapshot.query"));
    for other in others {
        assert_ne!(other.fingerprint(), query.fingerprint());
        assert_eq!(code(&Arc::new(other), 0, &snapshot), Some("snapshot.query"));
    }
    assert!(MergeEngine::restore(query.clone(), &snapshot).is_err_and(|error| error.code() == "snapshot.query"));
    assert_eq!(code(&query, 0, &snapshot[..snapshot.len() - 1]), Some("snapshot.damaged"));
    let mut damaged = snapshot.clone();
    damaged[snapshot.len() - 9] ^= 4;
    assert_eq!(code(&query, 0, &damaged), Some("snapshot.damaged"));
    let mut newer = snapshot;
    newer[8] += 1;
    assert_eq!(code(&query, 0, &newer), Some("snapshot.version"));
}

#[test]
fn a_damaged_chunk_takes_nothing_and_no_other_partition_takes_a_chunk() {
    let query = Arc::new(scaled(&star(), &ParseOptions::default(), 2, 0));
    let (chunks, mut partitions) = filled(&query);
    let before = partitions[0].snapshot();
    let mut refused = |chunk: &[u8]| partitions[0].absorb(&[chunk]).err().map(|error| error.code());
    for at in 0..chunks[0].len() {
        let mut damaged = chunks[0].clone();
        damaged[at] ^= 1 << (at % 8);
        assert_eq!(refused(&damaged), Some("chunk.damaged"));
        assert_eq!(refused(&chunks[0][..at]), Some("chunk.damaged"));
    }
    assert_eq!(refused(&chunks[1]), Some("chunk.other"));
    let other = scaled(&star(), &ParseOptions::default(), 2, 1);
    let theirs = other.route(STREAMS[0], &EventBatch::new(), 0).expect("chunks");
    assert_eq!(refused(&theirs[0]), Some("chunk.other"));
    assert_eq!(partitions[0].snapshot(), before);
}

#[test]
fn a_blank_node_is_routed_by_the_value_of_its_variable_alone() {
    let options = ParseOptions::default();
    let body = |text: &str| format!("@prefix : <http://ex/> . {text}").into_bytes();
    let routed = |query: &ScaledQuery, text: &str| {
        let at = Some(Timestamp::from_millis(5));
        let batch = query.read_body(&body(text), RdfFormat::Turtle.into(), at).expect("a body");
        query.route(STREAMS[0], &batch, 0).err().map(|error| error.code())
    };
    let star = scaled(&star(), &options, 4, 0);
    assert_eq!(routed(&star, "_:b :temp 5 ; :in :r1 ."), None);
    assert_eq!(routed(&star, ":k0 :in _:b ."), Some("scale.blank_node"));
    assert_eq!(routed(&star, ":k0 :unread _:b ."), None, "nobody reads it");
    let chain = scaled(&query_text(&QUERIES[22], "RSTREAM"), &options, 4, 0);
    assert_eq!(routed(&chain, "_:b :near :k1 ."), Some("scale.blank_node"));
    let one = scaled(&query_text(&QUERIES[22], "RSTREAM"), &options, 1, 0);
    assert_eq!(routed(&one, "_:b :near _:c ."), None);
}

#[test]
fn what_chunks_cannot_carry_is_refused() {
    let refused = |text: &str| {
        let text = format!("{PREFIX}{text}");
        ScaledQuery::new(&text, ParseOptions::default(), 2, &[]).err().map(|error| error.code())
    };
    let graphs = "SELECT * FROM NAMED WINDOW :w ON :s [RANGE 2s] WHERE { WINDOW :w { GRAPH ?g { ?s :p ?o } } }";
    assert_eq!(refused(graphs), Some("scale.unsupported"));
    let made =
        "CONSTRUCT { GRAPH ?s { ?s :p ?o } } FROM NAMED WINDOW :w ON :s [RANGE 2s] WHERE { WINDOW :w { ?s :p ?o } }";
    assert_eq!(refused(made), Some("scale.unsupported"));
    assert!(refused("SELECT * FROM NAMED WINDOW :w ON :s [RANGE 2s] WHERE { WINDOW :w { ?s :p } }").is_some());
    let text = star();
    let unknown = [("http://ex/other".to_owned(), StreamOptions::default())];
    let error = ScaledQuery::new(&text, ParseOptions::default(), 2, &unknown).expect_err("refused");
    assert_eq!(error.code(), "stream.unknown");
    assert!(ScaledQuery::new(&text, ParseOptions::default(), 0, &[]).is_err());
    let query = scaled(&text, &ParseOptions::default(), 2, 0);
    assert_eq!(query.route("http://ex/other", &EventBatch::new(), 0).expect_err("refused").code(), "stream.unknown");
    let mut timeless = EventBatch::new();
    timeless.begin(None, 0);
    assert_eq!(query.route(STREAMS[0], &timeless, 0).expect_err("refused").code(), "timestamp.missing");
    let line = br#"{"watermark": 5}"#;
    let read = query.read_body(line, BodyFormat::NdJson, None);
    assert!(read.is_err());
}

#[test]
fn the_time_may_be_in_a_triple_that_nobody_else_reads() {
    let predicate = Some(iri("time"));
    let settings = StreamOptions { timestamp_predicate: predicate, ..StreamOptions::default() };
    let streams = [(STREAMS[0].to_owned(), settings)];
    let query = Arc::new(ScaledQuery::new(&star(), ParseOptions::default(), 2, &streams).expect("a query"));
    let body = b"<http://ex/k1> <http://ex/temp> 5 ; <http://ex/in> <http://ex/r1> ; <http://ex/time> 1500 .";
    let batch = query.read_body(body, RdfFormat::Turtle.into(), None).expect("a body");
    let mut rows = 0;
    for (number, chunk) in query.route(STREAMS[0], &batch, 0).expect("chunks").into_iter().enumerate() {
        let mut partition = PartitionEngine::new(query.clone(), number as u32, &[]).expect("a partition");
        partition.absorb(&[chunk]).expect("a batch");
        assert_eq!(partition.watermarks().next(), Some((STREAMS[0], Some(Timestamp::from_millis(1_500)))));
        partition.close();
        rows += partition.drain().expect("answers").iter().map(|answer| answer.rows.len()).sum::<usize>();
    }
    assert_eq!(rows, 2, "in the windows that end at two and at three seconds");
}
