//! One input of libFuzzer → one parser of the engine. `WHORL_FUZZ_TARGET` names the parser.
//!
//! Whatever comes in must be accepted or refused: a panic ends the process, and libFuzzer keeps the input. The targets
//! are those of `tests/faults/fuzz/fuzzer.py`, with the same names, so that both share one corpus.

#![no_main]

#[cfg(feature = "arrow")]
#[path = "../../python/src/columns.rs"]
mod columns;
#[cfg(feature = "arrow")]
#[path = "../../python/src/events.rs"]
mod events;
#[cfg(feature = "arrow")]
#[path = "../../python/src/ipc.rs"]
mod ipc;
#[cfg(feature = "arrow")]
#[path = "../../python/src/lz4.rs"]
mod lz4;

#[cfg(feature = "arrow")]
use events::{RowReader, TripleReader, has_triples};
use libfuzzer_sys::fuzz_target;
use std::sync::OnceLock;
use whorl_engine::{
    BodyFormat, Engine, EngineError, EngineOptions, Limits, ParseOptions, PushOptions, RdfFormat, StreamOptions,
    Timestamp,
};

const STREAM: &str = "http://ex.org/s";
const DATA: &[u8] = b"<urn:a> <urn:p> 1 ; <urn:q> <urn:b> . <urn:b> <urn:p> 2.5 .";
const QUERY: &str = "SELECT ?s (COUNT(?o) AS ?n) FROM NAMED WINDOW <urn:w> ON <http://ex.org/s> [RANGE 10s STEP 1s] \
    WHERE { WINDOW <urn:w> { ?s <urn:p> ?o . OPTIONAL { ?s <urn:q> ?x } } } GROUP BY ?s";

type Target = fn(&[u8]) -> Result<(), EngineError>;

fuzz_target!(|data: &[u8]| {
    static TARGET: OnceLock<Target> = OnceLock::new();
    let target = TARGET.get_or_init(target);
    // A refusal is as good as an acceptance; a panic that arrives here is a fault.
    if let Err(panic) = std::panic::catch_unwind(|| drop(target(data))) {
        let said =
            panic.downcast_ref::<String>().cloned().or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
        eprintln!("panicked: {}", said.unwrap_or_default());
        std::process::abort();
    }
});

fn target() -> Target {
    // Panics that are caught where they are expected are no faults; one that leaves the target ends the process.
    std::panic::set_hook(Box::new(|_| {}));
    let name = std::env::var("WHORL_FUZZ_TARGET").unwrap_or_default();
    match name.as_str() {
        "query" => query,
        "update" => |data| engine()?.update(&text(data), None).map(drop),
        "mapping" => |data| {
            let mut engine = engine()?;
            engine.set_mapping(STREAM, Some(&text(data)), "t")?;
            engine.row_mapper(STREAM).map(drop)
        },
        "turtle" => |data| push(data, RdfFormat::Turtle.into()),
        "ntriples" => |data| push(data, RdfFormat::NTriples.into()),
        "nquads" => |data| push(data, RdfFormat::NQuads.into()),
        "trig" => |data| push(data, RdfFormat::TriG.into()),
        "jsonld" => |data| push(data, RdfFormat::JsonLd.into()),
        "ndjson" => |data| push(data, BodyFormat::NdJson),
        #[cfg(feature = "arrow")]
        "arrow" => arrow,
        "sealed" => sealed,
        other => panic!("WHORL_FUZZ_TARGET={other} names no target"),
    }
}

fn options() -> EngineOptions {
    EngineOptions { limits: Limits::guarded(), ..EngineOptions::default() }
}

fn engine() -> Result<Engine, EngineError> {
    let mut engine = Engine::new(options());
    engine.declare_stream(STREAM, StreamOptions::default())?;
    Ok(engine)
}

fn text(data: &[u8]) -> String {
    String::from_utf8_lossy(data).into_owned()
}

/// A query is registered, sees some data, and goes through a snapshot.
fn query(data: &[u8]) -> Result<(), EngineError> {
    let mut engine = engine()?;
    engine.register(&text(data), &ParseOptions::default())?;
    engine.push_body(
        STREAM,
        Some(Timestamp::from_millis(1)),
        DATA,
        RdfFormat::Turtle.into(),
        &PushOptions::default(),
    )?;
    engine.advance_to(Timestamp::from_millis(20_000))?;
    Engine::restore(&engine.snapshot(), options()).map(drop)
}

/// A body is pushed beside a query, and put as a graph; so that every term is encoded, decoded and written again.
fn push(data: &[u8], format: BodyFormat) -> Result<(), EngineError> {
    let mut engine = engine()?;
    engine.register(QUERY, &ParseOptions::default())?;
    if let BodyFormat::Rdf(format) = format
        && engine.replace_graph(None, data, format).is_ok()
    {
        let written = engine.graph_text(None, RdfFormat::NTriples)?;
        engine.load(None, &written, RdfFormat::NTriples)?;
    }
    let at = (format != BodyFormat::NdJson).then(|| Timestamp::from_millis(1));
    engine.push_body(STREAM, at, data, format, &PushOptions::default())?;
    engine.advance_to(Timestamp::from_millis(20_000))
}

#[cfg(feature = "arrow")]
fn arrow(data: &[u8]) -> Result<(), EngineError> {
    let mut engine = engine()?;
    let mut triples = TripleReader::new(None, None);
    ipc::each_batch(data, |batch| if has_triples(batch.schema_ref()) { triples.add(batch) } else { Ok(()) })?;
    let batch = triples.finish();
    engine.push_batch(STREAM, &batch, 0..batch.len(), &PushOptions::default())?;
    engine.set_mapping(STREAM, Some("CONSTRUCT { ?s <urn:p> ?o } WHERE {}"), "t")?;
    if let Some((mapping, mapper)) = engine.row_mapper(STREAM)? {
        let mut rows = RowReader::new(mapping, mapper, "t".to_owned(), None);
        ipc::each_batch(data, |batch| rows.add(batch))?;
        let batch = rows.finish();
        engine.push_batch(STREAM, &batch, 0..batch.len(), &PushOptions::default())?;
    }
    Ok(())
}

/// Bytes as a snapshot: as they are, or as the content of one, with the head and the checksum that it needs.
fn sealed(data: &[u8]) -> Result<(), EngineError> {
    let mut document = engine()?.snapshot()[..MAGIC_AND_FORMAT].to_vec();
    document.extend((data.len() as u64).to_le_bytes());
    document.extend(checksum(data).to_le_bytes());
    document.extend(data);
    let mut restored = Engine::restore(&document, options())?;
    restored.push_body(
        STREAM,
        Some(Timestamp::from_millis(1 << 40)),
        DATA,
        RdfFormat::Turtle.into(),
        &PushOptions::default(),
    )?;
    Ok(())
}

const MAGIC_AND_FORMAT: usize = 12;

/// As `codec.rs` has it, which nobody outside of the engine needs otherwise.
fn checksum(bytes: &[u8]) -> u64 {
    let step = |sum: u64, word: u64| (sum ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
    let (words, rest) = bytes.as_chunks::<8>();
    let sum = words.iter().fold(bytes.len() as u64, |sum, word| step(sum, u64::from_le_bytes(*word)));
    let sum = rest.iter().fold(sum, |sum, byte| step(sum, u64::from(*byte)));
    step(sum, 0)
}
