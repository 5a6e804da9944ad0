//! SPARQL algebra → logical plan.
//!
//! Patterns that read only static data stay whole; patterns that read windows become leaves, joins and the operators
//! above them; what no operator can compute is re-evaluated, with a reason.
//!
//! Invariant: inside `GRAPH ?g` every row carries the name of its graph in one column (`carried`). Each operator that
//! could lose or mix graphs has to keep that column: projections and group keys add it, LIMIT counts the rows of each
//! graph, an aggregate without GROUP BY has a row for each graph (`total_of_each`), and MINUS must not count the column as
//! a shared variable.

use super::blanks::{open_blanks, places};
use super::each_graph::graph_names;
use super::error::{PlanError, Reevaluation, Unsupported};
use super::event_graphs::{may_hold_without_triples, shares_nothing};
use super::logical::{Dataset, LeafPlan, Place, Plan, Stage, WindowFamily};
use super::paths::{FreshVariables, unfold, unfold_paths, unfolds};
use super::scope::{self, Vars, contains_exists, is_volatile};
use super::triple_terms::Opened;
use super::values::values_first;
use crate::algebra::{children, children_and_exists, expressions};
use crate::parse::{ContentSemantics, ContinuousQuery};
use oxrdf::Variable;
use spargebra::algebra::{AggregateExpression, Expression, GraphPattern};
use spargebra::term::{GroundTerm, NamedNodePattern, TriplePattern};

pub(super) struct Translator<'a> {
    pub query: &'a ContinuousQuery,
    pub families: &'a [WindowFamily],
    pub fresh: FreshVariables,
}

pub(super) type Planned = Result<Plan, PlanError>;

impl Translator<'_> {
    pub(super) fn plan(&mut self, pattern: &GraphPattern, dataset: &Dataset) -> Planned {
        if self.is_static(pattern, dataset) {
            return Ok(static_parts(pattern, dataset));
        }
        match pattern {
            GraphPattern::Bgp { patterns } => self.basic(patterns, dataset),
            GraphPattern::Path { subject, path, object } => match unfold(subject, path, object, &mut self.fresh) {
                Some(unfolded) => self.plan(&unfolded, dataset),
                None if self.is_streaming(dataset) => self.reevaluated(pattern, dataset, Reevaluation::ClosurePath),
                None => Ok(static_parts(pattern, dataset)),
            },
            GraphPattern::Join { left, right } => match values_first(left, right) {
                Some(lowered) => self.plan(&lowered, dataset),
                None => Ok(Plan::join([self.plan(left, dataset)?, self.plan(right, dataset)?])),
            },
            GraphPattern::LeftJoin { left, right, expression } => {
                self.optional(pattern, left, right, expression.as_ref(), dataset)
            }
            GraphPattern::Filter { expr, inner } => self.filter(pattern, expr, inner, dataset),
            GraphPattern::Union { left, right } => {
                let inputs = vec![self.plan(left, dataset)?, self.plan(right, dataset)?];
                Ok(Plan::Union { inputs })
            }
            GraphPattern::Graph { name, inner } => self.graph(name, inner, dataset),
            GraphPattern::Extend { inner, variable, expression } => {
                self.extend(pattern, inner, variable, expression, dataset)
            }
            // With disjoint variables MINUS removes nothing.
            GraphPattern::Minus { left, right } if carried(dataset).is_some() && shares_nothing(left, right) => {
                self.plan_carrying(left, dataset)
            }
            GraphPattern::Minus { left, right } => {
                let (left, right) = (self.plan_carrying(left, dataset)?, self.plan(right, dataset)?);
                Ok(Plan::Minus { left: left.into(), right: right.into(), uncounted: carried(dataset).cloned() })
            }
            GraphPattern::Project { inner, variables } => {
                let inner = self.plan_carrying(inner, dataset)?;
                let carried = carried(dataset).filter(|carried| !variables.contains(carried));
                let variables = variables.iter().chain(carried).cloned().collect();
                Ok(Plan::Project { inner: inner.into(), variables })
            }
            GraphPattern::Distinct { inner } => Ok(Plan::Distinct { inner: self.plan(inner, dataset)?.into() }),
            // The standard lets REDUCED keep every duplicate.
            GraphPattern::Reduced { inner } => self.plan(inner, dataset),
            // Order is only visible at the top of a query or under a slice.
            GraphPattern::OrderBy { inner, .. } => self.plan(inner, dataset),
            GraphPattern::Slice { inner, start, length } => self.slice(pattern, inner, *start, *length, dataset),
            GraphPattern::Group { inner, variables, aggregates } => {
                self.group(pattern, inner, variables, aggregates, dataset)
            }
            GraphPattern::Values { .. } => unreachable!("values are static"),
            GraphPattern::Service { .. } => Err(Unsupported::Service.into()),
        }
    }

    /// Whether the pattern consists of joined triples of static data only, so that the static evaluator can answer it
    /// in one go. Patterns with expressions are excluded: the engine's own operators evaluate these, so that an
    /// expression means the same over static data and over streams.
    pub(super) fn is_static(&self, pattern: &GraphPattern, dataset: &Dataset) -> bool {
        if let GraphPattern::Graph { name, inner } = pattern {
            return match self.inside_graph(name, dataset) {
                Dataset::Window(_) | Dataset::EventGraph(..) => false,
                Dataset::EachGraph(_) if !is_plain(inner) => false,
                inside => self.family(name).is_none() && self.is_static(inner, &inside),
            };
        }
        // The path `a|b` yields duplicates, which the evaluator would drop.
        if let GraphPattern::Path { subject, path, object } = pattern
            && unfolds(subject, path, object)
        {
            return false;
        }
        let reads_stream = reads_triples(pattern) && self.is_streaming(dataset);
        !reads_stream
            && expressions(pattern).is_empty()
            && !matches!(pattern, GraphPattern::Group { .. })
            && children(pattern).into_iter().all(|child| self.is_static(child, dataset))
    }

    /// Whether the pattern reads no window and yields the same rows at every instant.
    fn is_steady(&self, pattern: &GraphPattern, dataset: &Dataset) -> bool {
        if let GraphPattern::Graph { name, inner } = pattern {
            let inside = self.inside_graph(name, dataset);
            return inside.window().is_none() && self.family(name).is_none() && self.is_steady(inner, &inside);
        }
        let reads_stream = reads_triples(pattern) && self.is_streaming(dataset);
        !reads_stream
            && !expressions(pattern).into_iter().any(is_volatile)
            && children_and_exists(pattern).into_iter().all(|part| self.is_steady(part, dataset))
    }

    fn is_streaming(&self, dataset: &Dataset) -> bool {
        match dataset {
            Dataset::Window(_) | Dataset::EventGraph(..) => true,
            Dataset::Default => !self.query.default_graph.windows.is_empty(),
            Dataset::Graph(_) | Dataset::EachGraph(_) => false,
        }
    }

    fn window_named(&self, name: &NamedNodePattern) -> Option<usize> {
        let NamedNodePattern::NamedNode(name) = name else { return None };
        self.query.windows.iter().position(|window| window.name == *name)
    }

    fn family(&self, name: &NamedNodePattern) -> Option<&WindowFamily> {
        self.families.iter().find(|family| family.name == *name)
    }

    /// The dataset that a pattern inside `GRAPH name` reads. A window of that name wins over a graph of that name.
    fn inside_graph(&self, name: &NamedNodePattern, outside: &Dataset) -> Dataset {
        if let Some(window) = self.window_named(name) {
            return Dataset::Window(window);
        }
        match (outside.window(), name) {
            (Some(window), NamedNodePattern::NamedNode(name)) => {
                Dataset::EventGraph(window, Place::Term(name.clone().into()))
            }
            (Some(window), NamedNodePattern::Variable(variable)) => {
                Dataset::EventGraph(window, Place::Variable(variable.clone()))
            }
            (None, NamedNodePattern::NamedNode(name)) => Dataset::Graph(name.clone()),
            (None, NamedNodePattern::Variable(variable)) => Dataset::EachGraph(variable.clone()),
        }
    }

    fn graph(&mut self, name: &NamedNodePattern, inner: &GraphPattern, dataset: &Dataset) -> Planned {
        let plan = self.graph_block(name, inner, dataset)?;
        Ok(match dataset {
            Dataset::EachGraph(around) => Plan::join([plan, graph_names(around)]),
            Dataset::EventGraph(window, Place::Variable(around)) => {
                Plan::join([plan, self.event_graphs(*window, around.clone())])
            }
            _ => plan,
        })
    }

    fn graph_block(&mut self, name: &NamedNodePattern, inner: &GraphPattern, dataset: &Dataset) -> Planned {
        if let Some(family) = self.family(name).cloned() {
            return self.each_window(&family, inner);
        }
        match self.inside_graph(name, dataset) {
            Dataset::EachGraph(variable) if self.is_steady(inner, &Dataset::EachGraph(variable.clone())) => {
                self.each_graph(variable, inner, dataset)
            }
            Dataset::EachGraph(variable) => self.streaming_graphs(&variable, inner),
            Dataset::EventGraph(window, Place::Variable(graph)) => self.each_event_graph(window, &graph, inner),
            inside @ Dataset::EventGraph(..) if may_hold_without_triples(inner) => {
                let there = self.event_graph(&inside);
                Ok(Plan::join([self.plan(inner, &inside)?, there]))
            }
            inside => self.plan(inner, &inside),
        }
    }

    /// The pattern in each window of a family, together with the name of the window or of its stream.
    fn each_window(&mut self, family: &WindowFamily, inner: &GraphPattern) -> Planned {
        let mut inputs = Vec::new();
        for (window, value) in &family.members {
            let plan = self.plan(inner, &Dataset::Window(*window))?;
            let named = single_value(&family.variable, GroundTerm::NamedNode(value.clone()));
            inputs.push(Plan::join([plan, Plan::of_static(named)]));
        }
        Ok(Plan::Union { inputs })
    }

    fn basic(&mut self, patterns: &[TriplePattern], dataset: &Dataset) -> Planned {
        let mut parts = Vec::new();
        for pattern in patterns {
            parts.push(if scope::has_nested_pattern(pattern) {
                let opened = Opened::new(pattern, dataset, &mut self.fresh);
                let leaf = self.triple(&opened.pattern, dataset);
                opened.over(leaf)
            } else {
                self.triple(pattern, dataset)
            });
        }
        Ok(Plan::join(parts))
    }

    fn triple(&self, pattern: &TriplePattern, dataset: &Dataset) -> Plan {
        let leaf = |window: usize, graph: Option<Place>| {
            Plan::Leaf(LeafPlan { window, places: places(pattern), graph, time: None })
        };
        match dataset {
            Dataset::Window(window) => leaf(*window, None),
            Dataset::EventGraph(window, graph) => leaf(*window, Some(graph.clone())),
            _ => self.merged_leaf(pattern),
        }
    }

    /// A triple pattern over a default graph that consists of windows and perhaps static data. A triple in two of its
    /// parts counts once, unless the windows are bags.
    fn merged_leaf(&self, pattern: &TriplePattern) -> Plan {
        let windows = self.query.default_graph.windows.iter();
        let places = places(pattern);
        let leaf =
            |window: &usize| Plan::Leaf(LeafPlan { window: *window, places: places.clone(), graph: None, time: None });
        let mut inputs: Vec<Plan> = windows.map(leaf).collect();
        if self.default_has_static_part() {
            inputs.push(Plan::of_static(GraphPattern::Bgp { patterns: vec![open_blanks(pattern)] }));
        }
        match (inputs.len(), self.query.semantics) {
            (1, _) => inputs.swap_remove(0),
            (_, ContentSemantics::Bag) => Plan::Union { inputs },
            (_, ContentSemantics::Set) => Plan::Distinct { inner: Plan::Union { inputs }.into() },
        }
    }

    /// The default graph has a static part if FROM names graphs, or if the options add the static default graph.
    fn default_has_static_part(&self) -> bool {
        let from = self.query.query.dataset().is_some_and(|dataset| !dataset.default.is_empty());
        from || self.query.default_graph.with_static
    }

    fn optional(
        &mut self,
        whole: &GraphPattern,
        left: &GraphPattern,
        right: &GraphPattern,
        condition: Option<&Expression>,
        dataset: &Dataset,
    ) -> Planned {
        if let Some(condition) = condition.filter(|condition| needs_help(condition)) {
            return self.optional_with_help(whole, left, right, condition, dataset);
        }
        let (left, right) = (self.plan_carrying(left, dataset)?, self.plan(right, dataset)?);
        Ok(Plan::Optional { left: left.into(), right: right.into(), condition: condition.cloned() })
    }

    /// Plans an OPTIONAL whose condition contains EXISTS or reads the time. The matching pairs are computed separately
    /// and then joined to the left side. Each pair finds its own row only if every left variable is bound; otherwise an
    /// unbound variable would match any value.
    fn optional_with_help(
        &mut self,
        whole: &GraphPattern,
        left: &GraphPattern,
        right: &GraphPattern,
        condition: &Expression,
        dataset: &Dataset,
    ) -> Planned {
        let shown = scope::in_scope(left);
        if scope::certain(left) != shown {
            return self.reevaluated(whole, dataset, Reevaluation::ExistsInOptional);
        }
        let shown = GraphPattern::Project { inner: left.clone().into(), variables: shown.into_iter().collect() };
        let distinct = GraphPattern::Distinct { inner: shown.into() };
        let pairs = GraphPattern::Join { left: distinct.into(), right: right.clone().into() };
        let pairs = GraphPattern::Filter { expr: condition.clone(), inner: pairs.into() };
        let (left, right) = (self.plan_carrying(left, dataset)?, self.plan(&pairs, dataset)?);
        Ok(Plan::Optional { left: left.into(), right: right.into(), condition: None })
    }

    fn filter(
        &mut self,
        whole: &GraphPattern,
        condition: &Expression,
        inner: &GraphPattern,
        dataset: &Dataset,
    ) -> Planned {
        if needs_help(condition) {
            let plan = self.plan_carrying(inner, dataset)?;
            let Some((plan, condition)) = self.help(plan, condition, inner, dataset)? else {
                return self.reevaluated(whole, dataset, Reevaluation::ExistsOverPattern);
            };
            let plan = Plan::Filter { inner: plan.into(), condition };
            return Ok(project(plan, shown(inner, dataset)));
        }
        let plan = self.plan(inner, dataset)?;
        // A plan that is not a join keeps the filter directly above it; for static data this means filtering before any
        // join.
        let Plan::Join { inputs, mut filters } = plan else {
            return Ok(Plan::Filter { inner: plan.into(), condition: condition.clone() });
        };
        // `Plan::join` merges this join into an enclosing one and its filters with it, where more variables are bound.
        // So a filter may move into the join only if this pattern always binds its variables. Volatile filters stay
        // outside, since the number of times they are evaluated would depend on the join order.
        let certain = scope::certain(inner);
        let mut parts = Vec::new();
        split_and(condition, &mut parts);
        let joins = |part: &Expression| !is_volatile(part) && scope::mentioned(part).is_subset(&certain);
        let (early, late): (Vec<_>, Vec<_>) = parts.into_iter().partition(joins);
        filters.extend(early);
        let join = Plan::Join { inputs, filters };
        Ok(late.into_iter().fold(join, |plan, condition| Plan::Filter { inner: plan.into(), condition }))
    }

    fn extend(
        &mut self,
        whole: &GraphPattern,
        inner: &GraphPattern,
        variable: &Variable,
        expression: &Expression,
        dataset: &Dataset,
    ) -> Planned {
        if !needs_help(expression) {
            let inner = self.plan(inner, dataset)?.into();
            return Ok(Plan::Extend { inner, variable: variable.clone(), expression: expression.clone() });
        }
        let plan = self.plan_carrying(inner, dataset)?;
        let Some((plan, expression)) = self.help(plan, expression, inner, dataset)? else {
            return self.reevaluated(whole, dataset, Reevaluation::ExistsOverPattern);
        };
        let plan = Plan::Extend { inner: plan.into(), variable: variable.clone(), expression };
        let mut shown = shown(inner, dataset);
        shown.insert(variable.clone());
        Ok(project(plan, shown))
    }

    fn group(
        &mut self,
        whole: &GraphPattern,
        inner: &GraphPattern,
        keys: &[Variable],
        aggregates: &[(Variable, AggregateExpression)],
        dataset: &Dataset,
    ) -> Planned {
        // Arguments that need help are bound before grouping.
        let mut bound = inner.clone();
        let mut simple = aggregates.to_vec();
        for (_, aggregate) in &mut simple {
            if let AggregateExpression::FunctionCall { expr, .. } = aggregate
                && needs_help(expr)
            {
                let variable = self.fresh.next("value");
                bound = GraphPattern::Extend {
                    inner: bound.into(),
                    variable: variable.clone(),
                    expression: std::mem::replace(expr, Expression::Variable(variable)),
                };
            }
        }
        let plan = self.plan(&bound, dataset)?;
        // If binding an argument already needs re-evaluation, re-evaluate the whole group at once.
        if matches!(plan, Plan::Reevaluated { .. }) && bound != *inner {
            return self.reevaluated(whole, dataset, Reevaluation::ExistsInAggregate);
        }
        let plan = self.carrying(plan, &bound, dataset);
        if let (Some(graph), []) = (carried(dataset), keys) {
            return Ok(self.total_of_each(graph, plan, &simple, dataset));
        }
        Ok(Plan::Group { inner: plan.into(), keys: distinct(keys, dataset), aggregates: simple, stage: Stage::Whole })
    }

    /// LIMIT and OFFSET over the order that an ORDER BY below projection and DISTINCT defines.
    fn slice(
        &mut self,
        whole: &GraphPattern,
        inner: &GraphPattern,
        offset: usize,
        limit: Option<usize>,
        dataset: &Dataset,
    ) -> Planned {
        let Some((pattern, order)) = super::modifiers::lift_order(inner) else {
            return self.reevaluated(whole, dataset, Reevaluation::OrderOfDropped);
        };
        let projected = match inner {
            GraphPattern::Project { variables, .. } => Some(variables.clone()),
            _ => None,
        };
        let shown = super::modifiers::projected(inner);
        let inner = self.plan_carrying(&pattern, dataset)?;
        let each = carried(dataset).cloned();
        let top = Plan::TopK { inner: inner.into(), each: each.clone(), order, shown, offset, limit };
        // `lift_order` has removed the projection below; apply it above the slice.
        Ok(match projected {
            Some(mut variables) => {
                variables.extend(each.filter(|each| !variables.contains(each)));
                Plan::Project { inner: top.into(), variables }
            }
            None => top,
        })
    }

    /// Whether the pattern names windows by a variable or reads graphs of events; re-evaluation supports neither.
    fn names_parts_of_windows(&self, pattern: &GraphPattern, dataset: &Dataset) -> bool {
        let mut inside = dataset.clone();
        if let GraphPattern::Graph { name, .. } = pattern {
            inside = self.inside_graph(name, dataset);
            if self.family(name).is_some() || matches!(inside, Dataset::EventGraph(..)) {
                return true;
            }
        }
        children_and_exists(pattern).into_iter().any(|part| self.names_parts_of_windows(part, &inside))
    }

    pub(super) fn reevaluated(&mut self, pattern: &GraphPattern, dataset: &Dataset, reason: Reevaluation) -> Planned {
        if let Some(function) = scope::drawing_function(pattern) {
            return Err(Unsupported::FunctionReevaluated { function, reason }.into());
        }
        if self.names_parts_of_windows(pattern, dataset) {
            return Err(Unsupported::PartOfWindowReevaluated { reason }.into());
        }
        match dataset {
            Dataset::EventGraph(..) => Err(Unsupported::ReevaluatedInGraph { reason }.into()),
            Dataset::Window(window) => {
                let pattern = unfold_paths(pattern, &mut self.fresh);
                Ok(Plan::Reevaluated { pattern, window: Some(*window), reason })
            }
            _ => {
                let pattern = inside(&unfold_paths(pattern, &mut self.fresh), dataset);
                Ok(Plan::Reevaluated { pattern, window: None, reason })
            }
        }
    }
}

/// Whether an expression needs more than the mapping it is evaluated on.
pub(super) fn needs_help(expression: &Expression) -> bool {
    contains_exists(expression) || scope::asks_time(expression)
}

pub(super) fn project(inner: Plan, variables: Vars) -> Plan {
    Plan::Project { inner: inner.into(), variables: variables.into_iter().collect() }
}

pub(super) fn single_value(variable: &Variable, value: GroundTerm) -> GraphPattern {
    GraphPattern::Values { variables: vec![variable.clone()], bindings: vec![vec![Some(value)]] }
}

/// A static pattern. A basic graph pattern is split into its connected components: if only a stream connects two of
/// them, evaluating them together would compute their product.
fn static_parts(pattern: &GraphPattern, dataset: &Dataset) -> Plan {
    let wrap = |pattern: GraphPattern| Plan::of_static(inside(&pattern, dataset));
    let patterns = match pattern {
        GraphPattern::Bgp { patterns } if patterns.len() > 1 => patterns,
        _ if !is_plain(pattern) && matches!(dataset, Dataset::EachGraph(_)) => {
            return Plan::Static { pattern: pattern.clone(), each_graph: carried(dataset).cloned() };
        }
        _ => return wrap(pattern.clone()),
    };
    let mut parts: Vec<(Vars, Vec<TriplePattern>)> = Vec::new();
    for triple in patterns {
        let mut vars = Vars::new();
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
    let mut parts: Vec<Plan> = parts.into_iter().map(|(_, patterns)| wrap(GraphPattern::Bgp { patterns })).collect();
    if parts.len() == 1 { parts.swap_remove(0) } else { Plan::join(parts) }
}

fn reads_triples(pattern: &GraphPattern) -> bool {
    match pattern {
        GraphPattern::Bgp { patterns } => !patterns.is_empty(),
        GraphPattern::Path { .. } => true,
        _ => false,
    }
}

/// Whether the evaluator may see GRAPH ?g as it stands: triples, joins and unions. Any other pattern is evaluated graph
/// by graph, because ?g must not be visible inside it.
fn is_plain(pattern: &GraphPattern) -> bool {
    let own = matches!(
        pattern,
        GraphPattern::Bgp { .. } | GraphPattern::Path { .. } | GraphPattern::Join { .. } | GraphPattern::Union { .. }
    );
    own && children(pattern).into_iter().all(is_plain)
}

/// The pattern on its own, wrapped in the static GRAPH it stood in. A pattern that reads no triples means the same
/// inside and outside a window.
pub(super) fn inside(pattern: &GraphPattern, dataset: &Dataset) -> GraphPattern {
    let name = match dataset {
        Dataset::Default | Dataset::Window(_) | Dataset::EventGraph(..) => return pattern.clone(),
        Dataset::Graph(name) => name.clone().into(),
        Dataset::EachGraph(variable) => variable.clone().into(),
    };
    GraphPattern::Graph { name, inner: pattern.clone().into() }
}

/// The variable that holds the graph name which every row inside GRAPH ?g carries.
pub(super) fn carried(dataset: &Dataset) -> Option<&Variable> {
    match dataset {
        Dataset::EachGraph(variable) | Dataset::EventGraph(_, Place::Variable(variable)) => Some(variable),
        _ => None,
    }
}

/// The group keys and the carried column, without duplicates: `GROUP BY ?x ?x` is `GROUP BY ?x`.
fn distinct(keys: &[Variable], dataset: &Dataset) -> Vec<Variable> {
    let mut seen = Vars::new();
    keys.iter().chain(carried(dataset)).filter(|key| seen.insert((*key).clone())).cloned().collect()
}

/// The variables in scope, and the carried column if rows have one.
fn shown(pattern: &GraphPattern, dataset: &Dataset) -> Vars {
    let mut vars = scope::in_scope(pattern);
    vars.extend(carried(dataset).cloned());
    vars
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
