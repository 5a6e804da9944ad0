//! Builds joins: which inputs become buffers, which variables they share, and how the join retracts results.
//!
//! A join numbers its variables in order of first appearance over its inputs, and that number is also the column in the
//! schema of its results. Filters, range conditions and buffer columns all refer to it.

use super::build::{Builder, Built, Host, PlanOptions, Retraction};
use super::error::{PlanError, Unsupported};
use super::explain::{BufferDescription, Description, LEAF};
use super::logical::{LeafPlan, Place, Plan};
use super::node::{NodeKind, PlanNode};
use super::scope;
use super::wording::{expression_text, leaf_text};
use crate::algebra::rewrite;
use crate::join::{BufferSource, BufferSpec, INDEXED_VARS, JoinFilter, JoinNode, JoinPlan, RetractionMode};
use crate::leaf::{LeafCondition, LeafPattern, OriginPattern, PatternSlot};
use crate::limits::Budget;
use crate::model::{Schema, VarId};
use oxrdf::Variable;
use spargebra::algebra::{Expression, GraphPattern};

/// Buffers of one join; the rest of a longer pattern is joined around it.
const BUFFERS_MAX: usize = 20;
/// The number of a variable must fit a `u8`.
const VARIABLES_MAX: usize = 255;

impl<H: Host> Builder<'_, H> {
    pub(super) fn join(&mut self, inputs: &[Plan], filters: &[Expression], retracts: bool) -> Built {
        if inputs.len() > BUFFERS_MAX {
            let (some, rest) = inputs.split_at(BUFFERS_MAX - 1);
            let inner = Plan::Join { inputs: some.to_vec(), filters: vec![] };
            let outer: Vec<Plan> = std::iter::once(inner).chain(rest.iter().cloned()).collect();
            // The inner join hands over deltas, so its results must be retracted, and those of the outer join with
            // them.
            return self.join(&outer, filters, true);
        }
        match inputs {
            [] => self.static_relation(&GraphPattern::Bgp { patterns: vec![] }, None),
            [only] if !matches!(only, Plan::Leaf(_)) => {
                let mut node = self.build(only, retracts)?;
                for condition in filters {
                    node = self.filter(node, condition)?;
                }
                Ok(node)
            }
            _ => self.multiway(inputs, filters, retracts),
        }
    }

    fn multiway(&mut self, inputs: &[Plan], filters: &[Expression], retracts: bool) -> Built {
        let mut join = JoinBuilder::default();
        let mut filters = filters.to_vec();
        for input in inputs {
            match input {
                Plan::Leaf(plan) => {
                    let (leaf, schema) = self.leaf(plan, &filters)?;
                    join.leaves.push((join.specs.len(), leaf));
                    join.add(BufferSource::Leaf(leaf), &schema, false)?;
                    join.buffers.push(BufferDescription::Leaf {
                        pattern: leaf_text(plan),
                        condition: own_condition(plan, &filters).map(|condition| expression_text(&condition)),
                        window: plan.window,
                    });
                }
                other => {
                    let node = self.build(other, true)?;
                    let schema = self.nodes[node].schema.clone();
                    let is_static = matches!(other, Plan::Static { .. } | Plan::Now { .. });
                    join.add(BufferSource::Input(join.inputs.len()), &schema, is_static)?;
                    join.buffers.push(BufferDescription::Input(join.inputs.len()));
                    join.inputs.push(node);
                }
            }
        }
        // A leaf stores only mappings that satisfy its own filters, so every joined mapping satisfies them too.
        filters
            .retain(|filter| !inputs.iter().any(|input| matches!(input, Plan::Leaf(leaf) if is_about(filter, leaf))));
        let schema: Schema = join.vars.iter().enumerate().map(|(i, var)| (*var, join.certain[i])).collect();
        let mut compiled = Vec::new();
        for filter in &filters {
            compiled.push(self.join_filter(filter, &schema)?);
        }
        let retraction = self.retraction_mode(retracts, inputs.len());
        let PlanOptions { probing, thresholds, .. } = self.options;
        let leaves = self.host.leaves();
        let (specs, n_vars) = (&join.specs, join.vars.len());
        let plan = JoinPlan { specs, n_vars, filters: compiled, retraction, probing };
        let node = JoinNode::new(plan, thresholds, leaves);
        let keys = join.shared();
        let description = self.join_description(join.buffers, keys, &filters);
        let (kind, identity) = (NodeKind::Join(Box::new(node)), schema.width());
        let (inputs, leaves) = (join.inputs, join.leaves);
        Ok(self.add_node(PlanNode { kind, inputs, schema, description, leaves, identity, emitted: 0 }))
    }

    fn join_description(
        &self,
        buffers: Vec<BufferDescription>,
        keys: Vec<VarId>,
        filters: &[Expression],
    ) -> Description {
        let mut detail = Vec::new();
        let operator = match buffers.as_slice() {
            [BufferDescription::Leaf { pattern, condition, window }] => {
                detail.push(format!("{pattern} in {}", self.query.windows[*window].name));
                detail.extend(condition.as_ref().map(|condition| format!("if {condition}")));
                LEAF
            }
            _ => "join",
        };
        if !keys.is_empty() {
            detail.push(format!("on {}", self.names(&keys)));
        }
        let all = filters.iter().cloned().reduce(|a, b| Expression::And(a.into(), b.into()));
        detail.extend(all.map(|condition| format!("if {}", expression_text(&condition))));
        Description { buffers, ..Description::incremental(operator, detail.join(" ")).with_keys(keys) }
    }

    /// Probing again costs one probe for each further buffer; result trees cost memory for each result. With two
    /// buffers a single probe finds the results to retract, so trees pay off only from three buffers on.
    fn retraction_mode(&self, retracts: bool, n_buffers: usize) -> RetractionMode {
        match (retracts, self.options.retraction) {
            (false, Retraction::Auto) => RetractionMode::Unneeded,
            (_, Retraction::Tree) => RetractionMode::Tree,
            (_, Retraction::Probe) => RetractionMode::Probe,
            (true, Retraction::Auto) if n_buffers >= 3 => RetractionMode::Tree,
            (true, Retraction::Auto) => RetractionMode::Probe,
        }
    }

    /// A filter over certainly bound variables runs as soon as the join has bound them all (`needs` is their bit set,
    /// so only the first 64 variables qualify). A filter that may see an unbound variable has to wait for the complete
    /// mapping: `BOUND(?x)` could change from false to true on the way.
    fn join_filter(&mut self, filter: &Expression, schema: &Schema) -> Result<JoinFilter, PlanError> {
        let condition = self.compile(filter, schema)?;
        let mut bound = 0;
        for variable in scope::mentioned(filter) {
            let column = self.vars.find(&variable).and_then(|var| schema.column(var));
            match column {
                Some(column) if schema.is_certain(column) && column < INDEXED_VARS => bound |= 1 << column,
                _ => return Ok(JoinFilter { needs: None, condition, range: None }),
            }
        }
        let range = self.range_of(filter, schema);
        Ok(JoinFilter { needs: Some(bound), condition, range })
    }

    /// `?a < ?b` and its variants, as the (smaller, greater) variables of the join.
    fn range_of(&self, filter: &Expression, schema: &Schema) -> Option<(u8, u8)> {
        let (smaller, greater) = match filter {
            Expression::Less(a, b) | Expression::LessOrEqual(a, b) => (a, b),
            Expression::Greater(a, b) | Expression::GreaterOrEqual(a, b) => (b, a),
            _ => return None,
        };
        let column = |e: &Expression| match e {
            Expression::Variable(variable) => self.vars.find(variable).and_then(|var| schema.column(var)),
            _ => None,
        };
        Some((column(smaller)? as u8, column(greater)? as u8))
    }

    /// The leaf of a pattern. Filters on its variables alone run before the leaf stores anything.
    fn leaf(&mut self, plan: &LeafPlan, filters: &[Expression]) -> Result<(usize, Schema), PlanError> {
        let mut schema = Schema::default();
        let slots = plan.places.clone().map(|place| self.slot(&place, &mut schema));
        let graph = plan.graph.as_ref().map(|place| self.slot(place, &mut schema));
        let time = plan.time.as_ref().map(|variable| column_of(self.vars.id(variable), &mut schema));
        let pattern = LeafPattern::new(slots, OriginPattern { graph, time });
        let condition = own_condition(plan, filters);
        let condition = condition.map(|condition| self.leaf_condition(&condition, &schema)).transpose()?;
        Ok((self.host.leaf(plan.window, pattern, condition), schema))
    }

    fn leaf_condition(&mut self, condition: &Expression, schema: &Schema) -> Result<Box<LeafCondition>, PlanError> {
        let expression = self.compile(condition, schema)?;
        let column = |variable: &Variable| {
            let column = self.vars.find(variable).and_then(|var| schema.column(var));
            Variable::new_unchecked(format!("{}", column.unwrap_or(usize::MAX)))
        };
        let by_column = rewrite(condition, &mut |e| match e {
            Expression::Variable(variable) => Some(Expression::Variable(column(variable))),
            Expression::Bound(variable) => Some(Expression::Bound(column(variable))),
            _ => None,
        });
        // Leaves are shared by this text. The debug form keeps brackets, which Display drops, and it names columns
        // instead of variables, so that queries with other variable names share too. IRI() depends on the base IRI.
        let base = self.query.query.base_iri().map_or("", |base| base.as_str());
        let text = format!("{by_column:?} base {base}");
        Ok(Box::new(LeafCondition { text, expression, budget: Budget::new(self.options.limits) }))
    }

    fn slot(&mut self, place: &Place, schema: &mut Schema) -> PatternSlot {
        match place {
            Place::Term(term) => PatternSlot::Constant(self.dictionary.intern_pinned(term.as_ref())),
            Place::Variable(variable) => PatternSlot::Column(column_of(self.vars.id(variable), schema)),
        }
    }
}

/// The conjunction of the filters that a leaf can check alone.
fn own_condition(leaf: &LeafPlan, filters: &[Expression]) -> Option<Expression> {
    let own = filters.iter().filter(|filter| is_about(filter, leaf)).cloned();
    own.reduce(|a, b| Expression::And(a.into(), b.into()))
}

/// Whether a filter mentions variables, all of them variables of this leaf.
fn is_about(filter: &Expression, leaf: &LeafPlan) -> bool {
    let mentioned = scope::mentioned(filter);
    !mentioned.is_empty() && mentioned.iter().all(|variable| leaf.variables().any(|own| own == variable))
}

/// The column of a variable, adding one if the variable is new.
fn column_of(var: VarId, schema: &mut Schema) -> u8 {
    let column = schema.column(var).unwrap_or_else(|| {
        schema.push(var, true);
        schema.width() - 1
    });
    column as u8
}

/// Numbers the variables of a join and collects its buffers.
#[derive(Default)]
struct JoinBuilder {
    vars: Vec<VarId>,
    certain: Vec<bool>,
    specs: Vec<BufferSpec>,
    inputs: Vec<usize>,
    leaves: Vec<(usize, usize)>,
    buffers: Vec<BufferDescription>,
}

impl JoinBuilder {
    /// The variables that occur in more than one buffer.
    fn shared(&self) -> Vec<VarId> {
        let has = |spec: &BufferSpec, number: usize| spec.columns.iter().any(|(var, _)| usize::from(*var) == number);
        let in_several = |number: usize| self.specs.iter().filter(|spec| has(spec, number)).count() > 1;
        self.vars.iter().enumerate().filter(|(number, _)| in_several(*number)).map(|(_, var)| *var).collect()
    }

    fn add(&mut self, source: BufferSource, schema: &Schema, is_static: bool) -> Result<(), PlanError> {
        let mut columns = Vec::new();
        for (var, certain) in schema.iter() {
            let number = self.vars.iter().position(|v| *v == var).unwrap_or_else(|| {
                self.vars.push(var);
                self.certain.push(false);
                self.vars.len() - 1
            });
            if number >= VARIABLES_MAX {
                return Err(Unsupported::JoinVariables { most: VARIABLES_MAX }.into());
            }
            // One buffer that always binds the variable is enough: a joined mapping has its value.
            self.certain[number] |= certain;
            columns.push((number as u8, certain));
        }
        self.specs.push(BufferSpec { source, columns, is_static });
        Ok(())
    }
}
