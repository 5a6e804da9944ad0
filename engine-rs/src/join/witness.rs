//! Witnesses: left rows kept with the number of right rows that match them.
//!
//! OPTIONAL, MINUS, EXISTS and NOT EXISTS are one mechanism that differs in what it emits:
//! matched pairs, the left row while it has no witness, the left row while it has one, or the left
//! row with a flag. Both sides are indexed on the variables they surely share; other shared
//! variables are compared pair by pair. Cost per delta: the rows of the other side with its key.

use crate::codec::{Decoded, Reader, Writer, ensure};
use crate::expr::{EvalContext, Expr};
use crate::flow::{Flow, HeldTerms, Operator, terms_of};
use crate::model::{Batch, Row, RowMap, Schema, TermId, Weight};
use std::collections::BTreeMap;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WitnessKind {
    /// Matched pairs, and left rows without a match.
    Optional,
    /// Left rows without a witness; a witness must share a bound variable (MINUS).
    Minus,
    /// Left rows with an extra column: whether there is a witness (EXISTS anywhere in an expression).
    Mark,
}

/// How the columns of the two sides meet.
#[derive(Debug)]
struct Columns {
    left_key: Vec<usize>,
    right_key: Vec<usize>,
    shared: Vec<(usize, usize)>,
    right_only: Vec<usize>,
}

#[derive(Debug)]
pub(crate) struct Witness {
    kind: WitnessKind,
    columns: Columns,
    /// Must hold for a pair, over left columns followed by the right ones the left does not have.
    condition: Option<Expr>,
    left: Side<Weight>,
    right: Side<()>,
    pair: Vec<TermId>,
}

/// Rows of one side by key, each with its weight and, on the left, the weight of its witnesses.
#[derive(Debug)]
struct Side<T> {
    groups: RowMap<BTreeMap<Row, (Weight, T)>>,
    n_rows: usize,
}

impl<T: Default> Side<T> {
    fn new() -> Self {
        Self { groups: RowMap::default(), n_rows: 0 }
    }

    fn rows(&self) -> impl Iterator<Item = &Row> {
        self.groups.values().flat_map(BTreeMap::keys)
    }

    fn save(&self, to: &mut Writer, write: impl Fn(&mut Writer, &T)) {
        let rows = self.groups.values().flatten();
        to.by_row(rows, |to, (weight, note)| {
            to.i64(*weight);
            write(to, note);
        });
    }

    /// Keys are parts of the rows.
    fn restored(key: &[usize], from: &mut Reader<'_>, read: impl Fn(&mut Reader<'_>) -> Decoded<T>) -> Decoded<Self> {
        let mut side = Self::new();
        let width = key.iter().max().map_or(0, |column| column + 1);
        for _ in 0..from.count(16)? {
            let (row, weight, note) = (from.row()?, from.i64()?, read(from)?);
            ensure(row.len() >= width, "a row is too short for its key")?;
            side.add(pick(&row, key), &row, weight, note);
        }
        Ok(side)
    }

    fn add(&mut self, key: Row, row: &[TermId], weight: Weight, note: T) {
        let group = self.groups.entry(key.clone()).or_default();
        match group.get_mut(row) {
            Some(entry) => entry.0 += weight,
            None => {
                group.insert(row.into(), (weight, note));
                self.n_rows += 1;
            }
        }
        if group.get(row).is_some_and(|entry| entry.0 == 0) {
            group.remove(row);
            self.n_rows -= 1;
        }
        if group.is_empty() {
            self.groups.remove(&key);
        }
    }
}

impl Witness {
    pub(crate) fn new(kind: WitnessKind, left: &Schema, right: &Schema, condition: Option<Expr>) -> Self {
        Self {
            kind,
            columns: Columns::new(left, right),
            condition,
            left: Side::new(),
            right: Side::new(),
            pair: Vec::new(),
        }
    }

    /// The columns of a pair: all of the left, then those of the right that the left does not have.
    pub(crate) fn pair_schema(left: &Schema, right: &Schema) -> Schema {
        let mut schema = left.clone();
        for (var, _) in right.iter() {
            if schema.column(var).is_none() {
                schema.push(var, false);
            }
        }
        schema
    }

    /// Whether the right row is a witness for the left one; leaves the joined row in `self.pair`.
    fn is_witness(&mut self, left: &[TermId], right: &[TermId], flow: &mut Flow<'_>) -> bool {
        flow.eval.scratch.budget.spend_rows(1, left.len());
        self.pair.clear();
        self.pair.extend_from_slice(left);
        let mut shares = false;
        for (l, r) in &self.columns.shared {
            let (ours, theirs) = (left[*l], right[*r]);
            match (ours.is_bound(), theirs.is_bound()) {
                (true, true) if ours != theirs => return false,
                (true, true) => shares = true,
                (false, true) => self.pair[*l] = theirs,
                _ => {}
            }
        }
        if self.kind == WitnessKind::Minus {
            return shares;
        }
        self.pair.extend(self.columns.right_only.iter().map(|column| right[*column]));
        self.condition.as_ref().is_none_or(|condition| condition.holds(&self.pair, &mut flow.eval))
    }

    fn emit_alone(&self, row: &[TermId], witnesses: Weight, weight: Weight, out: &mut Batch) {
        match self.kind {
            WitnessKind::Optional if witnesses == 0 => {
                let unmatched = self.columns.right_only.iter().map(|_| TermId::UNBOUND);
                out.push_with(weight, row.iter().copied().chain(unmatched));
            }
            WitnessKind::Minus if witnesses == 0 => out.push(row, weight),
            WitnessKind::Mark => out.push_with(weight, row.iter().copied().chain([TermId::boolean(witnesses > 0)])),
            _ => {}
        }
    }

    fn absorb_left(&mut self, row: &[TermId], weight: Weight, out: &mut Batch, flow: &mut Flow<'_>) {
        let key = pick(row, &self.columns.left_key);
        let right = std::mem::replace(&mut self.right, Side::new());
        let mut witnesses = 0;
        for (other, (other_weight, ())) in right.groups.get(&key).into_iter().flatten() {
            if self.is_witness(row, other, flow) {
                witnesses += other_weight;
                if self.kind == WitnessKind::Optional {
                    out.push(&self.pair, weight * other_weight);
                }
            }
        }
        self.right = right;
        self.emit_alone(row, witnesses, weight, out);
        self.left.add(key, row, weight, witnesses);
    }

    fn absorb_right(&mut self, row: &[TermId], weight: Weight, out: &mut Batch, flow: &mut Flow<'_>) {
        let key = pick(row, &self.columns.right_key);
        let mut left = std::mem::replace(&mut self.left, Side::new());
        for (other, (other_weight, witnesses)) in left.groups.get_mut(&key).into_iter().flatten() {
            if !self.is_witness(other, row, flow) {
                continue;
            }
            if self.kind == WitnessKind::Optional {
                out.push(&self.pair, weight * *other_weight);
            }
            let before = *witnesses;
            *witnesses += weight;
            if (before == 0) != (*witnesses == 0) {
                self.emit_alone(other, before, -*other_weight, out);
                self.emit_alone(other, *witnesses, *other_weight, out);
            }
        }
        self.left = left;
        self.right.add(key, row, weight, ());
    }
}

impl Operator for Witness {
    fn absorb(&mut self, port: usize, deltas: &Batch, out: &mut Batch, flow: &mut Flow<'_>) {
        // Additions first, so that no count goes below zero on the way.
        let signs: [fn(Weight) -> bool; 2] = [|weight| weight > 0, |weight| weight < 0];
        for sign in signs {
            for (row, weight) in deltas.iter().filter(|(_, weight)| sign(*weight)) {
                match port {
                    0 => self.absorb_left(row, weight, out, flow),
                    _ => self.absorb_right(row, weight, out, flow),
                }
            }
        }
    }

    fn save(&self, to: &mut Writer) {
        self.left.save(to, |to, witnesses| to.i64(*witnesses));
        self.right.save(to, |_, ()| {});
    }

    fn restore(&mut self, from: &mut Reader<'_>, _eval: &mut EvalContext<'_>) -> Decoded<()> {
        self.left = Side::restored(&self.columns.left_key, from, |from| from.i64())?;
        self.right = Side::restored(&self.columns.right_key, from, |_| Ok(()))?;
        Ok(())
    }

    fn state_size(&self) -> usize {
        self.left.n_rows + self.right.n_rows
    }

    fn held_terms(&self) -> HeldTerms<'_> {
        terms_of(self.left.rows().chain(self.right.rows()))
    }
}

impl Columns {
    fn new(left: &Schema, right: &Schema) -> Self {
        let mut columns = Self { left_key: vec![], right_key: vec![], shared: vec![], right_only: vec![] };
        for (r, (var, certain)) in right.iter().enumerate() {
            match left.column(var) {
                Some(l) => {
                    columns.shared.push((l, r));
                    if certain && left.is_certain(l) {
                        columns.left_key.push(l);
                        columns.right_key.push(r);
                    }
                }
                None => columns.right_only.push(r),
            }
        }
        columns
    }
}

fn pick(row: &[TermId], columns: &[usize]) -> Row {
    columns.iter().map(|column| row[*column]).collect()
}
