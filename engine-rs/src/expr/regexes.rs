//! `REGEX` and `REPLACE`, with patterns that match in time linear in the text.
//!
//! A byte of text can still cost as many steps as the pattern has positions after its repetitions are expanded:
//! `(a|b){200}` has 200. A match is therefore charged for both, and one that would block all other work stops the
//! query. The charge depends only on pattern and text, never on earlier matches or on a clock, so a replay stops at the
//! same place.

use super::text::Text;
use super::value::Value;
use crate::limits::Budget;
use regex::{Regex, RegexBuilder};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Hir, HirKind};
use std::borrow::Cow;
use std::sync::Arc;

const PATTERN_BYTES_MAX: usize = 16 * 1024;
const PROGRAM_BYTES_MAX: usize = 1_000_000;
const POSITIONS_MAX: u64 = 16 * 1024;
/// The number of patterns that one evaluation pays for only once. A constant and not a threshold, because it affects
/// what a query may cost.
const PAID_MAX: usize = 16;
/// Bytes times positions that one match may take: half a second in the worst case, very little in most.
const STEPS_MAX: u64 = 16 << 20;
/// Steps per unit of work.
const STEPS_PER_UNIT: u64 = 4;
/// Finding groups takes a slower algorithm.
const STEPS_WITH_GROUPS: u64 = 4;
/// Bytes after a match that count as one unit of work.
const REST_BYTES_PER_UNIT: u64 = 256;
/// The cost of compiling a pattern: milliseconds in the worst case.
const COMPILED_UNITS: u64 = 20_000;

/// A pattern that is ready to match.
#[derive(Clone, Debug)]
pub(super) struct Program {
    regex: Regex,
    positions: u64,
}

impl Program {
    /// Pays for one pass over the text.
    fn pay(&self, text: &str, steps_each: u64, budget: &mut Budget) {
        let steps = (text.len() as u64).saturating_mul(self.positions).saturating_mul(steps_each);
        budget.spend(if steps > STEPS_MAX { u64::MAX } else { steps / STEPS_PER_UNIT });
    }
}

/// Cache of computed patterns: the last few stay compiled, including those that failed to compile.
#[derive(Debug)]
pub(super) struct RegexCache {
    entries: Ring<(Key, Option<Arc<Program>>)>,
    /// The patterns that this evaluation has paid for, whether or not an earlier one compiled them: the cache differs
    /// after a restart, and the charge must not.
    paid: Ring<Key>,
    evaluation: u64,
}

type Key = (String, String);

#[cfg(test)]
impl Default for RegexCache {
    fn default() -> Self {
        Self::new(crate::thresholds::Thresholds::default().regexes_cached_max)
    }
}

impl RegexCache {
    pub(super) fn new(cached_max: usize) -> Self {
        Self { entries: Ring::new(cached_max), paid: Ring::new(PAID_MAX), evaluation: 0 }
    }

    pub(super) fn get(&mut self, pattern: &str, flags: &str, budget: &mut Budget) -> Option<Arc<Program>> {
        if self.evaluation != budget.evaluation() {
            (self.evaluation, self.paid) = (budget.evaluation(), Ring::new(PAID_MAX));
        }
        let is = |key: &Key| key.0 == pattern && key.1 == flags;
        if self.paid.find(is).is_none() {
            budget.spend(COMPILED_UNITS);
            self.paid.push((pattern.to_owned(), flags.to_owned()));
        }
        if let Some((_, program)) = self.entries.find(|(key, _)| is(key)) {
            return program.clone();
        }
        let program = compile(pattern, flags);
        self.entries.push(((pattern.to_owned(), flags.to_owned()), program.clone()));
        program
    }
}

/// A cache of the last few entries.
#[derive(Debug)]
struct Ring<T> {
    entries: Vec<T>,
    /// The capacity; at least 1.
    entries_max: usize,
    next: usize,
}

impl<T> Ring<T> {
    fn new(entries_max: usize) -> Self {
        Self { entries: Vec::new(), entries_max: entries_max.max(1), next: 0 }
    }

    fn find(&self, is: impl Fn(&T) -> bool) -> Option<&T> {
        self.entries.iter().find(|entry| is(entry))
    }

    fn push(&mut self, entry: T) {
        if self.entries.len() < self.entries_max {
            self.entries.push(entry);
        } else {
            self.entries[self.next % self.entries_max] = entry;
            self.next += 1;
        }
    }
}

/// `None` when pattern or flags are not valid, or the pattern is too large.
pub(super) fn compile(pattern: &str, flags: &str) -> Option<Arc<Program>> {
    if pattern.len() > PATTERN_BYTES_MAX || flags.chars().any(|flag| !"smixq".contains(flag)) {
        return None;
    }
    let has = |flag| flags.contains(flag);
    let pattern = if has('q') { Cow::Owned(regex::escape(pattern)) } else { Cow::Borrowed(pattern) };
    let mut parser = ParserBuilder::new();
    parser.dot_matches_new_line(has('s')).multi_line(has('m')).case_insensitive(has('i')).ignore_whitespace(has('x'));
    let positions = positions(&parser.build().parse(&pattern).ok()?);
    if positions > POSITIONS_MAX {
        return None;
    }
    let mut builder = RegexBuilder::new(&pattern);
    builder.dot_matches_new_line(has('s')).multi_line(has('m')).case_insensitive(has('i')).ignore_whitespace(has('x'));
    let regex = builder.size_limit(PROGRAM_BYTES_MAX).build().ok()?;
    Some(Arc::new(Program { regex, positions }))
}

/// The number of characters and classes in the pattern after its repetitions are expanded; at least one.
fn positions(hir: &Hir) -> u64 {
    let found: u64 = match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => 0,
        HirKind::Literal(literal) => literal.0.len() as u64,
        HirKind::Class(_) => 1,
        HirKind::Repetition(repetition) => {
            let times = u64::from(repetition.max.unwrap_or(repetition.min));
            positions(&repetition.sub).saturating_mul(times.max(1))
        }
        HirKind::Capture(capture) => positions(&capture.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => {
            parts.iter().map(positions).fold(0, u64::saturating_add)
        }
    };
    found.max(1)
}

pub(super) fn matches<'d>(text: Value<'d>, program: &Program, budget: &mut Budget) -> Option<Value<'d>> {
    let (text, _) = text.into_text()?;
    program.pay(text.as_str(), 1, budget);
    Some(Value::Boolean(program.regex.is_match(text.as_str())))
}

pub(super) fn replace<'d>(
    text: Value<'d>,
    program: &Program,
    replacement: Value<'d>,
    budget: &mut Budget,
) -> Option<Value<'d>> {
    let (text, language) = text.into_text()?;
    let replacement = replacement.into_string()?;
    program.pay(text.as_str(), STEPS_WITH_GROUPS, budget);
    let replaced = replace_all(text.as_str(), &program.regex, replacement.as_str(), budget)?;
    budget.make_text(replaced.as_ref().map_or(0, String::len));
    Some(Value::plain(replaced.map_or(text, Text::Owned), language))
}

/// Replaces every match, giving up as soon as the result is too long. The inner `None` says that
/// nothing matched.
fn replace_all(text: &str, regex: &Regex, replacement: &str, budget: &mut Budget) -> Option<Option<String>> {
    let references = replacement.bytes().filter(|byte| *byte == b'$').count();
    let mut result = String::new();
    let mut copied_to = 0;
    let mut found = false;
    for captures in regex.captures_iter(text) {
        let matched = captures.get(0)?;
        found = true;
        // To establish that a match is the longest, the engine may have to read the rest of the text (`a*b|a`).
        budget.spend((text.len() - copied_to) as u64 / REST_BYTES_PER_UNIT);
        result.push_str(&text[copied_to..matched.start()]);
        copied_to = matched.end();
        // A group is at most as long as the match, which gives an upper bound before memory is allocated.
        let expanded_max = references.saturating_mul(matched.len()).saturating_add(replacement.len());
        if !budget.admits_literal(result.len().max(expanded_max / 16)) {
            return None;
        }
        captures.expand(replacement, &mut result);
    }
    if !found {
        return Some(None);
    }
    result.push_str(&text[copied_to..]);
    budget.admits_literal(result.len()).then_some(Some(result))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;
    use crate::limits::{Limits, within};

    fn budget() -> Budget {
        Budget::new(Limits { work: Some(10_000_000), ..Limits::default() })
    }

    /// The cost of matching the pattern once against this many bytes; `None` if it stops the query.
    fn units(pattern: &str, bytes: usize) -> Option<u64> {
        let (program, mut budget, text) = (compile(pattern, "").unwrap(), budget(), "ab".repeat(bytes / 2));
        within(|| program.pay(&text, 1, &mut budget)).ok().map(|()| budget.spent())
    }

    #[test]
    fn everyday_patterns_cost_little() {
        for pattern in ["fire", r"\w+@\w+", "alarm|smoke", "a.*b.*c", r"\bfire\b"] {
            assert!(units(pattern, 100).unwrap() <= 280, "{pattern}");
            assert!(units(pattern, 1 << 20).unwrap() <= 4 << 20, "{pattern}");
        }
    }

    #[test]
    fn a_pattern_of_many_positions_pays_for_them_and_stops_on_long_text() {
        let (small, large) = (units("(a|b)*a(a|b){50}c", 100).unwrap(), units("(a|b)*a(a|b){500}c", 100).unwrap());
        assert!(large > 9 * small && large > 3000, "{small} {large}");
        assert_eq!(units("(a|b)*a(a|b){500}c", 1 << 20), None);
    }

    #[test]
    fn what_is_repeated_without_measure_is_not_compiled() {
        assert!(compile("((a{1,100}){1,100}){1,100}", "").is_none());
        assert!(compile("(a{1,50}){1,50}", "").is_some());
    }

    #[test]
    fn a_pattern_is_paid_for_once_in_an_evaluation_whether_it_can_be_compiled_or_not() {
        let (mut cache, mut budget) = (RegexCache::default(), budget());
        for evaluation in 1..3 {
            for _ in 0..1000 {
                assert!(cache.get("((a{1,100}){1,100}){1,100}", "", &mut budget).is_none());
                assert!(cache.get("a+", "", &mut budget).is_some());
            }
            assert_eq!(budget.spent(), 2 * COMPILED_UNITS, "{evaluation}");
            budget.refill();
        }
    }

    #[test]
    fn ever_new_patterns_use_the_budget_up() {
        let (mut cache, mut budget) = (RegexCache::default(), budget());
        let all = within(|| {
            for number in 0..1000 {
                cache.get(&format!("{number}((a{{1,100}}){{1,100}}){{1,100}}"), "", &mut budget);
            }
        });
        assert!(all.is_err());
    }

    #[test]
    fn matches_that_read_all_of_the_rest_pay_for_it() {
        let program = compile("a*b|a", "").unwrap();
        let cost = |bytes: usize| {
            let mut budget = budget();
            within(|| replace_all(&"a".repeat(bytes), &program.regex, "x", &mut budget)).map(|_| budget.spent())
        };
        assert!(cost(1000).unwrap() < 3000);
        assert!(cost(100_000).is_err());
    }

    #[test]
    fn long_patterns_are_not_compiled() {
        assert!(compile(&"a".repeat(PATTERN_BYTES_MAX), "").is_some());
        assert!(compile(&"a".repeat(PATTERN_BYTES_MAX + 1), "").is_none());
    }
}
