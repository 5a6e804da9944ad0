//! Results as bytes: SPARQL 1.1 Results JSON inside the envelope, N-Triples for graphs.

use super::queue::{Answered, QueryResult, Rows};
use crate::encode::Dictionary;
use crate::parse::R2s;
use crate::time::Timestamp;
use oxrdf::{NamedNode, Term, TermRef, Variable};
use sparesults::{QueryResultsFormat, QueryResultsSerializer};
use std::fmt::Write;

/// One report as a JSON object: where and when, and the untouched standard format inside.
#[must_use]
pub fn envelope_json(
    query: &str,
    windows: &[NamedNode],
    variables: &[Variable],
    result: &QueryResult,
    dictionary: &Dictionary,
) -> Vec<u8> {
    let mut text = String::from("{\"query\":");
    push_string(&mut text, query);
    let _ = write!(text, ",\"seq\":{},\"t\":{},\"windows\":[", result.seq, result.at);
    for (i, (name, window)) in windows.iter().zip(&result.windows).enumerate() {
        text.push_str(if i > 0 { ",{\"name\":" } else { "{\"name\":" });
        push_string(&mut text, name.as_str());
        let open = if window.open == Timestamp::MIN { "null".to_owned() } else { window.open.to_string() };
        let _ = write!(text, ",\"open\":{open},\"close\":{}}}", window.close);
    }
    let _ = write!(text, "],\"r2s\":\"{}\",\"type\":", r2s_name(result.r2s));
    let mut bytes = text.into_bytes();
    push_answer(&mut bytes, variables, result, dictionary);
    bytes.push(b'}');
    bytes
}

fn push_answer(bytes: &mut Vec<u8>, variables: &[Variable], result: &QueryResult, dictionary: &Dictionary) {
    match &result.answer {
        Answered::Boolean(value) => {
            bytes
                .extend_from_slice(format!("\"boolean\",\"results\":{{\"head\":{{}},\"boolean\":{value}}}").as_bytes());
        }
        Answered::Bindings { inserted, deleted } => {
            let rows = |rows: &Rows| bindings_json(variables, rows, dictionary);
            push_sides(bytes, "bindings", result.r2s, inserted, deleted, rows);
        }
        Answered::Graph { inserted, deleted } => {
            let rows = |rows: &Rows| {
                let mut text = String::new();
                push_string(&mut text, &graph_ntriples(rows, dictionary));
                text.into_bytes()
            };
            push_sides(bytes, "graph", result.r2s, inserted, deleted, rows);
        }
    }
}

fn push_sides(
    bytes: &mut Vec<u8>,
    kind: &str,
    r2s: R2s,
    inserted: &Rows,
    deleted: &Rows,
    render: impl Fn(&Rows) -> Vec<u8>,
) {
    if r2s == R2s::Changes {
        bytes.extend_from_slice(b"\"changes\",\"insert\":");
        bytes.extend(render(inserted));
        bytes.extend_from_slice(b",\"delete\":");
        bytes.extend(render(deleted));
        return;
    }
    bytes.extend_from_slice(format!("\"{kind}\",\"results\":").as_bytes());
    bytes.extend(render(if r2s == R2s::Dstream { deleted } else { inserted }));
}

/// Rows in the standard JSON format.
#[must_use]
pub fn bindings_json(variables: &[Variable], rows: &Rows, dictionary: &Dictionary) -> Vec<u8> {
    let serializer = QueryResultsSerializer::from_format(QueryResultsFormat::Json);
    let write = || -> std::io::Result<Vec<u8>> {
        let mut writer = serializer.serialize_solutions_to_writer(Vec::new(), variables.to_vec())?;
        for row in rows.iter() {
            let terms: Vec<Option<Term>> = row.iter().map(|id| id.is_bound().then(|| dictionary.term(*id))).collect();
            let bound =
                variables.iter().zip(&terms).filter_map(|(v, t)| t.as_ref().map(|t| (v.as_ref(), TermRef::from(t))));
            writer.serialize(bound)?;
        }
        writer.finish()
    };
    write().expect("writing to memory does not fail")
}

/// Triples as N-Triples, one a line.
#[must_use]
pub fn graph_ntriples(rows: &Rows, dictionary: &Dictionary) -> String {
    let mut text = String::new();
    for row in rows.iter() {
        let terms: Vec<String> = row.iter().map(|id| dictionary.term(*id).to_string()).collect();
        text.push_str(&terms.join(" "));
        text.push_str(" .\n");
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

pub(super) fn push_string(text: &mut String, value: &str) {
    text.push('"');
    for c in value.chars() {
        match c {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            c if (c as u32) < 0x20 => {
                let _ = write!(text, "\\u{:04x}", c as u32);
            }
            c => text.push(c),
        }
    }
    text.push('"');
}
