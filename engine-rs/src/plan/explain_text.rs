//! Prints a plan as text: the query, its windows, and one line per operator with its inputs indented below.

use super::explain::{BufferView, IndexView, LEAF, Mode, NodeView, PlanView, SourceView, WindowView};
use super::warnings::REEVALUATED;
use std::fmt::Write;

/// Longer details are cut so that a line fits a terminal. JSON has them in full.
const DETAIL_MAX: usize = 160;

impl PlanView {
    pub(crate) fn to_text(&self) -> String {
        let mut text = self.head();
        for window in &self.windows {
            let WindowView { name, stream, text: kind, position, merged, .. } = window;
            let (line, column) = (position.line, position.column);
            let _ = write!(text, "window {} on {} {kind} at {line}:{column}", name.short, stream.short);
            text.push_str(&merged_text(*merged));
            text.push('\n');
        }
        self.push_node(&self.root, 0, &mut text);
        self.push_warnings(&mut text);
        text
    }

    /// Prints the warnings, except for re-evaluation: the operator's own line says that.
    fn push_warnings(&self, text: &mut String) {
        for warning in self.warnings.iter().filter(|warning| warning.code != REEVALUATED) {
            let _ = writeln!(text, "{warning}");
        }
    }

    fn head(&self) -> String {
        let query = &self.query;
        let mut head = format!("{} {}", query.dialect, query.form);
        for variable in &query.variables {
            let _ = write!(head, " {variable}");
        }
        let report = if query.report.is_empty() { "always".to_owned() } else { query.report.join(" ") };
        let incremental = if self.is_incremental { "incremental" } else { "partly incremental" };
        let mut head = cut(&head);
        let _ = write!(
            head,
            " · {} · report {report} · tick {} · {} · {incremental}",
            query.r2s, query.tick, query.semantics
        );
        if let Some(output) = &query.output {
            let _ = write!(head, " · writes <{output}>");
        }
        head.push('\n');
        head
    }

    fn push_node(&self, node: &NodeView, depth: usize, text: &mut String) {
        let indent = "  ".repeat(depth);
        let space = if node.detail.is_empty() { "" } else { " " };
        let _ = write!(text, "{indent}{}{space}{} · ", node.operator, cut(&node.detail));
        match node.mode {
            Mode::Reevaluated { reason } => {
                let _ = write!(text, "{} ({reason})", node.mode.word());
            }
            mode => text.push_str(mode.word()),
        }
        let _ = write!(text, " · keeps {}", node.keeps);
        if let Some(retraction) = node.retraction {
            let _ = write!(text, " · retraction {retraction}");
        }
        text.push('\n');
        for (role, buffer) in node.buffers.iter().enumerate() {
            // The line of a leaf already shows its only pattern.
            let source = if node.operator == LEAF { "triples".to_owned() } else { self.source(buffer) };
            let _ = writeln!(text, "{indent}  {role}: {source}{}", counts(buffer));
        }
        if node.early_stops > 0 {
            let _ = writeln!(text, "{indent}  early stops {} · a buffer was empty", node.early_stops);
        }
        for (order, taken) in &node.orders {
            let order: Vec<String> = order.iter().map(ToString::to_string).collect();
            let _ = writeln!(text, "{indent}  order {} · taken {taken}", order.join(" → "));
        }
        for input in &node.inputs {
            self.push_node(input, depth + 1, text);
        }
    }

    fn source(&self, buffer: &BufferView) -> String {
        match &buffer.source {
            SourceView::Leaf { pattern, condition, window, .. } => {
                let condition = condition.as_ref().map(|condition| format!(" if {}", cut(condition)));
                format!("{} in {}{}", cut(pattern), self.windows[*window].name.short, condition.unwrap_or_default())
            }
            SourceView::Input(number) => format!("input {number}"),
        }
    }
}

fn counts(buffer: &BufferView) -> String {
    let mut text = String::new();
    if let SourceView::Leaf { matched, merged, .. } = buffer.source {
        let _ = write!(text, " · {matched} matched");
        text.push_str(&merged_text(merged));
    }
    let _ = write!(text, " · {} live", buffer.live);
    for IndexView { on, keys, .. } in &buffer.indexes {
        let plural = if *keys == 1 { "" } else { "s" };
        let _ = write!(text, " · index on {} ({keys} key{plural})", on.join(" "));
    }
    if let Some(variable) = &buffer.ordered_on {
        let _ = write!(text, " · in the order of {variable}");
    }
    text
}

fn merged_text(merged: Option<u64>) -> String {
    merged.filter(|merged| *merged > 0).map(|merged| format!(" · {merged} merged")).unwrap_or_default()
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(DETAIL_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
