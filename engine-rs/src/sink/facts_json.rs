//! The description of a query as JSON, for registered and for validated queries; see `docs/reference/queries.md`.

use super::json_text::{Object, push_list, push_string};
use super::plan_json::{push_node, push_warning};
use crate::plan::{PlanView, QueryView, WindowView};

/// The facts of a registered query; `graphs` holds, for each window, the name under which its content can be read.
pub(crate) fn facts_json(plan: &PlanView, graphs: &[Option<String>]) -> String {
    let mut text = String::new();
    let mut object = Object::open(&mut text);
    push_facts(&mut object, plan, graphs);
    push_list(object.key("warnings"), &plan.warnings, push_warning);
    object.close();
    text
}

/// The facts, the plan and the warnings of a query that is not registered.
pub(crate) fn validation_json(plan: &PlanView) -> String {
    let mut text = String::new();
    let mut object = Object::open(&mut text);
    push_facts(&mut object, plan, &[]);
    push_plan(object.key("plan"), plan);
    push_list(object.key("warnings"), &plan.warnings, push_warning);
    object.close();
    text
}

fn push_facts(object: &mut Object<'_>, plan: &PlanView, graphs: &[Option<String>]) {
    let QueryView { dialect, form, names, r2s, report, tick, semantics, bounds, output, .. } = &plan.query;
    object.string("dialect", dialect);
    object.string("form", form);
    object.strings("variables", names);
    object.string("r2s", r2s);
    object.strings("report", report);
    object.string("tick", tick);
    object.string("semantics", semantics);
    object.string("bounds", bounds);
    let windows: Vec<_> = plan.windows.iter().enumerate().collect();
    push_list(object.key("windows"), &windows, |text, (number, window)| {
        push_window(text, window, graphs.get(*number).and_then(Option::as_deref));
    });
    object.strings("streams", &streams(plan));
    push_optional_string(object.key("output"), output.as_deref());
}

fn push_window(text: &mut String, window: &WindowView, graph: Option<&str>) {
    let mut object = Object::open(text);
    object.string("name", &window.name.iri);
    object.string("short", &window.name.short);
    object.string("stream", &window.stream.iri);
    object.string("kind", window.kind);
    object.string("text", &window.text);
    object.optional("range_ms", window.range_ms);
    object.optional("step_ms", window.step_ms);
    push_optional_string(object.key("graph"), graph);
    object.value("line", window.position.line);
    object.value("column", window.position.column);
    object.close();
}

/// The streams without duplicates, in the order of the windows.
fn streams(plan: &PlanView) -> Vec<String> {
    let mut streams: Vec<String> = Vec::new();
    for window in &plan.windows {
        if !streams.contains(&window.stream.iri) {
            streams.push(window.stream.iri.clone());
        }
    }
    streams
}

fn push_plan(text: &mut String, plan: &PlanView) {
    let mut object = Object::open(text);
    object.value("incremental", plan.is_incremental);
    object.string("text", &plan.to_text());
    push_node(object.key("root"), &plan.root, &plan.windows);
    object.close();
}

fn push_optional_string(text: &mut String, value: Option<&str>) {
    match value {
        Some(value) => push_string(text, value),
        None => text.push_str("null"),
    }
}
