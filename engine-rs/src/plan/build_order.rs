//! The order of rows: comparators, ties, and the operator that keeps the first of them.

use super::build::{Builder, Built, Host};
use super::error::PlanError;
use super::explain::Description;
use super::logical::Plan;
use super::scope;
use super::wording::order_text;
use crate::model::Schema;
use crate::topk::{Comparator, RowOrder, TopK};
use oxrdf::Variable;
use spargebra::algebra::OrderExpression;

impl<H: Host> Builder<'_, H> {
    /// The column of each variable; `None` is one that is never bound.
    pub(super) fn columns(&self, shown: &[Variable], schema: &Schema) -> Vec<Option<usize>> {
        shown.iter().map(|v| self.vars.find(v).and_then(|var| schema.column(var))).collect()
    }

    pub(super) fn comparators(
        &mut self,
        order: &[OrderExpression],
        schema: &Schema,
    ) -> Result<Vec<Comparator>, PlanError> {
        let comparator = |order: &OrderExpression| {
            let descending = matches!(order, OrderExpression::Desc(_));
            Ok(Comparator { expression: self.compile(scope::of_order(order), schema)?, descending })
        };
        order.iter().map(comparator).collect()
    }

    pub(super) fn top_k(
        &mut self,
        inner: &Plan,
        each: Option<&Variable>,
        (order, shown): (&[OrderExpression], &[Variable]),
        (offset, limit): (usize, Option<usize>),
    ) -> Built {
        let inner = self.build(inner, true)?;
        let schema = self.nodes[inner].schema.clone();
        let (comparators, shown) = (self.comparators(order, &schema)?, self.columns(shown, &schema));
        let by = (!order.is_empty()).then(|| format!("by {}", order_text(order)));
        let limit_text = limit.map(|limit| format!("limit {limit}"));
        let offset_text = (offset > 0).then(|| format!("offset {offset}"));
        let each_text = each.map(|_| "in each graph".to_owned());
        let detail: Vec<String> = [by, limit_text, offset_text, each_text].into_iter().flatten().collect();
        let description = Description::incremental("top-k", detail.join(" "));
        let compared_max = self.options.thresholds.rows_compared_max;
        let each = each.and_then(|each| self.columns(std::slice::from_ref(each), &schema)[0]);
        let operator = TopK::new(RowOrder { comparators, shown }, each, (offset, limit), compared_max);
        Ok(self.add(Box::new(operator), vec![inner], schema, description))
    }
}
