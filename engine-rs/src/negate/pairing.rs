//! Decides whether a right row is a witness of a left one, and what is emitted for a pair and for a left row alone.

use crate::expr::Expr;
use crate::flow::Flow;
use crate::model::{Batch, Schema, TermId, VarId, Weight};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WitnessKind {
    /// Matched pairs, and left rows without a match.
    Optional,
    /// Left rows without a witness; a witness must share a bound variable (MINUS), and not only the one that does not
    /// count.
    Minus { uncounted: Option<VarId> },
    /// Left rows with an extra column: whether there is a witness (EXISTS anywhere in an expression).
    Mark,
}

/// What decides whether two rows match.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Matching {
    /// The key alone: all rows of a key have the same witnesses.
    ByKey,
    /// The key and a comparison of each pair of rows.
    ByPair,
    /// Nothing ever matches.
    Never,
}

#[derive(Debug)]
pub(super) struct Pairing {
    pub kind: WitnessKind,
    /// The columns that both sides always bind, in one order.
    pub left_key: Vec<usize>,
    pub right_key: Vec<usize>,
    pub left_width: usize,
    pub right_width: usize,
    /// Columns of both sides, and whether they count as shared.
    shared: Vec<(usize, usize, bool)>,
    right_only: Vec<usize>,
    /// A condition on each pair, over the left columns followed by the right ones that the left side does not have.
    condition: Option<Expr>,
    pair: Vec<TermId>,
}

impl Pairing {
    pub(super) fn new(kind: WitnessKind, left: &Schema, right: &Schema, condition: Option<Expr>) -> Self {
        let mut pairing = Self {
            kind,
            left_key: vec![],
            right_key: vec![],
            left_width: left.width(),
            right_width: right.width(),
            shared: vec![],
            right_only: vec![],
            condition,
            pair: vec![],
        };
        for (column, (var, certain)) in right.iter().enumerate() {
            match left.column(var) {
                Some(ours) => {
                    let counts = kind != WitnessKind::Minus { uncounted: Some(var) };
                    pairing.shared.push((ours, column, counts));
                    if certain && left.is_certain(ours) {
                        pairing.left_key.push(ours);
                        pairing.right_key.push(column);
                    }
                }
                None => pairing.right_only.push(column),
            }
        }
        pairing
    }

    fn is_minus(&self) -> bool {
        matches!(self.kind, WitnessKind::Minus { .. })
    }

    /// If every shared variable is part of the key and there is no condition, equal keys decide.
    pub(super) fn matching(&self) -> Matching {
        if self.is_minus() && !self.shared.iter().any(|(_, _, counts)| *counts) {
            Matching::Never
        } else if self.condition.is_none() && self.shared.len() == self.left_key.len() {
            Matching::ByKey
        } else {
            Matching::ByPair
        }
    }

    /// Whether the right row is a witness of the left one; if so, `self.pair` is the joined row.
    pub(super) fn is_witness(&mut self, left: &[TermId], right: &[TermId], flow: &mut Flow<'_>) -> bool {
        flow.eval.scratch.budget.spend_rows(1, left.len());
        self.pair.clear();
        self.pair.extend_from_slice(left);
        let mut shares = false;
        for (l, r, counts) in &self.shared {
            let (ours, theirs) = (left[*l], right[*r]);
            match (ours.is_bound(), theirs.is_bound()) {
                (true, true) if ours != theirs => return false,
                (true, true) => shares |= counts,
                (false, true) => self.pair[*l] = theirs,
                _ => {}
            }
        }
        if self.is_minus() {
            return shares;
        }
        self.pair.extend(self.right_only.iter().map(|column| right[*column]));
        self.condition.as_ref().is_none_or(|condition| condition.holds(&self.pair, &mut flow.eval))
    }

    /// Emits the last pair found, if pairs are emitted.
    pub(super) fn emit_pair(&self, weight: Weight, out: &mut Batch) {
        if self.kind == WitnessKind::Optional {
            out.push(&self.pair, weight);
        }
    }

    /// Emits a left row alone, given its number of witnesses.
    pub(super) fn emit_alone(&self, row: &[TermId], witnesses: Weight, weight: Weight, out: &mut Batch) {
        match self.kind {
            WitnessKind::Optional if witnesses == 0 => {
                let unmatched = self.right_only.iter().map(|_| TermId::UNBOUND);
                out.push_with(weight, row.iter().copied().chain(unmatched));
            }
            WitnessKind::Minus { .. } if witnesses == 0 => out.push(row, weight),
            WitnessKind::Mark => out.push_with(weight, row.iter().copied().chain([TermId::boolean(witnesses > 0)])),
            _ => {}
        }
    }

    /// Emits the change of a left row whose number of witnesses changes, if the change matters.
    pub(super) fn emit_change(&self, row: &[TermId], weight: Weight, change: [Weight; 2], out: &mut Batch) {
        let [before, after] = change;
        if (before == 0) != (after == 0) {
            self.emit_alone(row, before, -weight, out);
            self.emit_alone(row, after, weight, out);
        }
    }
}

/// The columns of a pair: all columns of the left side, then those of the right side that the left one does not have.
pub(crate) fn pair_schema(left: &Schema, right: &Schema) -> Schema {
    let mut schema = left.clone();
    for (var, _) in right.iter() {
        if schema.column(var).is_none() {
            schema.push(var, false);
        }
    }
    schema
}
