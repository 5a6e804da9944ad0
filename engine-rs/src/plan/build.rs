//! Turns the logical plan into operators, and requests the leaves and window contents they read.
//!
//! Invariants: `nodes` is in topological order (inputs precede their readers, the root is last), so the engine can
//! evaluate one instant in a single pass over the vector. A schema never changes once its node has been added: readers
//! have compiled column numbers into their expressions.

use super::costly;
use super::cut::{Part, part_of};
use super::error::{PlanError, Reevaluation, Unsupported};
use super::explain::{Description, Mode};
use super::graph_names::graphs_read;
use super::logical::{Plan, Stage, WindowFamily};
use super::modifiers::{Answer, Top};
use super::node::{NodeKind, PlanNode};
use super::properties::{hides_nothing, is_plain};
use super::root::{Evaluation, root_of};
use super::scope;
use super::spelling::Meanings;
use super::template::{template_text, template_variables};
use super::triple_terms::is_part;
use super::wording::{aggregate_text, expression_text, operand_text, pattern_text, variables_text};
use crate::aggregate::{Accumulator, AggregateKind, AggregateSpec};
use crate::encode::Dictionary;
use crate::expr::{self, Expr};
use crate::flow::Operator;
use crate::group::{Aggregate, Group};
use crate::join::Probing;
use crate::leaf::{Leaf, LeafCondition, LeafPattern};
use crate::limits::Limits;
use crate::model::{Schema, TermId, VarId, VarTable};
use crate::negate::{Witness, WitnessKind, pair_schema};
use crate::parse::{ContentSemantics, ContinuousQuery, DefaultGraph, Dialect, R2s, TemplateQuad};
use crate::reevaluate::{Question, Reevaluated, Source, Sources};
use crate::shape::{Construct, Distinct, Extend, Filter, Given, Now, Rearrange};
use crate::thresholds::Thresholds;
use crate::topk::RowOrder;
use oxrdf::{NamedNode, Variable};
use spargebra::algebra::{AggregateExpression, Expression, GraphPattern};

/// How joins retract results; `Auto` lets the planner choose.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Retraction {
    #[default]
    Auto,
    Tree,
    Probe,
}

/// Choices that affect cost but never results.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PlanOptions {
    pub evaluation: Evaluation,
    pub probing: Probing,
    pub retraction: Retraction,
    pub limits: Limits,
    pub thresholds: Thresholds,
}

/// Where a query's leaves and windows live.
pub(crate) trait Host {
    /// Returns the leaf for this pattern and condition over the window of the given clause, creating it if no query of
    /// the timeline has asked for an equal one.
    fn leaf(&mut self, clause: usize, pattern: LeafPattern, condition: Option<Box<LeafCondition>>) -> usize;
    fn leaves(&mut self) -> &mut [Leaf];
    /// The window of a clause. From now on the window also keeps its triples, because re-evaluation needs to read them.
    fn window_with_content(&mut self, clause: usize) -> usize;
}

pub(crate) struct BuiltQuery {
    /// In topological order: inputs precede the nodes that read them, and the last node is the root.
    pub nodes: Vec<PlanNode>,
    pub vars: VarTable,
    /// What the variables that the user did not write stand for.
    pub meanings: Meanings,
    /// For each variable of the result, its column at the root.
    pub visible: Vec<Option<usize>>,
    pub order: RowOrder,
    /// Show only the first of rows whose visible columns are equal.
    pub shows_once: bool,
    pub answer: Answer,
    pub reevaluates: bool,
    /// Whether rows that go are retracted. If not, the current result is a join over the leaves and nothing above it
    /// keeps state, so it can be enumerated on request.
    pub retracts: bool,
}

/// A query that has been planned but not built. Planning needs only the query text, so a refusal here leaves the engine
/// untouched.
pub(crate) struct PlannedQuery {
    top: Top,
    plan: Plan,
    meanings: Meanings,
    is_below: bool,
}

impl PlannedQuery {
    pub(crate) fn new(
        query: &ContinuousQuery,
        families: &[WindowFamily],
        part: &Part,
        options: &PlanOptions,
    ) -> Result<Self, PlanError> {
        costly::check(query, families, &options.limits)?;
        let (top, plan, meanings) = root_of(query, families, options.evaluation)?;
        let plan = part_of(plan, part, &top)?;
        Ok(Self { top, plan, meanings, is_below: matches!(part, Part::Below(_)) })
    }

    /// Whether building it cannot fail: it has triple patterns over windows and no expressions.
    pub(crate) fn surely_builds(&self) -> bool {
        let is_leaf = |plan: &Plan| matches!(plan, Plan::Leaf(_));
        let is_bare = match &self.plan {
            Plan::Join { inputs, filters } => filters.is_empty() && inputs.iter().all(is_leaf),
            plan => is_leaf(plan),
        };
        is_bare && self.top.order.is_empty() && matches!(self.top.answer, Answer::Bindings(_))
    }
}

pub(crate) struct Builder<'a, H: Host> {
    pub query: &'a ContinuousQuery,
    pub options: PlanOptions,
    pub dictionary: &'a mut Dictionary,
    pub host: &'a mut H,
    pub vars: VarTable,
    pub meanings: Meanings,
    pub nodes: Vec<PlanNode>,
    pub reevaluates: bool,
    /// How many expressions have been compiled; the number seeds volatile functions per call site.
    pub expressions: u32,
}

pub(super) type Built = Result<usize, PlanError>;

impl<H: Host> Builder<'_, H> {
    pub(crate) fn build_query(mut self, planned: &PlannedQuery) -> Result<BuiltQuery, PlanError> {
        let PlannedQuery { top, plan, meanings, is_below } = planned;
        let (mut top, is_below) = (top.clone(), *is_below);
        self.meanings.extend(meanings.clone());
        let mut shown = self.shown_variables(&top.answer);
        // CONSTRUCT yields a set of triples, so it needs to know when the last solution that produces a triple goes.
        let makes_graph = matches!(top.answer, Answer::Graph(_));
        // ISTREAM emits additions only. If arrivals only add rows, and equal rows come only from equal mappings, then a
        // removal can neither cancel nor cause an addition, and joins need not retract. The exception, a removal and an
        // addition at one instant, is requested by the timeline (`RetractionMode::Unneeded`).
        let only_comes = self.query.r2s == R2s::Istream && !makes_graph && !is_below;
        let retracts = !(only_comes && is_plain(plan) && hides_nothing(plan, &shown));
        let root = self.build(plan, retracts)?;
        let schema = self.nodes[root].schema.clone();
        debug_assert_eq!(root + 1, self.nodes.len());
        if is_below {
            // Partitions hand up every column; projection and order are applied once, above the cut.
            shown = schema.vars().iter().map(|var| self.vars.name(*var).clone()).collect();
            top = Top { order: vec![], shows_once: false, answer: Answer::Bindings(shown.clone()), ..top };
        }
        let comparators = self.comparators(&top.order, &schema)?;
        let mut visible = self.columns(&shown, &schema);
        let order = RowOrder { comparators, shown: visible.clone() };
        if let Answer::Graph(template) = &top.answer {
            visible = (0..self.construct(root, template, &schema)).map(Some).collect();
        }
        let Self { nodes, vars, meanings, reevaluates, .. } = self;
        Ok(BuiltQuery {
            nodes,
            vars,
            meanings,
            visible,
            order,
            shows_once: top.shows_once,
            answer: top.answer,
            reevaluates,
            retracts,
        })
    }

    /// Adds CONSTRUCT, with DISTINCT above it: a triple stays as long as at least one solution produces it. Returns the
    /// number of columns: four if the template names graphs.
    fn construct(&mut self, root: usize, template: &[TemplateQuad], schema: &Schema) -> usize {
        let mut blanks = Vec::new();
        let slots = template.iter().map(|quad| self.quad_slots(quad, schema, &mut blanks)).collect();
        let construct = Construct::new(slots);
        let mut column = |meaning: &str| {
            let var = self.vars.fresh();
            self.meanings.insert(self.vars.name(var).clone(), meaning.to_owned());
            (var, true)
        };
        let columns = &["subject", "predicate", "object", "graph"][..construct.width()];
        let columns: Schema = columns.iter().copied().map(&mut column).collect();
        let width = construct.width();
        let description = Description::incremental("construct", template_text(template));
        let made = self.add(Box::new(construct), vec![root], columns, description);
        self.distinct(made);
        width
    }

    fn shown_variables(&self, answer: &Answer) -> Vec<Variable> {
        match answer {
            Answer::Bindings(variables) => variables.clone(),
            Answer::Boolean => vec![],
            Answer::Graph(template) => template_variables(template).into_iter().collect(),
        }
    }

    pub(super) fn build(&mut self, plan: &Plan, retracts: bool) -> Built {
        match plan {
            Plan::Leaf(_) => self.join(std::slice::from_ref(plan), &[], retracts),
            Plan::Join { inputs, filters } => self.join(inputs, filters, retracts),
            Plan::Static { pattern, each_graph } => self.static_relation(pattern, each_graph.as_ref()),
            Plan::Reevaluated { pattern, window, reason } => self.reevaluated(pattern, *window, *reason),
            Plan::Now { variable } => Ok(self.now(variable)),
            Plan::Filter { inner, condition } => {
                let inner = self.build(inner, retracts)?;
                self.filter(inner, condition)
            }
            Plan::Extend { inner, variable, expression } => self.extend(inner, variable, expression, retracts),
            Plan::Project { inner, variables } => self.project(inner, variables),
            Plan::Union { inputs } => self.union(inputs),
            Plan::Optional { left, right, condition } => self.optional(left, right, condition.as_ref()),
            Plan::Minus { left, right, uncounted } => self.minus(left, right, uncounted.as_ref()),
            Plan::Mark { left, right, condition, flag } => self.mark(left, right, condition.as_ref(), flag),
            Plan::Distinct { inner } => {
                let inner = self.build(inner, true)?;
                Ok(self.distinct(inner))
            }
            Plan::Group { inner, keys, aggregates, stage } => self.group(inner, keys, aggregates, *stage),
            Plan::TopK { inner, each, order, shown, offset, limit } => {
                self.top_k(inner, each.as_ref(), (order, shown), (*offset, *limit))
            }
            Plan::Given { columns } => Ok(self.given(columns)),
        }
    }

    pub(super) fn add(
        &mut self,
        operator: Box<dyn Operator>,
        inputs: Vec<usize>,
        schema: Schema,
        description: Description,
    ) -> usize {
        let (kind, identity) = (NodeKind::Operator(operator), schema.width());
        self.add_node(PlanNode { kind, inputs, schema, description, leaves: vec![], identity, emitted: 0 })
    }

    fn distinct(&mut self, inner: usize) -> usize {
        let schema = self.nodes[inner].schema.clone();
        self.add(Box::new(Distinct::default()), vec![inner], schema, Description::incremental("distinct", ""))
    }

    pub(super) fn add_node(&mut self, node: PlanNode) -> usize {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    pub(super) fn compile(&mut self, expression: &Expression, schema: &Schema) -> Result<Expr, PlanError> {
        let vars = &self.vars;
        let column_of = |variable: &Variable| vars.find(variable).and_then(|var| schema.column(var));
        let base = self.query.query.base_iri();
        let compiled = expr::compile(expression, base, &column_of, self.dictionary)?;
        self.expressions += 1;
        Ok(compiled.at_place(self.expressions, usize::MAX))
    }

    pub(super) fn filter(&mut self, inner: usize, condition: &Expression) -> Built {
        let PlanNode { schema, identity, .. } = &self.nodes[inner];
        let (inner_schema, identity) = (schema.clone(), *identity);
        let compiled = self.compile(condition, &inner_schema)?;
        // What passes has them: `?x >= 1` is an error without ?x. So what BIND computes can be a key of joins.
        let needed = scope::needed(condition);
        let needed: Vec<VarId> = needed.iter().filter_map(|variable| self.vars.find(variable)).collect();
        let schema = inner_schema.iter().map(|(var, certain)| (var, certain || needed.contains(&var))).collect();
        let description = Description::incremental("filter", expression_text(condition));
        let filter = self.add(Box::new(Filter { condition: compiled }), vec![inner], schema, description);
        self.nodes[filter].identity = identity;
        Ok(filter)
    }

    fn extend(&mut self, inner: &Plan, variable: &Variable, expression: &Expression, retracts: bool) -> Built {
        let inner = self.build(inner, retracts)?;
        let PlanNode { schema, identity, .. } = &self.nodes[inner];
        let (mut schema, identity) = (schema.clone(), *identity);
        let compiled = self.compile(expression, &schema)?.at_place(self.expressions, identity);
        schema.push(self.vars.id(variable), is_part(expression));
        let detail = match self.note_meaning(variable, || operand_text(expression)) {
            true => expression_text(expression),
            false => format!("{variable} = {}", expression_text(expression)),
        };
        let description = Description::incremental("bind", detail);
        let extend = self.add(Box::new(Extend { expression: compiled }), vec![inner], schema, description);
        self.nodes[extend].identity = identity;
        Ok(extend)
    }

    /// Records what an invented variable stands for; returns whether the variable is one.
    fn note_meaning(&mut self, variable: &Variable, meaning: impl FnOnce() -> String) -> bool {
        let is_computed = ["_whorl_made_", "_whorl_value_"].iter().any(|p| variable.as_str().starts_with(p));
        if is_computed {
            self.meanings.entry(variable.clone()).or_insert_with(meaning);
        }
        is_computed
    }

    fn project(&mut self, inner: &Plan, variables: &[Variable]) -> Built {
        let inner = self.build(inner, true)?;
        let from = self.nodes[inner].schema.clone();
        let mut schema = Schema::default();
        let mut columns = Vec::new();
        for variable in variables {
            let var = self.vars.id(variable);
            let column = from.column(var);
            schema.push(var, column.is_some_and(|c| from.is_certain(c)));
            columns.push(column);
        }
        let description = Description::incremental("project", variables_text(variables));
        Ok(self.add(Box::new(Rearrange { columns: vec![columns] }), vec![inner], schema, description))
    }

    fn union(&mut self, inputs: &[Plan]) -> Built {
        let inputs: Vec<usize> = inputs.iter().map(|input| self.build(input, true)).collect::<Result<_, _>>()?;
        let schemas: Vec<Schema> = inputs.iter().map(|input| self.nodes[*input].schema.clone()).collect();
        let mut schema = Schema::default();
        for (var, _) in schemas.iter().flat_map(Schema::iter) {
            if schema.column(var).is_none() {
                // A branch without the variable leaves it unbound in its rows.
                let certain = schemas.iter().all(|s| s.column(var).is_some_and(|c| s.is_certain(c)));
                schema.push(var, certain);
            }
        }
        let columns = schemas.iter().map(|s| schema.vars().iter().map(|var| s.column(*var)).collect()).collect();
        Ok(self.add(Box::new(Rearrange { columns }), inputs, schema, Description::incremental("union", "")))
    }

    fn optional(&mut self, left: &Plan, right: &Plan, condition: Option<&Expression>) -> Built {
        let (left, right) = (self.build(left, true)?, self.build(right, true)?);
        let (left_schema, right_schema) = (self.nodes[left].schema.clone(), self.nodes[right].schema.clone());
        let schema = pair_schema(&left_schema, &right_schema);
        let compiled = condition.map(|c| self.compile(c, &schema)).transpose()?;
        let slots_kept = self.options.thresholds.row_slots_kept;
        let operator = Witness::new(WitnessKind::Optional, &left_schema, &right_schema, compiled, slots_kept);
        let description = self.witness("optional", None, &left_schema, &right_schema, condition);
        Ok(self.add(Box::new(operator), vec![left, right], schema, description))
    }

    fn minus(&mut self, left: &Plan, right: &Plan, uncounted: Option<&Variable>) -> Built {
        let (left, right) = (self.build(left, true)?, self.build(right, true)?);
        let (schema, right_schema) = (self.nodes[left].schema.clone(), self.nodes[right].schema.clone());
        let slots_kept = self.options.thresholds.row_slots_kept;
        let uncounted = uncounted.and_then(|variable| self.vars.find(variable));
        let operator = Witness::new(WitnessKind::Minus { uncounted }, &schema, &right_schema, None, slots_kept);
        let description = self.witness("minus", None, &schema, &right_schema, None);
        Ok(self.add(Box::new(operator), vec![left, right], schema, description))
    }

    /// Describes an operator of the witness family (OPTIONAL, MINUS, EXISTS) and the variables it looks up by.
    fn witness(
        &self,
        operator: &'static str,
        flag: Option<&Variable>,
        left: &Schema,
        right: &Schema,
        condition: Option<&Expression>,
    ) -> Description {
        let is_certain = |schema: &Schema, var: VarId| schema.column(var).is_some_and(|c| schema.is_certain(c));
        let keys: Vec<VarId> =
            left.vars().iter().copied().filter(|var| is_certain(left, *var) && is_certain(right, *var)).collect();
        let mut detail = flag.map(ToString::to_string).into_iter().collect::<Vec<_>>();
        if !keys.is_empty() {
            detail.push(format!("on {}", self.names(&keys)));
        }
        detail.extend(condition.map(|condition| format!("if {}", expression_text(condition))));
        Description::incremental(operator, detail.join(" ")).with_keys(keys)
    }

    pub(super) fn names(&self, vars: &[VarId]) -> String {
        let names: Vec<Variable> = vars.iter().map(|var| self.vars.name(*var).clone()).collect();
        variables_text(&names)
    }

    fn mark(&mut self, left: &Plan, right: &Plan, condition: Option<&Expression>, flag: &Variable) -> Built {
        let (left, right) = (self.build(left, true)?, self.build(right, true)?);
        let (left_schema, right_schema) = (self.nodes[left].schema.clone(), self.nodes[right].schema.clone());
        let pair = pair_schema(&left_schema, &right_schema);
        let compiled = condition.map(|c| self.compile(c, &pair)).transpose()?;
        let slots_kept = self.options.thresholds.row_slots_kept;
        let operator = Witness::new(WitnessKind::Mark, &left_schema, &right_schema, compiled, slots_kept);
        let description = self.witness("exists", Some(flag), &left_schema, &right_schema, condition);
        let mut schema = left_schema;
        schema.push(self.vars.id(flag), true);
        Ok(self.add(Box::new(operator), vec![left, right], schema, description))
    }

    fn given(&mut self, columns: &[(Variable, bool)]) -> usize {
        let schema = columns.iter().map(|(variable, certain)| (self.vars.id(variable), *certain)).collect();
        self.add(Box::new(Given), vec![], schema, Description::incremental("partitions", "rows of all partitions"))
    }

    fn group(
        &mut self,
        inner: &Plan,
        keys: &[Variable],
        aggregates: &[(Variable, AggregateExpression)],
        stage: Stage,
    ) -> Built {
        let inner = self.build(inner, true)?;
        let from = self.nodes[inner].schema.clone();
        let mut schema = Schema::default();
        let mut key_columns = Vec::new();
        // A key that nothing binds is unbound in every group, so it cannot separate groups.
        for key in keys {
            let var = self.vars.id(key);
            if let Some(column) = from.column(var) {
                schema.push(var, from.is_certain(column));
                key_columns.push(column);
            }
        }
        let mut compiled = Vec::new();
        for (variable, aggregate) in aggregates {
            compiled.push(self.aggregate(variable, aggregate, &from, stage)?);
            // Never certain: an aggregate over an erroneous value has no value.
            schema.push(self.vars.id(variable), false);
            self.note_meaning(variable, || aggregate_text(aggregate));
        }
        // Over no rows, a whole aggregate without GROUP BY yields one row (COUNT = 0). A partial one yields none: the
        // final stage adds that row once, not once per partition.
        let grouped = !keys.is_empty() || stage == Stage::Partial;
        let by = if keys.is_empty() { String::new() } else { format!("by {}", variables_text(keys)) };
        let computed: Vec<String> = aggregates.iter().map(|(_, aggregate)| aggregate_text(aggregate)).collect();
        let computing = if computed.is_empty() { String::new() } else { format!(" computing {}", computed.join(", ")) };
        let key_vars = schema.vars()[..key_columns.len()].to_vec();
        let operator = match stage {
            Stage::Whole => "group",
            Stage::Partial => "partial group",
            Stage::Final => "final group",
        };
        let description = Description::incremental(operator, format!("{by}{computing}")).with_keys(key_vars);
        let slots_kept = self.options.thresholds.row_slots_kept;
        Ok(self.add(Box::new(Group::new(key_columns, compiled, grouped, slots_kept)), vec![inner], schema, description))
    }

    fn aggregate(
        &mut self,
        variable: &Variable,
        aggregate: &AggregateExpression,
        from: &Schema,
        stage: Stage,
    ) -> Result<Aggregate, PlanError> {
        if stage != Stage::Whole {
            return self.aggregate_in_parts(variable, aggregate, from, stage);
        }
        Ok(match aggregate {
            AggregateExpression::CountSolutions { distinct: false } => Aggregate::Rows,
            AggregateExpression::CountSolutions { distinct: true } => Aggregate::DistinctRows,
            AggregateExpression::FunctionCall { name, expr, distinct } => {
                let mut spec =
                    AggregateSpec::of(name).ok_or_else(|| Unsupported::Aggregate { name: name.to_string() })?;
                spec.distinct |= distinct;
                Aggregate::Of(self.compile(expr, from)?, self.accumulator(&spec))
            }
        })
    }

    fn accumulator(&self, spec: &AggregateSpec) -> Box<Accumulator> {
        Accumulator::new(spec).in_chunks_of(self.options.thresholds.bag_chunk_max).into()
    }

    /// An aggregate over one partition's rows, or over the partial aggregates of all partitions.
    fn aggregate_in_parts(
        &mut self,
        variable: &Variable,
        aggregate: &AggregateExpression,
        from: &Schema,
        stage: Stage,
    ) -> Result<Aggregate, PlanError> {
        let (kind, argument) = match aggregate {
            AggregateExpression::CountSolutions { .. } => (Some(AggregateKind::CountAll), None),
            AggregateExpression::FunctionCall { name, expr, .. } => {
                (AggregateSpec::of(name).map(|spec| spec.kind), Some(expr))
            }
        };
        let parts = kind.as_ref().and_then(AggregateKind::in_parts);
        let (partial, whole) =
            parts.ok_or_else(|| Unsupported::AggregateOfParts { aggregate: aggregate_text(aggregate) })?;
        match (stage, argument) {
            (Stage::Final, _) => {
                let part = self.compile(&Expression::Variable(variable.clone()), from)?;
                Ok(Aggregate::Of(part, self.accumulator(&AggregateSpec { kind: whole, distinct: false })))
            }
            (_, None) => Ok(Aggregate::Rows),
            (_, Some(argument)) => {
                let argument = self.compile(argument, from)?;
                Ok(Aggregate::Of(argument, self.accumulator(&AggregateSpec { kind: partial, distinct: false })))
            }
        }
    }

    pub(super) fn static_relation(&mut self, pattern: &GraphPattern, each_graph: Option<&Variable>) -> Built {
        let default = self.static_default();
        let (mut schema, mut question) = self.question(pattern, default, vec![])?;
        let text = pattern_text(pattern);
        let detail = each_graph.map_or(text.clone(), |variable| format!("in each graph {variable} {text}"));
        let description = Description::new("static", Mode::Static, detail);
        if let Some(variable) = each_graph {
            question = question.in_each_graph(variable.clone());
            let certain = scope::certain(pattern);
            let is_certain = |v: &Variable| certain.contains(v) || v == variable;
            schema = question.variables().iter().map(|v| (self.vars.id(v), is_certain(v))).collect();
        }
        Ok(self.add(Box::new(Reevaluated::new(question, true)), vec![], schema, description))
    }

    fn reevaluated(&mut self, pattern: &GraphPattern, window: Option<usize>, reason: Reevaluation) -> Built {
        // The evaluator sees the content of a window as a set.
        if self.query.semantics == ContentSemantics::Bag && !scope::ignores_copies(pattern) {
            return Err(PlanError::NeedsSet(reason));
        }
        self.reevaluates = true;
        let default = match window {
            Some(clause) => vec![Source::Window(self.host.window_with_content(clause))],
            None => {
                let DefaultGraph { windows, with_static } = &self.query.default_graph;
                let mut parts: Vec<_> =
                    windows.iter().map(|clause| Source::Window(self.host.window_with_content(*clause))).collect();
                if *with_static || self.graphs_from().is_some() {
                    parts.extend(self.static_default());
                }
                parts
            }
        };
        let mut windows = Vec::new();
        for (clause, window) in self.query.windows.iter().enumerate() {
            let name = self.dictionary.intern_pinned(window.name.as_ref().into());
            windows.push((name, self.host.window_with_content(clause)));
        }
        let (schema, question) = self.question(pattern, default, windows)?;
        let mut detail = pattern_text(pattern);
        if let Some(clause) = window {
            detail = format!("{detail} in {}", self.query.windows[clause].name);
        }
        let description = Description::new("pattern", Mode::Reevaluated { reason }, detail);
        Ok(self.add(Box::new(Reevaluated::new(question, false)), vec![], schema, description))
    }

    fn now(&mut self, variable: &Variable) -> usize {
        self.reevaluates = true;
        let schema = [(self.vars.id(variable), true)].into_iter().collect();
        let description = Description::new("now", Mode::Instant, "");
        self.add(Box::new(Now::default()), vec![], schema, description)
    }

    fn graphs_from(&self) -> Option<&[NamedNode]> {
        self.query.query.dataset().map(|dataset| dataset.default.as_slice()).filter(|graphs| !graphs.is_empty())
    }

    /// The graphs that FROM names, or else the static default graph. With FROM NAMED alone the default graph is empty,
    /// except in CQELS-QL, whose queries use FROM NAMED and still read the default graph.
    fn static_default(&mut self) -> Vec<Source> {
        let Some(graphs) = self.graphs_from().map(<[_]>::to_vec) else {
            let only_named = self.query.query.dataset().is_some_and(|dataset| dataset.named.is_some());
            let is_empty = only_named && self.query.dialect != Dialect::CqelsQl;
            return if is_empty { vec![] } else { vec![Source::StaticDefault] };
        };
        graphs.iter().map(|name| Source::Graph(self.dictionary.intern_pinned(name.as_ref().into()))).collect()
    }

    fn question(
        &mut self,
        pattern: &GraphPattern,
        default: Vec<Source>,
        windows: Vec<(TermId, usize)>,
    ) -> Result<(Schema, Question), PlanError> {
        let variables: Vec<Variable> = scope::in_scope(pattern).into_iter().collect();
        let certain = scope::certain(pattern);
        let schema = variables.iter().map(|v| (self.vars.id(v), certain.contains(v))).collect();
        let named = self.query.query.dataset().and_then(|dataset| dataset.named.as_ref());
        let named =
            named.map(|names| names.iter().map(|name| self.dictionary.intern_pinned(name.as_ref().into())).collect());
        let base = self.query.query.base_iri().cloned();
        let sources = Sources { default, named, windows };
        let question = Question::new(pattern.clone(), variables, sources, base, &self.options.limits)?;
        Ok((schema, question.naming(graphs_read(pattern))))
    }
}
