//! Results exchanged between engines: rows of terms in N-Triples syntax.

use super::query::ScaledQuery;
use crate::encode::Dictionary;
use crate::engine::QueryId;
use crate::error::EngineError;
use crate::model::TermId;
use crate::sink::{Answered, QueryResult, Rows};
use crate::time::Timestamp;
use crate::window::WindowBounds;
use oxrdf::Term;
use std::str::FromStr;

/// The only query of an engine that runs a part of a query.
pub(super) const ONLY: QueryId = QueryId(1);

/// One report.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reported {
    /// The number of the report, from 1.
    pub seq: u64,
    pub at: Timestamp,
    /// In the order of the window clauses.
    pub windows: Vec<WindowBounds>,
    pub rows: Vec<ReportedRow>,
}

/// An added (1) or removed (−1) row: one cell per variable, empty if unbound.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReportedRow {
    pub sign: i8,
    pub cells: Vec<Option<String>>,
}

/// How terms are written.
pub(super) struct Writing<'a> {
    pub dictionary: &'a Dictionary,
    /// Blank nodes that differ between partitions get the number of the partition in their labels.
    pub partition: Option<u32>,
    /// Blank nodes up to this number belong to static data, which every partition has numbered alike.
    pub shared_blanks: u64,
}

impl Writing<'_> {
    pub(super) fn reported(&self, result: QueryResult) -> Reported {
        let QueryResult { seq, at, windows, answer, .. } = result;
        let rows = match answer {
            Answered::Bindings { inserted, deleted } | Answered::Graph { inserted, deleted } => {
                let mut rows = Vec::with_capacity(inserted.len() + deleted.len());
                self.add_rows(&inserted, 1, &mut rows);
                self.add_rows(&deleted, -1, &mut rows);
                rows
            }
            Answered::Boolean(value) => {
                let cell = self.dictionary.term(TermId::boolean(value)).to_string();
                vec![ReportedRow { sign: 1, cells: vec![Some(cell)] }]
            }
        };
        Reported { seq, at, windows: windows.into_iter().collect(), rows }
    }

    fn add_rows(&self, from: &Rows, sign: i8, rows: &mut Vec<ReportedRow>) {
        let row = |row: &[TermId]| ReportedRow { sign, cells: row.iter().map(|id| self.cell(*id)).collect() };
        rows.extend(from.iter().map(row));
    }

    fn cell(&self, id: TermId) -> Option<String> {
        if !id.is_bound() {
            return None;
        }
        let is_own = self.partition.filter(|_| id.blank_number().is_some_and(|number| number > self.shared_blanks));
        Some(match (is_own, id.slot()) {
            (Some(partition), _) => format!("_:p{partition}b{}", id.blank_number().unwrap_or_default()),
            (None, Some(_)) => self.dictionary.stored(id).to_string(),
            (None, None) => self.dictionary.term(id).to_string(),
        })
    }
}

/// The bounds that [`crate::windows_json`] wrote; `None` for any other text.
#[must_use]
pub fn read_windows_json(text: &str) -> Option<Vec<WindowBounds>> {
    let windows: serde_json::Value = serde_json::from_str(text).ok()?;
    let bound = |window: &serde_json::Value, key: &str, unbounded: Timestamp| match window.get(key)? {
        serde_json::Value::Null => Some(unbounded),
        at => at.as_i64().map(Timestamp::from_millis),
    };
    let bounds = |window: &serde_json::Value| {
        Some(WindowBounds {
            open: bound(window, "open", Timestamp::MIN)?,
            close: bound(window, "close", Timestamp::MAX)?,
        })
    };
    windows.as_array()?.iter().map(bounds).collect()
}

/// The term of a cell.
pub(super) fn term_of(cell: &str) -> Result<Term, EngineError> {
    let unreadable = |_| EngineError::PartialUnreadable { reason: format!("'{cell}' is not a term") };
    Term::from_str(cell).map_err(unreadable)
}

/// A partial result must have the columns that the query's partitions write.
pub(super) fn check_width(row: &ReportedRow, query: &ScaledQuery) -> Result<(), EngineError> {
    let (given, wanted) = (row.cells.len(), query.partial_variables().len());
    if given == wanted {
        return Ok(());
    }
    Err(EngineError::PartialUnreadable { reason: format!("a row has {given} columns, and not {wanted}") })
}
