//! A node of a plan that runs.

use super::explain::Description;
use crate::flow::Operator;
use crate::join::JoinNode;
use crate::model::Schema;

#[derive(Debug)]
pub(crate) enum NodeKind {
    Join(Box<JoinNode>),
    Operator(Box<dyn Operator>),
}

/// An operator, its inputs, and its description for EXPLAIN.
#[derive(Debug)]
pub(crate) struct PlanNode {
    pub kind: NodeKind,
    pub inputs: Vec<usize>,
    pub schema: Schema,
    pub description: Description,
    /// For joins, the leaves it reads as (role, leaf); empty for other operators.
    pub leaves: Vec<(usize, usize)>,
    /// The first `identity` columns determine the others: BIND computed the rest from them. Functions such as RAND()
    /// are seeded by these columns alone, so a retraction computes the same value as the arrival did.
    pub identity: usize,
    /// Deltas emitted since the query was registered or restored: for explanations, not part of a snapshot.
    pub emitted: u64,
}

impl PlanNode {
    pub(crate) fn operator(&self) -> &dyn Operator {
        match &self.kind {
            NodeKind::Join(join) => join.as_ref(),
            NodeKind::Operator(operator) => operator.as_ref(),
        }
    }
}
