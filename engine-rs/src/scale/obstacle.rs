//! The reasons in a query's clauses for running on one partition; the planner finds those in its pattern.

use crate::parse::{ContinuousQuery, Report, Tick, WindowKind};
use spargebra::Query;

/// The first reason, worded to follow "runs on one partition:".
pub(super) fn obstacle(query: &ContinuousQuery) -> Option<String> {
    by_form(query).or_else(|| by_time(query)).or_else(|| by_windows(query))
}

fn by_form(query: &ContinuousQuery) -> Option<String> {
    let form = match query.query {
        Query::Select { .. } => return None,
        Query::Construct { .. } => "CONSTRUCT gives one graph, a set, out of the rows of all partitions",
        Query::Ask { .. } => "ASK gives one boolean out of the rows of all partitions",
        Query::Describe { .. } => "DESCRIBE reads every triple of its windows",
    };
    Some(form.to_owned())
}

fn by_time(query: &ContinuousQuery) -> Option<String> {
    if query.tick == Tick::Tuple {
        return Some(String::from("with tick tuple, events are evaluated one at a time, in their overall order"));
    }
    let Report { close, change, nonempty, periodic } = query.report;
    let other = match (close, change, nonempty, periodic) {
        (_, true, _, _) => "change",
        (_, _, true, _) => "nonempty",
        (_, _, _, Some(_)) => "periodic",
        (false, ..) => "at every instant",
        _ => return None,
    };
    Some(format!("report {other} depends on the events of all partitions"))
}

fn by_windows(query: &ContinuousQuery) -> Option<String> {
    query.windows.iter().find_map(|window| {
        let reason = match window.kind {
            _ if window.time_predicate.is_some() => "reads its time from the data",
            WindowKind::Step { .. } | WindowKind::Past { .. } => return None,
            WindowKind::Elements { .. } | WindowKind::Triples { .. } => "counts what comes to all partitions",
            WindowKind::Sliding { .. } | WindowKind::Now | WindowKind::All => {
                "moves with every event of all partitions"
            }
        };
        Some(format!("the window {} {reason}", window.name))
    })
}
