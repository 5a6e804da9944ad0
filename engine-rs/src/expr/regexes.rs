//! `REGEX` and `REPLACE`, with patterns that match in linear time.

use super::text::Text;
use super::value::Value;
use crate::limits::Budget;
use regex::{Regex, RegexBuilder};

const COMPILED_BYTES_MAX: usize = 1_000_000;
const CACHED_MAX: usize = 16;

/// Patterns that are computed, not written: the last few stay compiled.
#[derive(Debug, Default)]
pub(super) struct RegexCache {
    entries: Vec<Entry>,
    next: usize,
}

#[derive(Debug)]
struct Entry {
    pattern: String,
    flags: String,
    regex: Option<Regex>,
}

impl RegexCache {
    pub(super) fn get(&mut self, pattern: &str, flags: &str) -> Option<Regex> {
        if let Some(entry) = self.entries.iter().find(|entry| entry.pattern == pattern && entry.flags == flags) {
            return entry.regex.clone();
        }
        let regex = compile(pattern, flags);
        let entry = Entry { pattern: pattern.to_owned(), flags: flags.to_owned(), regex: regex.clone() };
        if self.entries.len() < CACHED_MAX {
            self.entries.push(entry);
        } else {
            self.entries[self.next % CACHED_MAX] = entry;
            self.next += 1;
        }
        regex
    }
}

/// `None` when pattern or flags are not valid, or the automaton would be too large.
pub(super) fn compile(pattern: &str, flags: &str) -> Option<Regex> {
    let escaped = flags.contains('q').then(|| regex::escape(pattern));
    let mut builder = RegexBuilder::new(escaped.as_deref().unwrap_or(pattern));
    builder.size_limit(COMPILED_BYTES_MAX);
    for flag in flags.chars() {
        match flag {
            's' => builder.dot_matches_new_line(true),
            'm' => builder.multi_line(true),
            'i' => builder.case_insensitive(true),
            'x' => builder.ignore_whitespace(true),
            'q' => &mut builder,
            _ => return None,
        };
    }
    builder.build().ok()
}

pub(super) fn matches<'d>(text: Value<'d>, regex: &Regex, budget: &mut Budget) -> Option<Value<'d>> {
    let (text, _) = text.into_text()?;
    budget.read_text(text.as_str().len());
    Some(Value::Boolean(regex.is_match(text.as_str())))
}

pub(super) fn replace<'d>(
    text: Value<'d>,
    regex: &Regex,
    replacement: Value<'d>,
    budget: &mut Budget,
) -> Option<Value<'d>> {
    let (text, language) = text.into_text()?;
    budget.read_text(text.as_str().len());
    let replacement = replacement.into_string()?;
    let replaced = replace_all(text.as_str(), regex, replacement.as_str(), budget)?;
    budget.make_text(replaced.as_ref().map_or(0, String::len));
    Some(Value::plain(replaced.map_or(text, Text::Owned), language))
}

/// Replaces every match, giving up as soon as the result is too long. The inner `None` says that
/// nothing matched.
fn replace_all(text: &str, regex: &Regex, replacement: &str, budget: &Budget) -> Option<Option<String>> {
    let references = replacement.bytes().filter(|byte| *byte == b'$').count();
    let mut result = String::new();
    let mut copied_to = 0;
    let mut found = false;
    for captures in regex.captures_iter(text) {
        let matched = captures.get(0)?;
        found = true;
        result.push_str(&text[copied_to..matched.start()]);
        copied_to = matched.end();
        // A group is at most as long as the match: an upper bound before memory is spent.
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
