//! The plan as text: the tree of operators, what each keeps, and which probing orders were taken.

use super::build::{NodeKind, PlanNode};
use crate::flow::Operator;
use crate::leaf::Leaf;
use crate::model::VarTable;
use std::fmt::Write;

pub(crate) fn explain(nodes: &[PlanNode], vars: &VarTable, leaves: &[Leaf]) -> String {
    let mut text = String::new();
    if let Some(root) = nodes.len().checked_sub(1) {
        describe(root, 0, nodes, vars, leaves, &mut text);
    }
    text
}

fn describe(at: usize, depth: usize, nodes: &[PlanNode], vars: &VarTable, leaves: &[Leaf], text: &mut String) {
    let node = &nodes[at];
    let indent = "  ".repeat(depth);
    let state = match &node.kind {
        NodeKind::Join(join) => join.state_size(),
        NodeKind::Operator(operator) => operator.state_size(),
    };
    let mode = if node.label.starts_with("re-evaluated") { "" } else { "incremental " };
    let _ = writeln!(text, "{indent}{mode}{} · keeps {state}", node.label);
    if let NodeKind::Join(join) = &node.kind {
        let _ = writeln!(text, "{indent}  retraction {:?}", join.retraction());
        for (role, leaf) in &node.leaves {
            let leaf = &leaves[*leaf];
            let _ = write!(text, "{indent}  buffer {role}: {} live, {} matched", leaf.store.live(), leaf.matched());
            for (columns, keys) in leaf.store.indexes() {
                let _ = write!(text, ", index on {} ({keys} keys)", column_names(*role, columns, node, join, vars));
            }
            text.push('\n');
        }
        if join.early_stops() > 0 {
            let _ = writeln!(text, "{indent}  stopped early, with a buffer empty: {} times", join.early_stops());
        }
        for (order, count) in join.orders() {
            let _ = writeln!(text, "{indent}  order {order}: {count} times");
        }
    }
    for input in &node.inputs {
        describe(*input, depth + 1, nodes, vars, leaves, text);
    }
}

fn column_names(role: usize, columns: &[u8], node: &PlanNode, join: &crate::join::JoinNode, vars: &VarTable) -> String {
    let buffer = &join.shape().buffers[role];
    let name = |column: &u8| vars.name(node.schema.vars()[buffer.vars[*column as usize] as usize]).to_string();
    columns.iter().map(name).collect::<Vec<_>>().join(" ")
}
