//! Expressions that need more than their mapping: EXISTS, NOW() and the time of an event.
//!
//! Each of them becomes a column that the plan below provides: a flag that says whether a match exists, the instant of
//! the evaluation, or the time of the newest copy of a triple in the window. Operators above thus remain functions of
//! their rows, so that incremental maintenance stays correct.

use super::error::{PlanError, Reevaluation, Unsupported};
use super::exists::{correlate, seeds};
use super::logical::{Dataset, LeafPlan, Place, Plan, Stage};
use super::scope;
use super::translate::Translator;
use super::wording::expression_text;
use crate::algebra;
use oxrdf::{Literal, Variable};
use spargebra::algebra::{AggregateExpression, AggregateFunction, Expression, Function, GraphPattern};

impl Translator<'_> {
    /// The plan of `inner` extended by the columns the expression needs, and the expression over these columns. `None`
    /// if an EXISTS in it cannot be matched on shared variables.
    pub(super) fn help(
        &mut self,
        mut plan: Plan,
        expression: &Expression,
        inner: &GraphPattern,
        dataset: &Dataset,
    ) -> Result<Option<(Plan, Expression)>, PlanError> {
        let outer = scope::in_scope(inner);
        let mut found = Vec::new();
        let expression = algebra::rewrite(expression, &mut |e| match e {
            Expression::Exists(pattern) => {
                let flag = self.fresh.next("exists");
                found.push((flag.clone(), pattern.clone()));
                Some(Expression::Variable(flag))
            }
            _ => None,
        });
        for (flag, pattern) in found {
            let Some(correlated) = correlate(&pattern, &outer) else {
                let Some(witnesses) = self.witnesses(&pattern, inner, dataset)? else { return Ok(None) };
                plan = Plan::Mark { left: plan.into(), right: witnesses.into(), condition: None, flag };
                continue;
            };
            let mut condition = correlated.condition;
            if let Some(asking) = condition.take_if(|c| scope::asks_time(c)) {
                let (timed, wanted) = self.timed(plan, &asking, inner, dataset)?;
                (plan, condition) = (timed, Some(wanted));
            }
            let right = self.plan(&correlated.pattern, dataset)?;
            plan = Plan::Mark { left: plan.into(), right: right.into(), condition, flag };
        }
        self.timed(plan, &expression, inner, dataset).map(Some)
    }

    /// The outer mappings, projected to what an EXISTS reads, for which re-evaluation finds a match. Joining on them
    /// keeps the original rows, so that re-evaluation affects neither their terms nor their multiplicity.
    fn witnesses(
        &mut self,
        pattern: &GraphPattern,
        inner: &GraphPattern,
        dataset: &Dataset,
    ) -> Result<Option<Plan>, PlanError> {
        let needed = &scope::mentioned_in(pattern) & &scope::in_scope(inner);
        let Some(seeds) = seeds(inner, &needed) else { return Ok(None) };
        let exists = Expression::Exists(Box::new(pattern.clone()));
        let matched = GraphPattern::Filter { expr: exists, inner: Box::new(seeds) };
        let shown = GraphPattern::Project { inner: Box::new(matched), variables: needed.into_iter().collect() };
        let distinct = GraphPattern::Distinct { inner: Box::new(shown) };
        self.reevaluated(&distinct, dataset, Reevaluation::ExistsOverPattern).map(Some)
    }

    /// Adds the columns for NOW() and timestamp(…).
    fn timed(
        &mut self,
        mut plan: Plan,
        expression: &Expression,
        inner: &GraphPattern,
        dataset: &Dataset,
    ) -> Result<(Plan, Expression), PlanError> {
        let mut now = None;
        let mut calls: Vec<(Variable, Vec<Expression>)> = Vec::new();
        let fresh = &mut self.fresh;
        let expression = algebra::rewrite(expression, &mut |e| match e {
            Expression::FunctionCall(Function::Now, _) => {
                let now = now.get_or_insert_with(|| fresh.standing_for("now", "NOW()".to_owned()));
                Some(Expression::Variable(now.clone()))
            }
            Expression::FunctionCall(function, arguments) if scope::is_timestamp(function) => {
                let arguments_text = arguments.iter().map(expression_text).collect::<Vec<_>>().join(", ");
                let time = fresh.standing_for("timestamp", format!("timestamp({arguments_text})"));
                calls.push((time.clone(), arguments.clone()));
                let unknown = Expression::Literal(Literal::from(false));
                Some(Expression::Coalesce(vec![Expression::Variable(time), unknown]))
            }
            _ => None,
        });
        if let Some(variable) = now {
            plan = Plan::join([Plan::Join { inputs: vec![plan, Plan::Now { variable }], filters: vec![] }]);
        }
        for (time, arguments) in calls {
            let newest = self.newest(&time, &arguments, inner, dataset)?;
            plan = Plan::Optional { left: plan.into(), right: newest.into(), condition: None };
        }
        Ok((plan, expression))
    }

    /// For each triple (or graph) the arguments may denote, the time of its newest event in the window.
    fn newest(
        &mut self,
        time: &Variable,
        arguments: &[Expression],
        inner: &GraphPattern,
        dataset: &Dataset,
    ) -> Result<Plan, PlanError> {
        let certain = scope::certain(inner);
        let mut named = Vec::new();
        for argument in arguments {
            named.push(match argument {
                Expression::Variable(variable) if certain.contains(variable) => Place::Variable(variable.clone()),
                Expression::NamedNode(node) => Place::Term(node.clone().into()),
                Expression::Literal(literal) => Place::Term(literal.clone().into()),
                _ => return Err(Unsupported::TimestampArgument { argument: expression_text(argument) }.into()),
            });
        }
        let (places, graph) = match <[Place; 3]>::try_from(named) {
            Ok(places) => (places, None),
            Err(mut named) if named.len() == 1 => {
                let mut any = || Place::Variable(self.fresh.next("any"));
                ([any(), any(), any()], named.pop())
            }
            Err(_) => return Err(Unsupported::TimestampArguments.into()),
        };
        let each = self.fresh.next("time");
        let windows = dataset.window().map_or_else(|| (0..self.query.windows.len()).collect(), |window| vec![window]);
        let leaf = |window: usize| {
            Plan::Leaf(LeafPlan { window, places: places.clone(), graph: graph.clone(), time: Some(each.clone()) })
        };
        let keys = places.iter().chain(&graph).filter_map(|place| match place {
            Place::Variable(variable) if certain.contains(variable) => Some(variable.clone()),
            _ => None,
        });
        let newest = AggregateExpression::FunctionCall {
            name: AggregateFunction::Max,
            expr: Expression::Variable(each.clone()),
            distinct: false,
        };
        let keys: std::collections::BTreeSet<Variable> = keys.collect();
        Ok(Plan::Group {
            inner: Plan::Union { inputs: windows.into_iter().map(leaf).collect() }.into(),
            keys: keys.into_iter().collect(),
            aggregates: vec![(time.clone(), newest)],
            stage: Stage::Whole,
        })
    }
}
