//! SPARQL algebra → logical plan.

use super::error::PlanError;
use super::exists::{self, correlate};
use super::logical::{Dataset, Place, Plan};
use super::paths::{FreshVariables, unfold};
use super::scope::{self, children, contains_exists, expressions, graph_variable};
use crate::parse::WindowClause;
use oxrdf::{Term, Variable};
use spargebra::algebra::{Expression, GraphPattern};
use spargebra::term::{NamedNodePattern, TermPattern, TriplePattern};

pub(super) struct Translator<'a> {
    pub windows: &'a [WindowClause],
    pub fresh: FreshVariables,
}

type Planned = Result<Plan, PlanError>;

impl Translator<'_> {
    pub(super) fn plan(&mut self, pattern: &GraphPattern, dataset: &Dataset) -> Planned {
        if !self.reads_window(pattern, dataset) {
            return Ok(static_parts(pattern, dataset));
        }
        match pattern {
            GraphPattern::Bgp { patterns } => self.basic(patterns, dataset),
            GraphPattern::Path { subject, path, object } => match unfold(subject, path, object, &mut self.fresh) {
                Some(unfolded) => self.plan(&unfolded, dataset),
                None => self.reevaluated(pattern, dataset, "closure path"),
            },
            GraphPattern::Join { left, right } => {
                Ok(Plan::join([self.plan(left, dataset)?, self.plan(right, dataset)?]))
            }
            GraphPattern::LeftJoin { left, right, expression } => {
                self.optional(pattern, left, right, expression.as_ref(), dataset)
            }
            GraphPattern::Filter { expr, inner } => self.filter(pattern, expr, inner, dataset),
            GraphPattern::Union { left, right } => {
                let inputs = vec![self.plan(left, dataset)?, self.plan(right, dataset)?];
                Ok(Plan::Union { inputs })
            }
            GraphPattern::Graph { name, inner } => self.graph(name, inner),
            GraphPattern::Extend { inner, variable, expression } => {
                self.extend(pattern, inner, variable, expression, dataset)
            }
            GraphPattern::Minus { left, right } => {
                let (left, right) = (self.plan(left, dataset)?, self.plan(right, dataset)?);
                Ok(Plan::Minus { left: left.into(), right: right.into() })
            }
            GraphPattern::Project { inner, variables } => {
                let inner = self.plan(inner, dataset)?;
                Ok(Plan::Project { inner: inner.into(), variables: variables.clone() })
            }
            GraphPattern::Distinct { inner } => Ok(Plan::Distinct { inner: self.plan(inner, dataset)?.into() }),
            // REDUCED may keep what DISTINCT would drop.
            GraphPattern::Reduced { inner } => self.plan(inner, dataset),
            // Order without a slice does not show inside a pattern.
            GraphPattern::OrderBy { inner, .. } => self.plan(inner, dataset),
            GraphPattern::Slice { inner, start, length } => self.slice(pattern, inner, *start, *length, dataset),
            GraphPattern::Group { inner, variables, aggregates } => {
                self.group(pattern, inner, variables, aggregates, dataset)
            }
            GraphPattern::Values { .. } => Ok(static_parts(pattern, dataset)),
            GraphPattern::Service { .. } => Err(PlanError::unsupported("SERVICE")),
        }
    }

    /// Refuses GRAPH inside a window block: it would read static graphs, and not what it stands in.
    pub(super) fn check_graphs(&self, pattern: &GraphPattern, in_window: bool) -> Result<(), PlanError> {
        let mut inside = in_window;
        if let GraphPattern::Graph { name, .. } = pattern {
            if in_window {
                return Err(PlanError::unsupported("GRAPH inside a window"));
            }
            inside = self.window_named(name).is_some();
        }
        for expression in expressions(pattern) {
            let mut patterns = Vec::new();
            scope::visit_expression(expression, &mut |e| {
                if let Expression::Exists(pattern) = e {
                    patterns.push(pattern);
                }
            });
            patterns.into_iter().try_for_each(|pattern| self.check_graphs(pattern, inside))?;
        }
        children(pattern).into_iter().try_for_each(|child| self.check_graphs(child, inside))
    }

    fn reads_window(&self, pattern: &GraphPattern, dataset: &Dataset) -> bool {
        if matches!(dataset, Dataset::Window(_))
            && matches!(pattern, GraphPattern::Bgp { patterns } if !patterns.is_empty())
        {
            return true;
        }
        if matches!(dataset, Dataset::Window(_)) && matches!(pattern, GraphPattern::Path { .. }) {
            return true;
        }
        if let GraphPattern::Graph { name, inner } = pattern {
            let inside = self.window_named(name).map_or_else(|| static_dataset(name), Dataset::Window);
            return self.reads_window(inner, &inside);
        }
        let in_exists =
            expressions(pattern).into_iter().any(|expression| self.exists_reads_window(expression, dataset));
        in_exists || children(pattern).into_iter().any(|child| self.reads_window(child, dataset))
    }

    fn exists_reads_window(&self, expression: &Expression, dataset: &Dataset) -> bool {
        let mut found = false;
        scope::visit_expression(expression, &mut |e| {
            if let Expression::Exists(pattern) = e {
                found |= self.reads_window(pattern, dataset);
            }
        });
        found
    }

    fn window_named(&self, name: &NamedNodePattern) -> Option<usize> {
        let NamedNodePattern::NamedNode(name) = name else { return None };
        self.windows.iter().position(|window| window.name == *name)
    }

    fn graph(&mut self, name: &NamedNodePattern, inner: &GraphPattern) -> Planned {
        if let Some(window) = self.window_named(name) {
            return self.plan(inner, &Dataset::Window(window));
        }
        if let Some(variable) = graph_variable(name) {
            return Err(PlanError::unsupported(format!("a window inside GRAPH {variable}")));
        }
        self.plan(inner, &static_dataset(name))
    }

    fn basic(&mut self, patterns: &[TriplePattern], dataset: &Dataset) -> Planned {
        let Dataset::Window(window) = dataset else { return Err(PlanError::unsupported("a pattern outside windows")) };
        if patterns.iter().any(scope::has_nested_pattern) {
            let pattern = GraphPattern::Bgp { patterns: patterns.to_vec() };
            return self.reevaluated(&pattern, dataset, "triple term in a pattern");
        }
        let leaf = |pattern: &TriplePattern| Plan::Leaf { window: *window, places: places(pattern) };
        Ok(Plan::join(patterns.iter().map(leaf)))
    }

    fn optional(
        &mut self,
        whole: &GraphPattern,
        left: &GraphPattern,
        right: &GraphPattern,
        condition: Option<&Expression>,
        dataset: &Dataset,
    ) -> Planned {
        if condition.is_some_and(contains_exists) {
            return self.reevaluated(whole, dataset, "EXISTS in the condition of OPTIONAL");
        }
        let (left, right) = (self.plan(left, dataset)?, self.plan(right, dataset)?);
        Ok(Plan::Optional { left: left.into(), right: right.into(), condition: condition.cloned() })
    }

    fn filter(
        &mut self,
        whole: &GraphPattern,
        condition: &Expression,
        inner: &GraphPattern,
        dataset: &Dataset,
    ) -> Planned {
        if contains_exists(condition) {
            return self.filter_exists(whole, condition, inner, dataset);
        }
        let plan = self.plan(inner, dataset)?;
        Ok(match plan {
            Plan::Join { inputs, mut filters } => {
                split_and(condition, &mut filters);
                Plan::Join { inputs, filters }
            }
            other => Plan::Filter { inner: other.into(), condition: condition.clone() },
        })
    }

    fn filter_exists(
        &mut self,
        whole: &GraphPattern,
        condition: &Expression,
        inner: &GraphPattern,
        dataset: &Dataset,
    ) -> Planned {
        let mut found = Vec::new();
        let fresh = &mut self.fresh;
        let condition = exists::replace(condition, &mut || fresh.next("exists"), &mut found);
        let outer = exists::outer_variables(inner);
        let mut plan = self.plan(inner, dataset)?;
        for (flag, pattern) in found {
            let Some(correlated) = correlate(&pattern, &outer) else {
                return self.reevaluated(whole, dataset, "EXISTS over this pattern");
            };
            let right = self.plan(&correlated.pattern, dataset)?;
            plan = Plan::Mark { left: plan.into(), right: right.into(), condition: correlated.condition, flag };
        }
        let plan = Plan::Filter { inner: plan.into(), condition };
        Ok(Plan::Project { inner: plan.into(), variables: outer.into_iter().collect() })
    }

    fn extend(
        &mut self,
        whole: &GraphPattern,
        inner: &GraphPattern,
        variable: &Variable,
        expression: &Expression,
        dataset: &Dataset,
    ) -> Planned {
        if contains_exists(expression) {
            return self.reevaluated(whole, dataset, "EXISTS in BIND");
        }
        let inner = self.plan(inner, dataset)?;
        Ok(Plan::Extend { inner: inner.into(), variable: variable.clone(), expression: expression.clone() })
    }

    fn group(
        &mut self,
        whole: &GraphPattern,
        inner: &GraphPattern,
        keys: &[Variable],
        aggregates: &[(Variable, spargebra::algebra::AggregateExpression)],
        dataset: &Dataset,
    ) -> Planned {
        let expressions: Vec<_> = aggregates.iter().filter_map(|(_, a)| scope::of_aggregate(a)).collect();
        if expressions.iter().any(|e| contains_exists(e)) {
            return self.reevaluated(whole, dataset, "EXISTS in an aggregate");
        }
        let inner = self.plan(inner, dataset)?;
        Ok(Plan::Group { inner: inner.into(), keys: keys.to_vec(), aggregates: aggregates.to_vec() })
    }

    /// LIMIT and OFFSET over what ORDER BY, below projection and DISTINCT, has put in order.
    fn slice(
        &mut self,
        whole: &GraphPattern,
        inner: &GraphPattern,
        offset: usize,
        limit: Option<usize>,
        dataset: &Dataset,
    ) -> Planned {
        let Some((pattern, order)) = super::modifiers::lift_order(inner) else {
            return self.reevaluated(whole, dataset, "ORDER BY on what DISTINCT has dropped");
        };
        if order.iter().map(scope::of_order).any(contains_exists) {
            return self.reevaluated(whole, dataset, "EXISTS in ORDER BY");
        }
        let projected = match inner {
            GraphPattern::Project { variables, .. } => Some(variables.clone()),
            _ => None,
        };
        let inner = self.plan(&pattern, dataset)?;
        let top = Plan::TopK { inner: inner.into(), order, offset, limit };
        Ok(match projected {
            Some(variables) => Plan::Project { inner: top.into(), variables },
            None => top,
        })
    }

    fn reevaluated(&mut self, pattern: &GraphPattern, dataset: &Dataset, reason: &str) -> Planned {
        Ok(Plan::Reevaluated { pattern: inside(pattern, dataset, self.windows), reason: reason.into() })
    }
}

/// The static dataset that GRAPH names.
fn static_dataset(name: &NamedNodePattern) -> Dataset {
    match name {
        NamedNodePattern::NamedNode(name) => Dataset::Graph(name.clone()),
        NamedNodePattern::Variable(variable) => Dataset::EachGraph(variable.clone()),
    }
}

/// A static pattern; a basic one falls into its connected parts, so that what only a stream
/// connects is not multiplied out beforehand.
fn static_parts(pattern: &GraphPattern, dataset: &Dataset) -> Plan {
    // What reads no triples is the same inside a window and outside.
    let dataset = if matches!(dataset, Dataset::Window(_)) { &Dataset::Default } else { dataset };
    let wrap = |pattern: GraphPattern| Plan::Static { pattern: inside(&pattern, dataset, &[]) };
    let patterns = match pattern {
        GraphPattern::Bgp { patterns } if patterns.len() > 1 => patterns,
        _ => return wrap(pattern.clone()),
    };
    let mut parts: Vec<(scope::Vars, Vec<TriplePattern>)> = Vec::new();
    for triple in patterns {
        let mut vars = scope::Vars::new();
        for place in places(triple) {
            if let Place::Variable(variable) = place {
                vars.insert(variable);
            }
        }
        let mut merged = vec![triple.clone()];
        let (touching, apart): (Vec<_>, Vec<_>) = parts.into_iter().partition(|(other, _)| !other.is_disjoint(&vars));
        for (other, triples) in touching {
            vars.extend(other);
            merged.extend(triples);
        }
        parts = apart;
        parts.push((vars, merged));
    }
    Plan::join(parts.into_iter().map(|(_, patterns)| wrap(GraphPattern::Bgp { patterns })))
}

/// The pattern as it reads on its own, with the GRAPH it stood in.
fn inside(pattern: &GraphPattern, dataset: &Dataset, windows: &[WindowClause]) -> GraphPattern {
    let name = match dataset {
        Dataset::Default => return pattern.clone(),
        Dataset::Window(window) => windows[*window].name.clone().into(),
        Dataset::Graph(name) => name.clone().into(),
        Dataset::EachGraph(variable) => variable.clone().into(),
    };
    GraphPattern::Graph { name, inner: pattern.clone().into() }
}

fn split_and(condition: &Expression, parts: &mut Vec<Expression>) {
    match condition {
        Expression::And(a, b) => {
            split_and(a, parts);
            split_and(b, parts);
        }
        other => parts.push(other.clone()),
    }
}

pub(super) fn places(pattern: &TriplePattern) -> [Place; 3] {
    let predicate = match &pattern.predicate {
        NamedNodePattern::NamedNode(node) => Place::Term(node.clone().into()),
        NamedNodePattern::Variable(variable) => Place::Variable(variable.clone()),
    };
    [place(&pattern.subject), predicate, place(&pattern.object)]
}

fn place(term: &TermPattern) -> Place {
    match term {
        TermPattern::NamedNode(node) => Place::Term(node.clone().into()),
        TermPattern::Literal(literal) => Place::Term(literal.clone().into()),
        TermPattern::Variable(variable) => Place::Variable(variable.clone()),
        // A blank node of a query is a variable nobody can ask for.
        TermPattern::BlankNode(node) => {
            Place::Variable(Variable::new_unchecked(format!("_whorl_blank_{}", node.as_str())))
        }
        TermPattern::Triple(_) => Place::Term(Term::from(oxrdf::NamedNode::new_unchecked("urn:whorl:nested"))),
    }
}

/// Whether the variable stands for a blank node or was made by the planner.
pub(super) fn is_hidden(variable: &Variable) -> bool {
    variable.as_str().starts_with("_whorl_")
}
