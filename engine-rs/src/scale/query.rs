//! A query, the streams it reads, and how both are partitioned.

use super::obstacle::obstacle;
use super::route::Router;
use crate::encode::PLACEMENT_SCHEME;
use crate::engine::{Engine, EngineOptions, StreamOptions, preview_part};
use crate::error::EngineError;
use crate::intake::{BodyFormat, EventBatch, RowMapper, RowMapping};
use crate::parse::{ContinuousQuery, ParseOptions, R2s, WindowKind, names_graphs};
use crate::plan::{Cut, Part, Share, Spread, asks_event_graphs, named_streams, parse_with_stable_names, spread};
use crate::time::Timestamp;
use oxrdf::NamedNode;
use sha2::{Digest, Sha256};
use spargebra::Query;
use std::fmt::Write;

/// With more partitions, headers would cost more than partitioning saves.
const PARTITIONS_MAX: u32 = 4096;
/// Must be increased whenever earlier chunks, partial results or snapshots become unreadable.
pub(super) const FORMAT: u32 = 2;
pub(super) const FINGERPRINT_BYTES: usize = 16;

/// How a query is partitioned.
///
/// ```
/// use whorl_engine::{ParseOptions, ScaledQuery};
///
/// let text = "PREFIX : <http://ex/> SELECT ?room (AVG(?t) AS ?mean)
///     FROM NAMED WINDOW :w ON :s [RANGE 10s]
///     WHERE { WINDOW :w { ?sensor :in ?room ; :temp ?t } } GROUP BY ?room";
/// let query = ScaledQuery::new(text, ParseOptions::default(), 8, &[])?;
/// assert_eq!(query.partitions(), 8);
/// assert!(query.explain().contains("\"merge\":\"groups\""));
/// # Ok::<(), whorl_engine::EngineError>(())
/// ```
#[derive(Debug)]
pub struct ScaledQuery {
    pub(super) text: String,
    pub(super) options: ParseOptions,
    pub(super) definition: ContinuousQuery,
    pub(super) streams: Vec<(NamedNode, StreamOptions)>,
    pub(super) asked_partitions: u32,
    pub(super) spreading: Spreading,
    pub(super) variables: Vec<String>,
    fingerprint: [u8; FINGERPRINT_BYTES],
    router: Router,
}

/// The number of partitions, and the reason for it.
#[derive(Debug)]
pub(super) enum Spreading {
    One { why: String, plan: String },
    Over { spread: Spread, merge: Merge, below: String, above: Option<(Part, String)>, columns: Vec<String> },
}

/// How the results of the partitions are combined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Merge {
    /// The single partition has the result.
    None,
    /// The union of all rows.
    Union,
    /// The changes of all partitions, added up.
    Netting,
    Groups,
    Distinct,
    TopK,
}

impl ScaledQuery {
    /// Plans a query for a number of partitions; streams without settings have the defaults.
    ///
    /// # Errors
    /// If the text does not parse, or uses a feature that is not supported in general or in partitions.
    pub fn new(
        text: &str,
        options: ParseOptions,
        partitions: u32,
        streams: &[(String, StreamOptions)],
    ) -> Result<Self, EngineError> {
        if partitions == 0 || partitions > PARTITIONS_MAX {
            return Err(unsupported(format!("{partitions} partitions"), format!("choose 1 to {PARTITIONS_MAX}")));
        }
        if options.keep_answer || options.keep_windows {
            return Err(unsupported(
                "partitions keep neither current results nor windows",
                "leave out keep_answer and keep_windows",
            ));
        }
        let definition = parse_with_stable_names(text, &options)?;
        let streams = streams_of(&definition, streams)?;
        let refusal = |shorter: &str| match parse_with_stable_names(shorter, &options) {
            Ok(definition) => spreading_of(&definition, partitions).err(),
            Err(error) => Some(error.into()),
        };
        let located = |error: EngineError| error.located(text, refusal);
        if asks_event_graphs(&definition).map_err(|error| located(error.into()))? {
            return Err(unsupported(
                "it reads the graph names of events, which chunks do not have",
                "remove GRAPH inside the window",
            ));
        }
        if names_graphs(&definition.query) {
            return Err(unsupported(
                "its template names graphs, which the rows of partitions do not have",
                "remove GRAPH and its braces from the template",
            ));
        }
        let spreading = spreading_of(&definition, partitions).map_err(located)?;
        let mut query = Self {
            variables: variables_of(&definition),
            router: Router::new(&definition, &spreading, &streams),
            text: text.to_owned(),
            asked_partitions: partitions,
            fingerprint: [0; FINGERPRINT_BYTES],
            options,
            definition,
            streams,
            spreading,
        };
        query.fingerprint = query.digest();
        // Report errors in the query now, not in some task.
        let engine = query.engine(0, &[])?;
        if !query.is_spread() && !counts_all(&query.definition) {
            let read = query.streams.iter().map(|(iri, _)| engine.patterns_read(iri.as_str())).collect();
            query.router.prune(read);
        }
        Ok(query)
    }

    /// Equal for equal text, options, streams and number of partitions, in the same release or a compatible one.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        self.fingerprint.iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
    }

    pub(super) fn fingerprint_bytes(&self) -> [u8; FINGERPRINT_BYTES] {
        self.fingerprint
    }

    /// The number of partitions in use: the requested number, or one.
    #[must_use]
    pub fn partitions(&self) -> u32 {
        match self.spreading {
            Spreading::One { .. } => 1,
            Spreading::Over { .. } => self.asked_partitions,
        }
    }

    /// The streams the query reads.
    pub fn streams(&self) -> impl Iterator<Item = &str> {
        self.streams.iter().map(|(iri, _)| iri.as_str())
    }

    /// The variables of the result.
    #[must_use]
    pub fn variables(&self) -> &[String] {
        &self.variables
    }

    /// The variables of partial results.
    #[must_use]
    pub fn partial_variables(&self) -> &[String] {
        match &self.spreading {
            Spreading::Over { columns, .. } => columns,
            Spreading::One { .. } => &self.variables,
        }
    }

    /// The names of the windows, in the order of their clauses.
    pub fn windows(&self) -> impl Iterator<Item = &str> {
        self.definition.windows.iter().map(|window| window.name.as_str())
    }

    /// One chunk per partition. `order` is the place of the first event in its source: events of one instant are
    /// processed in this order, if it matters.
    ///
    /// # Errors
    /// If the stream is not known, an event is invalid or has no time, or two partitions would need the same blank
    /// node.
    pub fn route(&self, stream: &str, batch: &EventBatch, order: u64) -> Result<Vec<Vec<u8>>, EngineError> {
        let number = self.stream_number(stream)?;
        self.router.route(number, batch, order, &self.fingerprint, self.partitions())
    }

    /// The events of a body, ready to be routed.
    ///
    /// # Errors
    /// When the body is wrong, or has lines that are not events.
    pub fn read_body(&self, body: &[u8], format: BodyFormat, at: Option<Timestamp>) -> Result<EventBatch, EngineError> {
        super::route::read_body(body, format, at)
    }

    /// A mapping compiled for rows that begin at this place of their source.
    ///
    /// # Errors
    /// When the text is no mapping.
    pub fn row_mapper(text: &str, order: u64) -> Result<(RowMapping, RowMapper), EngineError> {
        let mapping = RowMapping::parse(text)?;
        let mapper = RowMapper::new(&mapping)?.with_salt(order);
        Ok((mapping, mapper))
    }

    pub(super) fn merge(&self) -> Merge {
        match self.spreading {
            Spreading::One { .. } => Merge::None,
            Spreading::Over { merge, .. } => merge,
        }
    }

    pub(super) fn is_spread(&self) -> bool {
        matches!(self.spreading, Spreading::Over { .. })
    }

    pub(super) fn stream_number(&self, iri: &str) -> Result<usize, EngineError> {
        self.streams.iter().position(|(known, _)| known.as_str() == iri).ok_or_else(|| {
            let known: Vec<String> = self.streams.iter().map(|(iri, _)| iri.to_string()).collect();
            EngineError::UnknownStream { stream: iri.to_owned(), hint: format!("the query reads {}", known.join(", ")) }
        })
    }

    /// The plan that a partition runs.
    fn part(&self, partition: u32) -> Part {
        let Spreading::Over { spread, merge, .. } = &self.spreading else { return Part::Whole };
        let share = Share {
            variable: spread.variable.clone(),
            partitions: self.partitions(),
            partition,
            is_checked: spread.is_doubled,
        };
        if *merge == Merge::Union { Part::Share(share) } else { Part::Below(share) }
    }

    /// An engine with the query's streams, these graphs, and the part of a partition.
    pub(super) fn engine(
        &self,
        partition: u32,
        graphs: &[super::partition::Document<'_>],
    ) -> Result<Engine, EngineError> {
        let mut engine = Engine::new(engine_options());
        for (iri, options) in &self.streams {
            // Whether a stream is idle is decided between batches, so that all partitions decide alike.
            engine.declare_stream(iri.as_str(), StreamOptions { idle_timeout: None, ..options.clone() })?;
        }
        for (name, document, format) in graphs {
            engine.load(*name, document, *format)?;
        }
        engine.register_part(&self.text, &self.options, self.part(partition))?;
        Ok(engine)
    }

    fn digest(&self) -> [u8; FINGERPRINT_BYTES] {
        let mut hash = Sha256::new();
        let mut add = |text: String| {
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text);
        };
        add(format!("{FORMAT} {PLACEMENT_SCHEME} {}", self.asked_partitions));
        add(self.text.clone());
        // Options and settings are plain values, so their debug form identifies them.
        add(format!("{:?}", self.options));
        add(format!("{:?}", self.streams));
        let digest = hash.finalize();
        std::array::from_fn(|at| digest[at])
    }
}

pub(super) fn engine_options() -> EngineOptions {
    EngineOptions { result_rows_max: usize::MAX, ..EngineOptions::default() }
}

pub(super) fn unsupported(reason: impl Into<String>, hint: impl Into<String>) -> EngineError {
    EngineError::NotScalable { reason: reason.into(), hint: hint.into() }
}

/// Whether triples matter that no pattern matches: DESCRIBE shows them, and windows by number count them.
fn counts_all(definition: &ContinuousQuery) -> bool {
    let is_counted = |kind: &WindowKind| matches!(kind, WindowKind::Elements { .. } | WindowKind::Triples { .. });
    matches!(definition.query, Query::Describe { .. })
        || definition.windows.iter().any(|window| is_counted(&window.kind))
}

/// The settings of each stream that the query reads; settings of other streams are an error.
fn streams_of(
    definition: &ContinuousQuery,
    given: &[(String, StreamOptions)],
) -> Result<Vec<(NamedNode, StreamOptions)>, EngineError> {
    let Some(read) = named_streams(definition) else {
        return Err(unsupported("static data determines which streams it reads", "name the stream"));
    };
    if let Some((iri, _)) = given.iter().find(|(iri, _)| read.iter().all(|stream| stream.as_str() != iri)) {
        let known: Vec<String> = read.iter().map(ToString::to_string).collect();
        let hint = format!("the query reads {}", known.join(", "));
        return Err(EngineError::UnknownStream { stream: iri.clone(), hint });
    }
    let options = |stream: &NamedNode| given.iter().find(|(iri, _)| iri == stream.as_str()).map(|(_, o)| o.clone());
    Ok(read.into_iter().map(|stream| (stream.clone(), options(&stream).unwrap_or_default())).collect())
}

fn spreading_of(definition: &ContinuousQuery, partitions: u32) -> Result<Spreading, EngineError> {
    let one = |why: String| Ok(Spreading::One { why, plan: preview_part(definition, &Part::Whole)?.text });
    if partitions == 1 {
        return one(String::from("one partition was asked for"));
    }
    if let Some(why) = obstacle(definition) {
        return one(why);
    }
    let spread = match spread(definition)? {
        Ok(spread) => spread,
        Err(why) => return one(why),
    };
    let is_rstream = definition.r2s == R2s::Rstream;
    let merge = match spread.cut {
        Cut::Top if spread.has_order && is_rstream => Merge::TopK,
        Cut::Top if is_rstream || spread.shows_variable => Merge::Union,
        Cut::Top => Merge::Netting,
        Cut::Distinct => Merge::Distinct,
        Cut::Groups => Merge::Groups,
        Cut::TopK => Merge::TopK,
    };
    let share = Share { variable: spread.variable.clone(), partitions, partition: 0, is_checked: spread.is_doubled };
    if merge == Merge::Union {
        let below = preview_part(definition, &Part::Share(share))?;
        let columns = projected(definition);
        return Ok(Spreading::Over { spread, merge, below: below.text, above: None, columns });
    }
    let below = preview_part(definition, &Part::Below(share))?;
    let columns = below.columns.iter().map(|(column, _)| column.as_str().to_owned()).collect();
    let above = Part::Above { variable: spread.variable.clone(), columns: below.columns };
    let text = preview_part(definition, &above)?.text;
    Ok(Spreading::Over { spread, merge, below: below.text, above: Some((above, text)), columns })
}

fn variables_of(definition: &ContinuousQuery) -> Vec<String> {
    match &definition.query {
        Query::Select { .. } => projected(definition),
        Query::Ask { .. } => vec![String::from("boolean")],
        Query::Construct { .. } | Query::Describe { .. } => {
            ["subject", "predicate", "object"].map(str::to_owned).to_vec()
        }
    }
}

/// The variables of a SELECT.
fn projected(definition: &ContinuousQuery) -> Vec<String> {
    crate::plan::shown_variables(definition).iter().map(|variable| variable.as_str().to_owned()).collect()
}
