//! Advice about a query before it runs.

use super::error::{Costly, PlanError};
use super::explain::{Mode, NodeView, PlanView, SourceView, WindowView};
use super::spelling::Spelling;
use super::{costly, lint, merging, scope};
use crate::algebra;
use crate::expr::is_known_function;
use crate::parse::{
    BareLength, Construct, ContinuousQuery, Position, R2s, WindowKind, bare_lengths, locate, position_of_variable,
};
use oxrdf::NamedNode;
use spargebra::Query;
use spargebra::algebra::{Expression, Function, GraphPattern};
use std::fmt;

/// Re-evaluation is also shown in the plan, at its operator.
pub(super) const REEVALUATED: &str = "plan.reevaluated";
/// Below this many milliseconds, a number without a unit was probably meant in seconds.
const BARE_MAX: u64 = 1_000;

/// Something legal that may not be what the user meant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Warning {
    pub code: &'static str,
    pub message: String,
    pub hint: String,
    /// The position in the query text.
    pub position: Option<Position>,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.position.map(|place| format!(" at {}:{}", place.line, place.column)).unwrap_or_default();
        write!(f, "warning{place}: {} (hint: {})", self.message, self.hint)
    }
}

/// All warnings about a plan.
pub(super) fn warnings(definition: &ContinuousQuery, plan: &PlanView, spelling: &Spelling<'_>) -> Vec<Warning> {
    let mut found = merging::merging(definition, spelling);
    found.extend(lint::unbound(definition));
    found.extend(product(definition, spelling));
    found.extend(bare_windows(definition));
    reevaluated(&plan.root, &mut found);
    found.extend(unread_windows(plan));
    found.extend(windows_with_gaps(definition, plan));
    found.extend(open_order(definition));
    found.extend(unknown_functions(definition));
    found
}

fn place(definition: &ContinuousQuery, construct: &Construct) -> Option<Position> {
    locate(&definition.text, construct).map(|span| span.start)
}

/// Calling an unknown function is an evaluation error, which COALESCE, IF and || may handle; so it is only a warning.
fn unknown_functions(definition: &ContinuousQuery) -> Vec<Warning> {
    let (Query::Select { pattern, .. }
    | Query::Construct { pattern, .. }
    | Query::Describe { pattern, .. }
    | Query::Ask { pattern, .. }) = &definition.query;
    let mut unknown = Vec::new();
    let mut waiting = vec![pattern];
    while let Some(pattern) = waiting.pop() {
        let called = algebra::expressions(pattern).into_iter().flat_map(unknown_in);
        called.for_each(|iri| {
            if !unknown.contains(&iri) {
                unknown.push(iri)
            }
        });
        waiting.extend(algebra::children_and_exists(pattern).into_iter().rev());
    }
    let warning = |iri: &NamedNode| Warning {
        code: "expr.unknown_function",
        message: format!("function {iri} is unknown, so every call of it is an error"),
        hint: function_hint(iri).to_owned(),
        position: place(definition, &Construct::Call(iri.to_string())),
    };
    unknown.into_iter().map(warning).collect()
}

/// An unknown function that the expression calls.
pub(crate) fn unknown_function(expression: &Expression) -> Option<&NamedNode> {
    unknown_in(expression).into_iter().next()
}

fn unknown_in(expression: &Expression) -> Vec<&NamedNode> {
    let mut unknown = Vec::new();
    algebra::visit_expression(expression, &mut |e| match e {
        Expression::FunctionCall(function @ Function::Custom(iri), _)
            if !is_known_function(iri.as_ref()) && !scope::is_timestamp(function) =>
        {
            unknown.push(iri);
        }
        _ => {}
    });
    unknown
}

fn function_hint(iri: &NamedNode) -> &'static str {
    if iri.as_str().ends_with("timestamp") {
        return "the time of a triple is <http://larkc.eu/csparql/sparql/jena/ext#timestamp>(?s, ?p, ?o)";
    }
    "a FILTER that needs it keeps nothing and a BIND leaves its variable unbound; the functions there are, and the \
     casts such as xsd:integer and xsd:date, are in the query reference"
}

fn reevaluated(node: &NodeView, found: &mut Vec<Warning>) {
    if let Mode::Reevaluated { reason } = node.mode {
        let message = format!("{} is re-evaluated whenever its window changes: {reason}", node.detail);
        let hint = "keep its window small, or write the pattern without it".to_owned();
        found.push(Warning { code: REEVALUATED, message, hint, position: None });
    }
    node.inputs.iter().for_each(|input| reevaluated(input, found));
}

/// A plan that re-evaluates may read any window, and does not record which, so it gets no warning.
fn unread_windows(plan: &PlanView) -> Vec<Warning> {
    if !plan.is_incremental {
        return vec![];
    }
    let mut read = vec![false; plan.windows.len()];
    mark_read(&plan.root, &mut read);
    let unread = plan.windows.iter().zip(read).filter(|(_, is_read)| !is_read).map(|(window, _)| window);
    let warning = |window: &WindowView| Warning {
        code: "window.unread",
        message: format!("no pattern reads the window {}", window.name.short),
        hint: "remove its clause, or read it in WHERE".to_owned(),
        position: Some(window.position),
    };
    unread.map(warning).collect()
}

fn mark_read(node: &NodeView, read: &mut [bool]) {
    for buffer in &node.buffers {
        if let SourceView::Leaf { window, .. } = &buffer.source {
            read[*window] = true;
        }
    }
    node.inputs.iter().for_each(|input| mark_read(input, read));
}

/// Parts that share no variable, in an engine that allows them.
fn product(definition: &ContinuousQuery, spelling: &Spelling<'_>) -> Option<Warning> {
    let costly = costly::costly_form(definition).filter(|_| !definition.allow_cartesian)?;
    let message = costly.to_string();
    let variable = match &costly {
        PlanError::TooCostly(Costly::Product { one, other }) => one.as_ref().or(other.as_ref()),
        _ => None,
    };
    let position = variable.and_then(|v| position_of_variable(&definition.text, &["WHERE", "FROM"], v.as_str()));
    let hint = costly.hint().to_owned();
    Some(Warning { code: "plan.product", message: spelling.text(&message), hint, position })
}

/// `[RANGE 10 STEP 5]`: a number without a unit is in milliseconds, and so few are rarely intended.
fn bare_windows(definition: &ContinuousQuery) -> Vec<Warning> {
    let warning = |BareLength { number, position }| Warning {
        code: "window.unit",
        message: format!("a length without a unit is in milliseconds: {number} is {number} ms"),
        hint: format!("write {number}s or PT{number}S for seconds, {number}ms if milliseconds are meant"),
        position: Some(position),
    };
    let bare = bare_lengths(&definition.text).into_iter();
    bare.filter(|length| length.number < BARE_MAX).take(1).map(warning).collect()
}

fn windows_with_gaps(definition: &ContinuousQuery, plan: &PlanView) -> Vec<Warning> {
    let has_gaps = |kind: &WindowKind| matches!(kind, WindowKind::Step { width, slide } if slide > width);
    let gaps = definition.windows.iter().zip(&plan.windows).filter(|(clause, _)| has_gaps(&clause.kind));
    let warning = |window: &WindowView| Warning {
        code: "window.gaps",
        message: format!("events between two windows of {} {} are never seen", window.name.short, window.text),
        hint: "make the step no longer than the range".to_owned(),
        position: Some(window.position),
    };
    gaps.map(|(_, window)| warning(window)).collect()
}

fn open_order(definition: &ContinuousQuery) -> Option<Warning> {
    let Query::Select { pattern, .. } = &definition.query else { return None };
    let (message, hint) = match definition.r2s {
        R2s::Rstream => ("ORDER BY without LIMIT sorts the whole answer at every report", "add LIMIT"),
        _ => ("ORDER BY without LIMIT changes nothing: what came and went has no order", "add LIMIT, or use RSTREAM"),
    };
    let position = place(definition, &Construct::Keyword("ORDER"));
    let warning = Warning { code: "order.unlimited", message: message.to_owned(), hint: hint.to_owned(), position };
    is_ordered(pattern).then_some(warning)
}

fn is_ordered(pattern: &GraphPattern) -> bool {
    match pattern {
        GraphPattern::OrderBy { .. } => true,
        GraphPattern::Project { inner, .. } | GraphPattern::Distinct { inner } | GraphPattern::Reduced { inner } => {
            is_ordered(inner)
        }
        _ => false,
    }
}
