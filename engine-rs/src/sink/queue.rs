//! The results of one query until they are taken; the oldest go when the queue is full.

use crate::codec::{Damaged, Decoded, Reader, Writer, ensure};
use crate::model::TermId;
use crate::parse::R2s;
use crate::time::Timestamp;
use crate::window::WindowBounds;
use smallvec::SmallVec;
use std::collections::VecDeque;

/// One report of a query.
#[derive(Clone, PartialEq, Debug)]
pub struct QueryResult {
    /// Numbers the reports of a query from 1, without gaps.
    pub seq: u64,
    pub at: Timestamp,
    /// What each window of the query covered, in the order of its clauses.
    pub windows: SmallVec<[WindowBounds; 4]>,
    /// The reports this one stands for as well, if there are any.
    pub skipped: Option<Skipped>,
    pub r2s: R2s,
    pub answer: Answered,
}

/// Reports at which nothing had changed, passed over by one that says the same; it is the last of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Skipped {
    /// The instant of the first.
    pub from: Timestamp,
    /// The instant of the last.
    pub to: Timestamp,
    /// How many windows, or periods, ended at them.
    pub windows: u64,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Answered {
    /// Rows of variables; `deleted` only with DSTREAM and `changes`.
    Bindings {
        inserted: Rows,
        deleted: Rows,
    },
    /// Triples, as rows of three.
    Graph {
        inserted: Rows,
        deleted: Rows,
    },
    Boolean(bool),
}

/// Rows of one width, in the order of the answer; a row that occurs twice is there twice.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Rows {
    width: usize,
    /// Most results are a row or two: those need no allocation.
    terms: SmallVec<[TermId; 8]>,
    len: usize,
}

impl Rows {
    #[must_use]
    pub fn new(width: usize) -> Self {
        Self { width, terms: SmallVec::new(), len: 0 }
    }

    fn save(&self, to: &mut Writer) {
        to.count(self.width);
        to.count(self.len);
        to.list(self.terms.iter(), |to, id| to.id(*id));
    }

    fn restored(from: &mut Reader<'_>) -> Decoded<Self> {
        let (width, len) = (from.number()?, from.number()?);
        let terms: SmallVec<[TermId; 8]> = from.list(8, Reader::id)?;
        ensure(width.checked_mul(len) == Some(terms.len()), "a result has half a row")?;
        Ok(Self { width, terms, len })
    }

    pub(crate) fn push(&mut self, row: impl Iterator<Item = TermId>) {
        self.terms.extend(row);
        self.len += 1;
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub fn iter(&self) -> impl Iterator<Item = &[TermId]> + '_ {
        (0..self.len).map(|i| &self.terms[i * self.width..(i + 1) * self.width])
    }
}

impl QueryResult {
    fn save(&self, to: &mut Writer) {
        to.u64(self.seq);
        to.at(self.at);
        to.list(self.windows.iter(), |to, window| {
            to.at(window.open);
            to.at(window.close);
        });
        to.option(self.skipped, |to, skipped| {
            to.at(skipped.from);
            to.at(skipped.to);
            to.u64(skipped.windows);
        });
        let mut parts = |tag: u8, parts: [&Rows; 2]| {
            to.u8(tag);
            parts.into_iter().for_each(|rows| rows.save(to));
        };
        match &self.answer {
            Answered::Bindings { inserted, deleted } => parts(0, [inserted, deleted]),
            Answered::Graph { inserted, deleted } => parts(1, [inserted, deleted]),
            Answered::Boolean(value) => to.u8(2 + u8::from(*value)),
        }
    }

    fn restored(r2s: R2s, from: &mut Reader<'_>) -> Decoded<Self> {
        let (seq, at) = (from.u64()?, from.at()?);
        let windows = from.list(16, |from| Ok(WindowBounds { open: from.at()?, close: from.at()? }))?;
        let skipped = from.option(|from| Ok(Skipped { from: from.at()?, to: from.at()?, windows: from.u64()? }))?;
        let answer = match from.u8()? {
            0 => Answered::Bindings { inserted: Rows::restored(from)?, deleted: Rows::restored(from)? },
            1 => Answered::Graph { inserted: Rows::restored(from)?, deleted: Rows::restored(from)? },
            2 => Answered::Boolean(false),
            3 => Answered::Boolean(true),
            _ => return Err(Damaged { what: "a result is of no known kind" }),
        };
        Ok(Self { seq, at, windows, skipped, r2s, answer })
    }

    pub(super) fn n_rows(&self) -> usize {
        match &self.answer {
            Answered::Bindings { inserted, deleted } | Answered::Graph { inserted, deleted } => {
                inserted.len() + deleted.len()
            }
            Answered::Boolean(_) => 1,
        }
    }
}

#[derive(Debug)]
pub(crate) struct ResultQueue {
    results: VecDeque<QueryResult>,
    rows: usize,
    rows_max: usize,
    next_seq: u64,
    dropped: u64,
}

impl ResultQueue {
    pub(crate) fn new(rows_max: usize) -> Self {
        Self { results: VecDeque::new(), rows: 0, rows_max, next_seq: 1, dropped: 0 }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.results.is_empty()
    }

    pub(crate) fn next_seq(&self) -> u64 {
        self.next_seq
    }

    /// Adds a report; overflow drops the oldest, which the gap in `seq` shows.
    pub(crate) fn push(&mut self, result: QueryResult) {
        self.next_seq = result.seq + 1;
        self.rows += result.n_rows();
        self.results.push_back(result);
        while self.rows > self.rows_max && self.results.len() > 1 {
            if let Some(oldest) = self.results.pop_front() {
                self.rows -= oldest.n_rows();
                self.dropped += 1;
            }
        }
    }

    pub(crate) fn drain(&mut self) -> Vec<QueryResult> {
        self.rows = 0;
        self.results.drain(..).collect()
    }

    /// Every term of the waiting results: none may be freed.
    pub(crate) fn terms(&self) -> impl Iterator<Item = TermId> + '_ {
        let rows = self.results.iter().flat_map(|result| match &result.answer {
            Answered::Bindings { inserted, deleted } | Answered::Graph { inserted, deleted } => vec![inserted, deleted],
            Answered::Boolean(_) => vec![],
        });
        rows.flat_map(|rows| rows.terms.iter().copied())
    }

    pub(crate) fn save(&self, to: &mut Writer) {
        to.u64(self.next_seq);
        to.u64(self.dropped);
        to.list(self.results.iter(), |to, result| result.save(to));
    }

    pub(crate) fn restore(&mut self, r2s: R2s, from: &mut Reader<'_>) -> Decoded<()> {
        self.next_seq = from.u64()?;
        self.dropped = from.u64()?;
        self.results = from.list(25, |from| QueryResult::restored(r2s, from))?;
        self.rows = self.results.iter().map(QueryResult::n_rows).sum();
        Ok(())
    }

    pub(crate) fn dropped(&self) -> u64 {
        self.dropped
    }
}
