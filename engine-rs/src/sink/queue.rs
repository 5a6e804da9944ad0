//! The undrained results of one query; if the queue is full, the oldest are dropped.

use super::flat::FlatQueue;
use crate::codec::{Damaged, Decoded, Reader, Writer, ensure};
use crate::model::{Row, TermId};
use crate::parse::R2s;
use crate::time::Timestamp;
use crate::window::WindowBounds;
use smallvec::SmallVec;
use std::collections::VecDeque;

/// One result of a query.
#[derive(Clone, PartialEq, Debug)]
pub struct QueryResult {
    /// Numbers the results of a query from 1, without gaps.
    pub seq: u64,
    pub at: Timestamp,
    /// What each window of the query covered, in the order of its clauses.
    pub windows: SmallVec<[WindowBounds; 4]>,
    /// The results that this one represents as well, if any.
    pub skipped: Option<Skipped>,
    pub r2s: R2s,
    pub answer: Answered,
}

/// Unchanged results that were replaced by a single one, which is the last of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Skipped {
    /// The instant of the first.
    pub from: Timestamp,
    /// The instant of the last.
    pub to: Timestamp,
    /// The number of windows or periods that ended at them.
    pub windows: u64,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Answered {
    /// Rows of variables; `deleted` only with DSTREAM and `changes`.
    Bindings {
        inserted: Rows,
        deleted: Rows,
    },
    /// Triples, as rows of three terms.
    Graph {
        inserted: Rows,
        deleted: Rows,
    },
    Boolean(bool),
}

/// Rows of one width, in result order; duplicates are repeated.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Rows {
    width: usize,
    /// Most results have one or two rows, which need no allocation.
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
            _ => return Err(Damaged { what: "a result has an unknown kind" }),
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

/// Undrained results share one flat queue of rows and one of window bounds: a result is a header, and becomes a
/// [`QueryResult`] when it is drained.
#[derive(Debug)]
pub(crate) struct ResultQueue {
    headers: VecDeque<Header>,
    /// For each result, the numbers of added and removed rows.
    terms: FlatQueue<TermId>,
    bounds: FlatQueue<WindowBounds>,
    rows: usize,
    rows_max: usize,
    next_seq: u64,
    dropped: u64,
}

#[derive(Debug)]
struct Header {
    seq: u64,
    at: Timestamp,
    skipped: Option<Skipped>,
    kind: AnswerKind,
    width: u32,
    n_bounds: u32,
    n_inserted: u32,
    n_deleted: u32,
}

/// The form of a query's results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AnswerKind {
    Bindings,
    Graph,
    Boolean(bool),
}

impl ResultQueue {
    pub(crate) fn new(rows_max: usize) -> Self {
        Self {
            headers: VecDeque::new(),
            terms: FlatQueue::new(),
            bounds: FlatQueue::new(),
            rows: 0,
            rows_max,
            next_seq: 1,
            dropped: 0,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.headers.is_empty()
    }

    /// Begins a result with rows of this width. It is not in the queue until it is added.
    #[inline]
    pub(crate) fn draft(&mut self, width: usize) -> Draft<'_> {
        Draft { width, begins: self.terms.len(), n_bounds: 0, n_inserted: 0, n_deleted: 0, queue: self }
    }

    /// Adds a result; overflow drops the oldest, which leaves a gap in `seq`.
    fn push(&mut self, header: Header) {
        self.next_seq = header.seq + 1;
        self.rows += header.n_rows();
        self.headers.push_back(header);
        while self.rows > self.rows_max && self.headers.len() > 1 {
            if let Some(oldest) = self.headers.pop_front() {
                self.rows -= oldest.n_rows();
                self.terms.forget_first(oldest.n_terms());
                self.bounds.forget_first(oldest.n_bounds as usize);
                self.dropped += 1;
            }
        }
    }

    pub(crate) fn drain(&mut self, r2s: R2s) -> Vec<QueryResult> {
        /// Memory for this many terms is kept for the next results.
        const TERMS_KEPT: usize = 1 << 16;
        let results = self.results(r2s);
        self.rows = 0;
        self.headers.clear();
        self.terms.clear(TERMS_KEPT);
        self.bounds.clear(TERMS_KEPT);
        results
    }

    /// The undrained results, oldest first.
    fn results(&self, r2s: R2s) -> Vec<QueryResult> {
        let (mut terms, mut bounds) = (self.terms.as_slice(), self.bounds.as_slice());
        let mut results = Vec::with_capacity(self.headers.len());
        for header in &self.headers {
            let (own_terms, own_bounds);
            (own_terms, terms) = terms.split_at(header.n_terms());
            (own_bounds, bounds) = bounds.split_at(header.n_bounds as usize);
            results.push(header.result(r2s, own_terms, own_bounds));
        }
        results
    }

    /// Every term of the undrained results, which must not be freed.
    pub(crate) fn terms(&self) -> impl Iterator<Item = TermId> + '_ {
        self.terms.as_slice().iter().copied()
    }

    pub(crate) fn save(&self, r2s: R2s, to: &mut Writer) {
        to.u64(self.next_seq);
        to.u64(self.dropped);
        to.list(self.results(r2s).iter(), |to, result| result.save(to));
    }

    pub(crate) fn restore(&mut self, r2s: R2s, from: &mut Reader<'_>) -> Decoded<()> {
        let (next_seq, dropped) = (from.u64()?, from.u64()?);
        let results: Vec<QueryResult> = from.list(25, |from| QueryResult::restored(r2s, from))?;
        results.into_iter().for_each(|result| self.push_result(&result));
        (self.next_seq, self.dropped) = (next_seq, dropped);
        Ok(())
    }

    fn push_result(&mut self, result: &QueryResult) {
        let (kind, rows) = match &result.answer {
            Answered::Bindings { inserted, deleted } => (AnswerKind::Bindings, Some([inserted, deleted])),
            Answered::Graph { inserted, deleted } => (AnswerKind::Graph, Some([inserted, deleted])),
            Answered::Boolean(value) => (AnswerKind::Boolean(*value), None),
        };
        self.bounds.extend(&result.windows);
        let [inserted, deleted] = rows.map_or([0; 2], |rows| rows.map(|rows| rows.len as u32));
        rows.into_iter().flatten().for_each(|rows| self.terms.extend(&rows.terms));
        self.push(Header {
            seq: result.seq,
            at: result.at,
            skipped: result.skipped,
            kind,
            width: rows.map_or(0, |rows| rows[0].width as u32),
            n_bounds: result.windows.len() as u32,
            n_inserted: inserted,
            n_deleted: deleted,
        });
    }

    pub(crate) fn dropped(&self) -> u64 {
        self.dropped
    }
}

impl Header {
    #[inline]
    fn n_rows(&self) -> usize {
        match self.kind {
            AnswerKind::Bindings | AnswerKind::Graph => (self.n_inserted + self.n_deleted) as usize,
            AnswerKind::Boolean(_) => 1,
        }
    }

    #[inline]
    fn n_terms(&self) -> usize {
        (self.n_inserted + self.n_deleted) as usize * self.width as usize
    }

    #[inline]
    fn result(&self, r2s: R2s, terms: &[TermId], bounds: &[WindowBounds]) -> QueryResult {
        let width = self.width as usize;
        let (inserted, deleted) = terms.split_at(self.n_inserted as usize * width);
        let rows = |terms, len: u32| Rows { width, terms: SmallVec::from_slice(terms), len: len as usize };
        let (inserted, deleted) = (rows(inserted, self.n_inserted), rows(deleted, self.n_deleted));
        QueryResult {
            seq: self.seq,
            at: self.at,
            windows: SmallVec::from_slice(bounds),
            skipped: self.skipped,
            r2s,
            answer: match self.kind {
                AnswerKind::Bindings => Answered::Bindings { inserted, deleted },
                AnswerKind::Graph => Answered::Graph { inserted, deleted },
                AnswerKind::Boolean(value) => Answered::Boolean(value),
            },
        }
    }
}

/// A result under construction: first the added rows, then the removed rows.
pub(crate) struct Draft<'a> {
    queue: &'a mut ResultQueue,
    width: usize,
    begins: usize,
    n_bounds: u32,
    n_inserted: usize,
    n_deleted: usize,
}

impl Draft<'_> {
    #[inline]
    pub(crate) fn insert(&mut self, row: &[TermId]) {
        debug_assert!(row.len() == self.width && self.n_deleted == 0);
        self.queue.terms.extend(row);
        self.n_inserted += 1;
    }

    #[inline]
    pub(crate) fn delete(&mut self, row: &[TermId]) {
        debug_assert_eq!(row.len(), self.width);
        self.queue.terms.extend(row);
        self.n_deleted += 1;
    }

    pub(crate) fn n_inserted(&self) -> usize {
        self.n_inserted
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.n_inserted + self.n_deleted == 0
    }

    /// The added or the removed rows.
    pub(crate) fn rows(&self, inserted: bool) -> impl Iterator<Item = Row> + '_ {
        let numbers = if inserted { 0..self.n_inserted } else { self.n_inserted..self.n_inserted + self.n_deleted };
        let row = |number: usize| {
            let begins = self.begins + number * self.width;
            self.queue.terms.as_slice()[begins..begins + self.width].iter().copied().collect()
        };
        numbers.map(row)
    }

    /// Sets the extent of the next window of the query.
    #[inline]
    pub(crate) fn cover(&mut self, bounds: WindowBounds) {
        self.queue.bounds.push(bounds);
        self.n_bounds += 1;
    }

    /// Discards the rows written so far.
    pub(crate) fn discard(&mut self) {
        self.queue.terms.truncate(self.begins);
        (self.n_inserted, self.n_deleted) = (0, 0);
    }

    /// Adds the result to the queue.
    #[inline]
    pub(crate) fn add(self, kind: AnswerKind, at: Timestamp, skipped: Option<Skipped>) {
        let Self { queue, width, n_bounds, n_inserted, n_deleted, .. } = self;
        queue.push(Header {
            seq: queue.next_seq,
            at,
            skipped,
            kind,
            width: width as u32,
            n_bounds,
            n_inserted: n_inserted as u32,
            n_deleted: n_deleted as u32,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: u64) -> TermId {
        TermId::integer(n as i64).expect("a small number")
    }

    fn bounds(ms: i64) -> [WindowBounds; 2] {
        [1, 2].map(|n| WindowBounds { open: Timestamp::from_millis(ms), close: Timestamp::from_millis(ms + n) })
    }

    fn add(queue: &mut ResultQueue, at: i64, inserted: &[u64], deleted: &[u64]) {
        let mut draft = queue.draft(2);
        inserted.iter().for_each(|n| draft.insert(&[id(*n), id(n + 1)]));
        deleted.iter().for_each(|n| draft.delete(&[id(*n), id(n + 1)]));
        bounds(at).into_iter().for_each(|bounds| draft.cover(bounds));
        draft.add(AnswerKind::Bindings, Timestamp::from_millis(at), None);
    }

    fn rows(numbers: &[u64]) -> Rows {
        let mut rows = Rows::new(2);
        numbers.iter().for_each(|n| rows.push([id(*n), id(n + 1)].into_iter()));
        rows
    }

    #[test]
    fn results_are_taken_as_they_were_written_also_around_the_end_of_the_ring() {
        let mut queue = ResultQueue::new(5);
        let mut lost = 0;
        for n in 0..200 {
            let inserted: Vec<u64> = (0..n % 4).map(|row| 10 * n + row).collect();
            add(&mut queue, n as i64, &inserted, &[n]);
            lost = queue.dropped();
        }
        assert!(lost > 100, "the oldest go");
        let results = queue.results(R2s::Changes);
        assert_eq!(results.last().map(|result| result.seq), Some(200));
        for result in &results {
            let n = result.seq - 1;
            let inserted: Vec<u64> = (0..n % 4).map(|row| 10 * n + row).collect();
            let answer = Answered::Bindings { inserted: rows(&inserted), deleted: rows(&[n]) };
            assert_eq!((&result.answer, &result.windows[..]), (&answer, &bounds(n as i64)[..]));
        }
        let mut to = Writer::default();
        queue.save(R2s::Changes, &mut to);
        let bytes = to.into_bytes();
        let mut restored = ResultQueue::new(5);
        restored.restore(R2s::Changes, &mut Reader::new(&bytes)).expect("what was saved");
        assert_eq!((restored.drain(R2s::Changes), restored.next_seq, restored.dropped), (results, 201, lost));
        assert!(restored.is_empty() && restored.terms().next().is_none());
    }

    #[test]
    fn an_answer_of_yes_or_no_has_no_rows() {
        let mut queue = ResultQueue::new(5);
        let mut draft = queue.draft(1);
        draft.insert(&[id(7)]);
        draft.discard();
        draft.add(AnswerKind::Boolean(true), Timestamp::EPOCH, None);
        assert_eq!(queue.terms().count(), 0);
        assert_eq!(queue.drain(R2s::Rstream)[0].answer, Answered::Boolean(true));
    }
}
