//! The merge stage: combines the partial results of all partitions for one batch into the results of the query.
//!
//! If the result is the union of all rows, they are sorted and numbered, and only the number is kept. Otherwise an
//! engine runs the part above the cut (`plan/cut.rs`) on the changes of all partitions, instant by instant.

use super::query::{Merge, ScaledQuery, Spreading, engine_options};
use super::reported::{ONLY, Reported, ReportedRow, Writing, check_width, term_of};
use super::seal::{Owner, opened, sealed};
use crate::codec::{Reader, Writer};
use crate::encode::Dictionary;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::expr::compare_rows;
use crate::model::{TermId, Weight};
use crate::time::Timestamp;
use crate::window::WindowBounds;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Combines partial results.
pub struct MergeEngine {
    query: Arc<ScaledQuery>,
    state: State,
}

enum State {
    /// The number of results so far.
    Passing(u64),
    Computing(Box<Engine>),
}

/// What the partitions reported at one instant.
#[derive(Default)]
struct Instant {
    windows: Vec<WindowBounds>,
    rows: Vec<ReportedRow>,
}

impl MergeEngine {
    /// A merge without state.
    ///
    /// # Errors
    /// If the query cannot be registered, which planning detects.
    pub fn new(query: Arc<ScaledQuery>) -> Result<Self, EngineError> {
        let state = match &query.spreading {
            Spreading::Over { above: Some((above, _)), .. } => {
                let mut engine = Engine::new(engine_options());
                engine.register_part(&query.text, &query.options, above.clone())?;
                State::Computing(Box::new(engine))
            }
            _ => State::Passing(0),
        };
        Ok(Self { query, state })
    }

    /// Restores a merge from its snapshot.
    ///
    /// # Errors
    /// Those of [`super::PartitionEngine::restore`].
    pub fn restore(query: Arc<ScaledQuery>, snapshot: &[u8]) -> Result<Self, EngineError> {
        let payload = opened(&query, Owner::Merge, snapshot)?;
        let mut merge = Self::new(query)?;
        match &mut merge.state {
            State::Passing(last_seq) => {
                let mut from = Reader::new(payload);
                *last_seq = from.u64()?;
                from.end()?;
            }
            State::Computing(engine) => **engine = Engine::restore(payload, engine_options())?,
        }
        Ok(merge)
    }

    #[must_use]
    pub fn snapshot(&self) -> Vec<u8> {
        let payload = match &self.state {
            State::Passing(last_seq) => {
                let mut to = Writer::default();
                to.u64(*last_seq);
                to.into_bytes()
            }
            State::Computing(engine) => engine.snapshot(),
        };
        sealed(&self.query, Owner::Merge, &payload)
    }

    /// Merges the results that each partition has drained after one batch, in any order.
    ///
    /// # Errors
    /// If a partial result does not belong to this query, or the query has failed.
    pub fn merge(&mut self, partials: Vec<Vec<Reported>>) -> Result<Vec<Reported>, EngineError> {
        let partials: Vec<_> = partials.into_iter().filter(|partial| !partial.is_empty()).collect();
        for row in partials.iter().flatten().flat_map(|reported| &reported.rows) {
            check_width(row, &self.query)?;
        }
        match &mut self.state {
            State::Passing(last_seq) if self.query.merge() == Merge::None => {
                Ok(numbered(partials.into_iter().flatten(), last_seq))
            }
            State::Passing(last_seq) => {
                let answers = instants(partials).into_iter().map(|(at, instant)| in_order(at, instant));
                Ok(numbered(answers.collect::<Result<Vec<_>, _>>()?.into_iter(), last_seq))
            }
            State::Computing(engine) => computed(engine, instants(partials)),
        }
    }

    /// The number of rows, groups and terms kept here.
    #[must_use]
    pub fn state_size(&self) -> usize {
        match &self.state {
            State::Passing(_) => 0,
            State::Computing(engine) => engine.state_size(),
        }
    }

    #[must_use]
    pub fn query(&self) -> &ScaledQuery {
        &self.query
    }
}

fn numbered(reported: impl Iterator<Item = Reported>, last_seq: &mut u64) -> Vec<Reported> {
    let mut number = |reported: Reported| {
        *last_seq += 1;
        Reported { seq: *last_seq, ..reported }
    };
    reported.map(&mut number).collect()
}

/// The reports of all partitions, instant by instant. A partition without further windows to close reports nothing.
fn instants(partials: Vec<Vec<Reported>>) -> BTreeMap<Timestamp, Instant> {
    let mut instants: BTreeMap<Timestamp, Instant> = BTreeMap::new();
    for reported in partials.into_iter().flatten() {
        let instant = instants.entry(reported.at).or_default();
        instant.windows = reported.windows;
        instant.rows.extend(reported.rows);
    }
    instants
}

/// Added rows, then removed rows, each sorted by their terms.
fn in_order(at: Timestamp, mut instant: Instant) -> Result<Reported, EngineError> {
    if sort_by_names(&mut instant.rows) {
        return Ok(Reported { seq: 0, at, windows: instant.windows, rows: instant.rows });
    }
    let mut dictionary = Dictionary::new(0);
    let keyed = instant.rows.into_iter().map(|row| Ok((ids_of(&row, &mut dictionary)?, row)));
    let mut keyed = keyed.collect::<Result<Vec<_>, EngineError>>()?;
    keyed.sort_by(|(a, row_a), (b, row_b)| row_b.sign.cmp(&row_a.sign).then_with(|| compare_rows(a, b, &dictionary)));
    let rows = keyed.into_iter().map(|(_, row)| row).collect();
    Ok(Reported { seq: 0, at, windows: instant.windows, rows })
}

/// Sorts by the text of the first column, if it holds IRIs that are unique, so that no other term has to be parsed.
/// Otherwise returns false, with the rows in any order.
fn sort_by_names(rows: &mut [ReportedRow]) -> bool {
    fn key(row: &ReportedRow) -> (i8, Option<&str>) {
        let first = row.cells.first().and_then(Option::as_deref);
        let iri = first.and_then(|cell| cell.strip_prefix('<')?.strip_suffix('>'));
        // Triple terms begin with a bracket too, but with more than one.
        (-row.sign, iri.filter(|iri| !iri.starts_with('<')))
    }
    if !rows.iter().all(|row| key(row).1.is_some()) {
        return false;
    }
    rows.sort_unstable_by(|a, b| key(a).cmp(&key(b)));
    rows.windows(2).all(|pair| key(&pair[0]) != key(&pair[1]))
}

fn ids_of(row: &ReportedRow, dictionary: &mut Dictionary) -> Result<Vec<TermId>, EngineError> {
    let mut id = |cell: &Option<String>| match cell {
        Some(cell) => Ok(dictionary.intern(term_of(cell)?.as_ref())),
        None => Ok(TermId::UNBOUND),
    };
    row.cells.iter().map(&mut id).collect()
}

/// Passes the changes of each instant to the part above the cut.
fn computed(engine: &mut Engine, instants: BTreeMap<Timestamp, Instant>) -> Result<Vec<Reported>, EngineError> {
    engine.begin_rows();
    for (at, instant) in instants {
        let changes = instant.rows.iter().map(|row| {
            let ids = ids_of(row, engine.dictionary_mut())?;
            Ok((ids, Weight::from(row.sign)))
        });
        let changes = changes.collect::<Result<Vec<_>, EngineError>>()?;
        engine.settle_part(ONLY, at, &instant.windows, &changes)?;
    }
    let results = engine.drain(ONLY)?;
    let writing = Writing { dictionary: engine.dictionary(), partition: None, shared_blanks: 0 };
    Ok(results.into_iter().map(|result| writing.reported(result)).collect())
}
