//! Variables that a query uses but never binds.
//!
//! A result column that nothing binds is always empty, and a condition on such a variable always fails. Both are legal,
//! and both are usually typing errors.

use super::blanks::is_hidden;
use super::scope::{Vars, in_scope};
use super::warnings::Warning;
use crate::algebra;
use crate::parse::{ContinuousQuery, position_of_variable, suggestion};
use oxrdf::Variable;
use spargebra::Query;
use spargebra::algebra::{Expression, GraphPattern};

const CONDITIONS: [&str; 5] = ["FILTER", "BIND", "HAVING", "BY", "SELECT"];

/// Warns about result columns and conditions that name unbound variables.
pub(super) fn unbound(definition: &ContinuousQuery) -> Vec<Warning> {
    let (Query::Select { pattern, .. }
    | Query::Construct { pattern, .. }
    | Query::Describe { pattern, .. }
    | Query::Ask { pattern, .. }) = &definition.query;
    let mut lint = Lint { text: &definition.text, seen: Vars::new(), found: vec![] };
    lint.pattern(pattern, &Vars::new());
    if let Query::Construct { template, .. } = &definition.query {
        let bound = in_scope(pattern);
        let of_template = template.iter().flat_map(|triple| {
            let used = GraphPattern::Bgp { patterns: vec![triple.clone()] };
            in_scope(&used).into_iter().collect::<Vec<_>>()
        });
        of_template.for_each(|variable| lint.column(&variable, &bound, "CONSTRUCT"));
    }
    lint.found
}

struct Lint<'a> {
    text: &'a str,
    /// Variables already reported: one warning each is enough.
    seen: Vars,
    found: Vec<Warning>,
}

impl Lint<'_> {
    /// `outside` holds the variables bound around the EXISTS that contains the pattern.
    fn pattern(&mut self, pattern: &GraphPattern, outside: &Vars) {
        if let GraphPattern::Project { inner, variables } = pattern {
            let bound = &in_scope(inner) | outside;
            variables.iter().for_each(|variable| self.column(variable, &bound, "SELECT"));
        }
        let bound = algebra::children(pattern).into_iter().map(in_scope).fold(outside.clone(), |all, one| &all | &one);
        for expression in algebra::expressions(pattern) {
            self.expression(expression, &bound);
        }
        algebra::children(pattern).into_iter().for_each(|child| self.pattern(child, outside));
    }

    fn expression(&mut self, expression: &Expression, bound: &Vars) {
        let mut used = Vec::new();
        let mut inside = Vec::new();
        algebra::visit_expression(expression, &mut |part| match part {
            Expression::Variable(variable) | Expression::Bound(variable) => used.push(variable),
            Expression::Exists(pattern) => inside.push(pattern),
            _ => {}
        });
        used.into_iter().for_each(|variable| self.condition(variable, bound));
        inside.into_iter().for_each(|pattern| self.pattern(pattern, bound));
    }

    fn column(&mut self, variable: &Variable, bound: &Vars, clause: &str) {
        let message = format!("nothing binds the column {variable}, so it is always empty");
        let message = if clause == "SELECT" {
            message
        } else {
            format!("nothing binds {variable}, so no triple with it is ever constructed")
        };
        self.warn(variable, bound, ("select.unbound", message), &[clause]);
    }

    fn condition(&mut self, variable: &Variable, bound: &Vars) {
        let message = format!("nothing binds {variable} where this expression uses it, so it is always an error");
        self.warn(variable, bound, ("expr.unbound", message), &CONDITIONS);
    }

    fn warn(&mut self, variable: &Variable, bound: &Vars, finding: (&'static str, String), words: &[&str]) {
        if bound.contains(variable) || is_hidden(variable) || !self.seen.insert(variable.clone()) {
            return;
        }
        let candidates: Vec<String> = bound.iter().filter(|v| !is_hidden(v)).map(ToString::to_string).collect();
        // Names of one or two letters are all within a small edit distance, so a suggestion would be noise.
        let is_told_apart = variable.as_str().chars().count() > 2;
        let meant = suggestion(&variable.to_string(), candidates.iter().map(String::as_str).filter(|_| is_told_apart));
        let hint =
            meant.unwrap_or_else(|| "bind it by a pattern or BIND in the same group, or leave it out".to_owned());
        let position = position_of_variable(self.text, words, variable.as_str());
        self.found.push(Warning { code: finding.0, message: finding.1, hint, position });
    }
}
