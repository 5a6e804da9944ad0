//! Results as bytes: SPARQL 1.1 Results JSON inside the envelope, N-Triples for graphs.

use super::json_text::{push_list, push_string};
use super::queue::{Answered, QueryResult, Rows, Skipped};
use super::term_json::push_bindings;
use crate::encode::Dictionary;
use crate::parse::R2s;
use crate::time::Timestamp;
use crate::window::WindowBounds;
use oxrdf::{NamedNode, Variable};
use std::fmt::Write;

/// The members that all envelopes of one query have in common.
#[derive(Clone, Copy, Debug)]
pub struct Sender<'a> {
    /// The name of the query.
    pub query: &'a str,
    /// Which registration of the name this is; if set, every envelope has a token `incarnation:seq`.
    pub incarnation: Option<&'a str>,
    pub windows: &'a [NamedNode],
    pub variables: &'a [Variable],
}

/// One result as a JSON object: sender, windows and time, with the standard results format inside, unchanged.
#[must_use]
pub fn envelope_json(sender: &Sender<'_>, result: &QueryResult, dictionary: &Dictionary) -> Vec<u8> {
    let mut text = String::with_capacity(256 + 128 * result.n_rows() * sender.variables.len().max(1));
    text.push_str("{\"query\":");
    push_string(&mut text, sender.query);
    if let Some(incarnation) = sender.incarnation {
        text.push_str(",\"incarnation\":");
        push_string(&mut text, incarnation);
    }
    let _ = write!(text, ",\"seq\":{}", result.seq);
    if let Some(incarnation) = sender.incarnation {
        text.push_str(",\"token\":");
        push_string(&mut text, &format!("{incarnation}:{}", result.seq));
    }
    let _ = write!(text, ",\"t\":{},\"windows\":[", result.at);
    for (number, (name, bounds)) in sender.windows.iter().zip(&result.windows).enumerate() {
        if number > 0 {
            text.push(',');
        }
        push_window(&mut text, name.as_str(), *bounds);
    }
    text.push(']');
    if let Some(Skipped { from, to, windows }) = result.skipped {
        let _ = write!(text, ",\"skipped\":{{\"from\":{from},\"to\":{to},\"windows\":{windows}}}");
    }
    let _ = write!(text, ",\"r2s\":\"{}\",\"type\":", r2s_name(result.r2s));
    push_answer(&mut text, sender.variables, result, dictionary);
    text.push('}');
    text.into_bytes()
}

/// Window bounds as the JSON list that envelopes contain.
#[must_use]
pub fn windows_json(names: &[&str], bounds: &[WindowBounds]) -> String {
    let windows: Vec<(&str, WindowBounds)> = names.iter().copied().zip(bounds.iter().copied()).collect();
    let mut text = String::new();
    push_list(&mut text, &windows, |text, (name, bounds)| push_window(text, name, *bounds));
    text
}

fn push_window(text: &mut String, name: &str, bounds: WindowBounds) {
    text.push_str("{\"name\":");
    push_string(text, name);
    for (key, at, unbounded) in [("open", bounds.open, Timestamp::MIN), ("close", bounds.close, Timestamp::MAX)] {
        let _ = match at == unbounded {
            true => write!(text, ",\"{key}\":null"),
            false => write!(text, ",\"{key}\":{at}"),
        };
    }
    text.push('}');
}

fn push_answer(text: &mut String, variables: &[Variable], result: &QueryResult, dictionary: &Dictionary) {
    match &result.answer {
        Answered::Boolean(value) => {
            let _ = write!(text, "\"boolean\",\"results\":{{\"head\":{{}},\"boolean\":{value}}}");
        }
        Answered::Bindings { inserted, deleted } => {
            let rows = |text: &mut String, rows: &Rows| push_bindings(text, variables, rows, dictionary);
            push_sides(text, "bindings", result.r2s, inserted, deleted, rows);
        }
        Answered::Graph { inserted, deleted } => {
            let rows = |text: &mut String, rows: &Rows| push_string(text, &graph_ntriples(rows, dictionary));
            push_sides(text, "graph", result.r2s, inserted, deleted, rows);
        }
    }
}

fn push_sides(
    text: &mut String,
    kind: &str,
    r2s: R2s,
    inserted: &Rows,
    deleted: &Rows,
    push: impl Fn(&mut String, &Rows),
) {
    if r2s == R2s::Changes {
        text.push_str("\"changes\",\"insert\":");
        push(text, inserted);
        text.push_str(",\"delete\":");
        push(text, deleted);
        return;
    }
    let _ = write!(text, "\"{kind}\",\"results\":");
    push(text, if r2s == R2s::Dstream { deleted } else { inserted });
}

/// Rows in the standard JSON format.
#[must_use]
pub fn bindings_json(variables: &[Variable], rows: &Rows, dictionary: &Dictionary) -> Vec<u8> {
    let mut text = String::new();
    push_bindings(&mut text, variables, rows, dictionary);
    text.into_bytes()
}

/// Triples as N-Triples, one per line; N-Quads if they have graph names.
#[must_use]
pub fn graph_ntriples(rows: &Rows, dictionary: &Dictionary) -> String {
    let mut text = String::new();
    for row in rows.iter() {
        for id in row.iter().filter(|id| id.is_bound()) {
            let _ = match id.slot() {
                Some(_) => write!(text, "{} ", dictionary.stored(*id)),
                None => write!(text, "{} ", dictionary.term(*id)),
            };
        }
        text.push_str(".\n");
    }
    text
}

fn r2s_name(r2s: R2s) -> &'static str {
    match r2s {
        R2s::Rstream => "RSTREAM",
        R2s::Istream => "ISTREAM",
        R2s::Dstream => "DSTREAM",
        R2s::Changes => "CHANGES",
    }
}
