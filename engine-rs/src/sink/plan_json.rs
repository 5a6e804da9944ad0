//! A plan as JSON, for programs: names in full, nothing shortened. `docs/reference/queries.md` documents the members.

use super::json_text::{Object, push_list};
use crate::plan::{BufferView, IndexView, Mode, NodeView, PlanView, QueryView, SourceView, Warning, WindowView};
use std::fmt::Write;

/// The plan as one JSON object.
pub(crate) fn plan_json(plan: &PlanView) -> String {
    let mut text = String::new();
    let mut object = Object::open(&mut text);
    push_query(object.key("query"), &plan.query);
    push_list(object.key("windows"), &plan.windows, push_window);
    object.value("incremental", plan.is_incremental);
    push_node(object.key("root"), &plan.root, &plan.windows);
    push_list(object.key("warnings"), &plan.warnings, push_warning);
    object.close();
    text
}

fn push_query(text: &mut String, query: &QueryView) {
    let mut object = Object::open(text);
    object.string("dialect", &query.dialect);
    object.string("form", query.form);
    object.strings("variables", &query.variables);
    object.string("r2s", query.r2s);
    object.strings("report", &query.report);
    object.string("tick", query.tick);
    object.string("semantics", query.semantics);
    if let Some(output) = &query.output {
        object.string("output", output);
    }
    object.close();
}

fn push_window(text: &mut String, window: &WindowView) {
    let mut object = Object::open(text);
    object.string("name", &window.name.iri);
    object.string("short", &window.name.short);
    object.string("stream", &window.stream.iri);
    object.string("kind", window.kind);
    object.string("text", &window.text);
    object.value("line", window.position.line);
    object.value("column", window.position.column);
    if let Some(merged) = window.merged {
        object.value("merged", merged);
    }
    object.close();
}

pub(super) fn push_node(text: &mut String, node: &NodeView, windows: &[WindowView]) {
    let mut object = Object::open(text);
    object.string("operator", node.operator);
    object.string("detail", &node.detail);
    object.string("mode", node.mode.word());
    if let Mode::Reevaluated { reason } = node.mode {
        object.string("reason", reason.words());
    }
    object.strings("variables", &node.variables);
    if !node.keys.is_empty() {
        object.strings("keys", &node.keys);
    }
    object.value("keeps", node.keeps);
    if let Some(bytes) = node.bytes {
        object.value("bytes", bytes);
    }
    object.value("emitted", node.emitted);
    if let Some(retraction) = node.retraction {
        object.string("retraction", retraction);
        let roles: Vec<_> = node.buffers.iter().enumerate().collect();
        push_list(object.key("buffers"), &roles, |text, (role, buffer)| push_buffer(text, *role, buffer, windows));
        object.value("early_stops", node.early_stops);
        if let Some((live, bytes)) = node.trees {
            let mut trees = Object::open(object.key("trees"));
            trees.value("live", live);
            trees.value("bytes", bytes);
            trees.close();
        }
        push_list(object.key("orders"), &node.orders, |text, (order, taken)| push_order(text, order, *taken));
    }
    push_list(object.key("inputs"), &node.inputs, |text, input| push_node(text, input, windows));
    object.close();
}

fn push_buffer(text: &mut String, role: usize, buffer: &BufferView, windows: &[WindowView]) {
    let mut object = Object::open(text);
    object.value("role", role);
    match &buffer.source {
        SourceView::Leaf { pattern, condition, window, matched, merged } => {
            object.string("pattern", pattern);
            if let Some(condition) = condition {
                object.string("condition", condition);
            }
            object.string("window", &windows[*window].name.iri);
            object.value("matched", matched);
            if let Some(merged) = merged {
                object.value("merged", merged);
            }
        }
        SourceView::Input(input) => object.value("input", input),
    }
    object.value("live", buffer.live);
    object.value("bytes", buffer.bytes);
    push_list(object.key("indexes"), &buffer.indexes, |text, IndexView { on, keys, bytes }| {
        let mut index = Object::open(text);
        index.strings("on", on);
        index.value("keys", keys);
        index.value("bytes", bytes);
        index.close();
    });
    if let Some(variable) = &buffer.ordered_on {
        object.string("ordered_on", variable);
    }
    object.close();
}

pub(super) fn push_warning(text: &mut String, warning: &Warning) {
    let mut object = Object::open(text);
    object.string("code", warning.code);
    object.string("message", &warning.message);
    object.string("hint", &warning.hint);
    if let Some(position) = warning.position {
        object.value("line", position.line);
        object.value("column", position.column);
    }
    object.close();
}

fn push_order(text: &mut String, order: &[usize], taken: u64) {
    let mut object = Object::open(text);
    push_list(object.key("order"), order, |text, role| {
        let _ = write!(text, "{role}");
    });
    object.value("taken", taken);
    object.close();
}
