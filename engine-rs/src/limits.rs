//! Budgets limit what one query may cost, counted in work and not in time, so that a replay stops at the same place.
//! Only an ad-hoc query, which is in no log, also has a [`Deadline`].
//!
//! Limits are set for an engine and apply to each query separately. Registration refuses what exceeds them. While a
//! query runs, its [`Budget`] is refilled before every evaluation, and exceeding it unwinds, as a panic would, to the
//! boundary that isolates queries from each other (`RunningQuery::guarded`). Unwinding is needed because operators
//! cannot return an error (an expression that fails is a value); it leaves nested loops at once and costs nothing
//! otherwise. The state of a stopped query is dropped. Cost per unit: one subtraction.

use crate::codec::{Decoded, Reader, Writer};
use crate::time::Span;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// The longest string that an expression may create by default; beyond it, the expression has no value.
const LITERAL_BYTES: usize = 1 << 20;
/// The longest default GROUP_CONCAT; beyond it, the aggregate has no value.
const CONCAT_BYTES: usize = 8 << 20;
/// Bytes of text that one unit of work pays for reading: what the slowest functions, SUBSTR and digests, read in the
/// time of one unit.
const BYTES_READ: u64 = 8;
/// Bytes of text that one unit pays for creating and keeping: the size of a term in a row.
const BYTES_MADE: u64 = 8;

/// Units of work between two looks at the clock of a deadline: well below a millisecond.
const WORK_BETWEEN_LOOKS: u64 = 2048;
const TIME: &str = "milliseconds";

/// What one query may cost; `None` means unlimited.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Limits {
    /// Units of work in one evaluation: mappings visited, terms of rows passed on, expressions evaluated, quads read
    /// and terms copied by re-evaluation, 8 bytes of text read or created. A search in re-evaluation and an operation
    /// on decimals count as several units; `cargo bench --bench budget` measures how long a unit takes.
    pub work: Option<u64>,
    /// Rows in one result.
    pub result_rows: Option<usize>,
    /// Mappings, rows and groups that a query keeps, including its share of leaves. Measured whenever the state may
    /// have grown by an eighth of the limit.
    pub state_rows: Option<usize>,
    /// Bytes of a string that an expression creates.
    pub literal_bytes: Option<usize>,
    /// Bytes of a GROUP_CONCAT.
    pub concat_bytes: Option<usize>,
    /// Windows in a query.
    pub windows: Option<usize>,
    /// The longest time between the oldest and the newest event of a window by time.
    pub window_width: Option<Span>,
    /// Triple patterns in a query.
    pub triple_patterns: Option<usize>,
    /// Whether products and open closures are refused at registration, unless the registration allows them.
    pub refuse_costly: bool,
}

impl Limits {
    /// Recommended limits for untrusted queries.
    #[must_use]
    pub const fn guarded() -> Self {
        Self {
            work: Some(10_000_000),
            result_rows: Some(100_000),
            state_rows: Some(1_000_000),
            literal_bytes: Some(LITERAL_BYTES),
            concat_bytes: Some(CONCAT_BYTES),
            windows: Some(16),
            window_width: Some(Span::from_millis(24 * 60 * 60 * 1000)),
            triple_patterns: Some(64),
            refuse_costly: true,
        }
    }
}

/// A limit that was exceeded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Breach {
    what: &'static str,
    limit: &'static str,
    value: u64,
}

impl Breach {
    /// A query would report at too many instants in one step of the watermark.
    pub(crate) fn of_repeated_reports(value: u64) -> Self {
        Self { what: "reports without a new event", limit: "repeated_reports", value }
    }

    /// The limit that was exceeded, with its value.
    pub(crate) fn limit(&self) -> String {
        let Self { what, limit, value } = self;
        format!("the limit {limit} ({value} {what})")
    }
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, limit, value } = self;
        write!(f, "too costly: more than {value} {what} (limit {limit})")
    }
}

impl Breach {
    /// Whether the deadline has passed, as opposed to a limit of the query.
    pub(crate) fn is_of_time(&self) -> bool {
        self.limit == TIME
    }
}

/// How long an ad-hoc query may take by the host's clock. Evaluations that the log repeats must not have a deadline,
/// because a replay runs at another speed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    /// Nanoseconds since an arbitrary start.
    pub now_ns: fn() -> u64,
    pub at_ns: u64,
    pub allowed_ms: u64,
}

impl Deadline {
    pub(crate) fn after(allowed_ms: u64, now_ns: fn() -> u64) -> Self {
        let at_ns = now_ns().saturating_add(allowed_ms.saturating_mul(1_000_000));
        Self { now_ns, at_ns, allowed_ms }
    }

    /// Unwinds when the deadline has passed.
    pub(crate) fn check(&self) {
        if (self.now_ns)() > self.at_ns {
            stop("milliseconds of evaluation", TIME, self.allowed_ms);
        }
    }
}

/// The remaining budget of a query at the instant under evaluation.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    /// Boxed, because an evaluation reads only the copies below.
    limits: Box<Limits>,
    /// The limits for the work of one evaluation and for the rows of a report.
    work_max: u64,
    rows_max: u64,
    work_left: u64,
    /// Work that is released only after the next look at the clock.
    work_behind: u64,
    deadline: Option<Deadline>,
    /// Work since the state was last measured: state cannot grow without work.
    unmeasured: u64,
    /// The amount of work after which the state is measured again.
    measure_at: u64,
    /// The number of refills.
    evaluation: u64,
}

impl Default for Budget {
    fn default() -> Self {
        Self::new(Limits::default())
    }
}

impl Budget {
    pub(crate) fn new(limits: Limits) -> Self {
        let work_max = limits.work.unwrap_or(u64::MAX);
        Self {
            work_max,
            rows_max: limits.result_rows.map_or(u64::MAX, |rows| rows as u64),
            work_left: work_max,
            work_behind: 0,
            deadline: None,
            unmeasured: 0,
            measure_at: limits.state_rows.map_or(u64::MAX, |rows| rows as u64),
            evaluation: 0,
            limits: Box::new(limits),
        }
    }

    /// A budget for a part of the evaluation with this number.
    pub(crate) fn of_evaluation(limits: Limits, evaluation: u64) -> Self {
        Self { evaluation, ..Self::new(limits) }
    }

    /// The budget of an ad-hoc query that also has a deadline.
    pub(crate) fn until(limits: Limits, deadline: Option<Deadline>) -> Self {
        let mut budget = Self { deadline, ..Self::new(limits) };
        if deadline.is_some() {
            budget.portion_out(budget.work_left);
        }
        budget
    }

    fn portion_out(&mut self, left: u64) {
        self.work_left = left.min(WORK_BETWEEN_LOOKS);
        self.work_behind = left - self.work_left;
    }

    /// The work left until the next measurement of the state. It is saved, because it determines the evaluation in
    /// which a query with too much state stops.
    pub(crate) fn save(&self, to: &mut Writer) {
        to.option(self.limits.state_rows, Writer::count);
        to.u64(self.spent());
        to.u64(self.unmeasured);
        to.u64(self.measure_at);
    }

    /// Restores the saved budget of a query under the current limits. If the limit has changed, the state is measured
    /// as soon as in a new query.
    pub(crate) fn restored(limits: Limits, from: &mut Reader<'_>) -> Decoded<Self> {
        let mut budget = Self::new(limits);
        let state_rows = from.option(Reader::number)?;
        budget.work_left = budget.work_left.saturating_sub(from.u64()?);
        budget.unmeasured = from.u64()?;
        let measure_at = from.u64()?;
        if state_rows == limits.state_rows {
            budget.measure_at = measure_at;
        }
        Ok(budget)
    }

    /// Runs work that was already paid for: a restore recomputes what follows from the state.
    pub(crate) fn paid(&self) -> Self {
        Self::new(Limits { work: None, ..*self.limits })
    }

    pub(crate) fn limits(&self) -> Limits {
        *self.limits
    }

    /// Units of work since the last refill.
    #[inline]
    pub(crate) fn spent(&self) -> u64 {
        self.work_max - self.work_left - self.work_behind
    }

    /// Distinguishes evaluations within this process.
    pub(crate) fn evaluation(&self) -> u64 {
        self.evaluation
    }

    /// Ends an evaluation: the next one has the full budget again.
    #[inline]
    pub(crate) fn refill(&mut self) {
        self.unmeasured = self.unmeasured.saturating_add(self.spent());
        self.evaluation += 1;
        self.work_left = self.work_max;
    }

    /// Spends units of work; unwinds if the budget does not cover them.
    #[inline]
    pub(crate) fn spend(&mut self, units: u64) {
        match self.work_left.checked_sub(units) {
            Some(left) => self.work_left = left,
            None => self.spend_further(units),
        }
    }

    #[cold]
    fn spend_further(&mut self, units: u64) {
        match (self.work_left + self.work_behind).checked_sub(units) {
            Some(left) if self.deadline.is_some() => {
                self.deadline.iter().for_each(Deadline::check);
                self.portion_out(left);
            }
            _ => self.stop_working(),
        }
    }

    /// Like [`Budget::spend`], for a number of rows with a number of columns.
    #[inline]
    pub(crate) fn spend_rows(&mut self, rows: usize, width: usize) {
        self.spend((rows as u64).saturating_mul(width.max(1) as u64));
    }

    /// Like [`Budget::spend`], for text that is read.
    #[inline]
    pub(crate) fn read_text(&mut self, bytes: usize) {
        self.spend(bytes as u64 / BYTES_READ);
    }

    /// Like [`Budget::spend`], for text that is created.
    #[inline]
    pub(crate) fn make_text(&mut self, bytes: usize) {
        self.spend(bytes as u64 / BYTES_MADE);
    }

    #[cold]
    fn stop_working(&self) -> ! {
        stop("units of work in one evaluation", "work", self.work_max)
    }

    /// Whether an expression may create a string of this length. Beyond the default limit, the expression has no value;
    /// beyond a limit that the user has set, the query stops, because "no value" would hide the problem.
    pub(crate) fn admits_literal(&self, bytes: usize) -> bool {
        admits(bytes, self.limits.literal_bytes, LITERAL_BYTES, "bytes in a computed literal", "literal_bytes")
    }

    /// Like [`Budget::admits_literal`], for GROUP_CONCAT.
    pub(crate) fn admits_concat(&self, bytes: usize) -> bool {
        admits(bytes, self.limits.concat_bytes, CONCAT_BYTES, "bytes in a GROUP_CONCAT", "concat_bytes")
    }

    /// Unwinds if a result would have more rows than allowed.
    #[inline]
    pub(crate) fn admit_result(&self, rows: u64) {
        if rows > self.rows_max {
            stop("rows in one report", "result_rows", self.rows_max);
        }
    }

    /// Whether the work since the last measurement suffices for the state to have exceeded its limit, or to have grown
    /// by an eighth of it.
    #[inline]
    pub(crate) fn must_measure(&self) -> bool {
        self.unmeasured >= self.measure_at
    }

    /// Records the measured size of the state; unwinds if it exceeds the limit.
    pub(crate) fn measured(&mut self, rows: usize) {
        let Some(limit) = self.limits.state_rows else { return };
        if rows > limit {
            stop("mappings kept", "state_rows", limit as u64);
        }
        self.unmeasured = 0;
        self.measure_at = ((limit - rows) as u64).max(limit as u64 / 8).max(1);
    }
}

fn admits(bytes: usize, limit: Option<usize>, usual: usize, what: &'static str, name: &'static str) -> bool {
    match limit {
        Some(limit) if bytes > limit => stop(what, name, limit as u64),
        Some(_) => true,
        None => bytes <= usual,
    }
}

#[cold]
fn stop(what: &'static str, limit: &'static str, value: u64) -> ! {
    resume_unwind(Box::new(Breach { what, limit, value }))
}

/// Runs work that spends a budget, and returns the limit that it exceeded. Other panics propagate.
pub(crate) fn within<T>(work: impl FnOnce() -> T) -> Result<T, Breach> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| match panic.downcast::<Breach>() {
        Ok(breach) => *breach,
        Err(panic) => resume_unwind(panic),
    })
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;

    fn budget() -> Budget {
        Budget::new(Limits { work: Some(10), state_rows: Some(100), literal_bytes: Some(5), ..Limits::default() })
    }

    #[test]
    fn the_last_unit_can_be_spent_and_the_next_stops() {
        let mut budget = budget();
        budget.spend(10);
        let breach = within(|| budget.spend(1)).unwrap_err();
        assert_eq!(breach.to_string(), "too costly: more than 10 units of work in one evaluation (limit work)");
        budget.refill();
        assert!(within(|| budget.spend(10)).is_ok());
    }

    #[test]
    fn without_limits_long_text_has_no_value_and_nothing_stops() {
        let mut budget = Budget::default();
        budget.spend(u64::MAX / 2);
        assert!(budget.admits_literal(LITERAL_BYTES) && !budget.admits_literal(LITERAL_BYTES + 1));
        budget.admit_result(u64::MAX);
        budget.refill();
        assert!(!budget.must_measure());
    }

    #[test]
    fn with_a_limit_long_text_stops_the_query() {
        let budget = budget();
        assert!(budget.admits_literal(5));
        assert!(within(|| budget.admits_literal(6)).is_err());
    }

    #[test]
    fn state_is_measured_before_it_can_have_passed_its_limit_by_an_eighth() {
        let mut budget = budget();
        for _ in 0..10 {
            assert!(!budget.must_measure());
            budget.spend(10);
            budget.refill();
        }
        assert!(budget.must_measure());
        budget.measured(95);
        assert!(!budget.must_measure());
        budget.spend(10);
        budget.refill();
        budget.spend(2);
        budget.refill();
        assert!(budget.must_measure());
        assert!(within(|| budget.measured(101)).is_err());
    }

    #[test]
    fn a_question_looks_at_the_clock_and_still_spends_all_of_its_work() {
        let limits = Limits { work: Some(3 * WORK_BETWEEN_LOOKS), ..Limits::default() };
        let mut in_time = Budget::until(limits, Some(Deadline::after(1, || 0)));
        in_time.spend(3 * WORK_BETWEEN_LOOKS - 1);
        in_time.spend(1);
        assert_eq!(in_time.spent(), 3 * WORK_BETWEEN_LOOKS);
        assert!(!within(|| in_time.spend(1)).unwrap_err().is_of_time());
        let over = Deadline { at_ns: 0, ..Deadline::after(1, || 7) };
        let mut late = Budget::until(limits, Some(over));
        late.spend(WORK_BETWEEN_LOOKS);
        assert!(within(|| late.spend(1)).unwrap_err().is_of_time());
    }

    #[test]
    fn a_panic_is_no_breach() {
        let outcome = catch_unwind(|| within(|| resume_unwind(Box::new("a fault"))).is_err());
        assert!(outcome.is_err());
    }
}
