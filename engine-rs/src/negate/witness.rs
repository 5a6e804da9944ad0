//! Witnesses: left rows stored with the number of right rows that match them.
//!
//! OPTIONAL, MINUS, EXISTS and NOT EXISTS are one mechanism and differ in what they emit: matched pairs, the left row
//! while it has no witness, or the left row with a flag.
//!
//! Both sides are looked up by the variables that they always bind. If equal keys alone decide, the operator counts the
//! right rows of a key and visits left rows only when that count leaves or reaches zero: a delta takes constant time
//! plus the time for the rows it emits. If a condition or a possibly unbound variable decides, a delta takes time for
//! the rows of the other side with the same key.

use super::keyed_rows::{KeyEntry, KeyedRows, Keys, SavedRow};
use super::pairing::{Matching, Pairing, WitnessKind};
use crate::codec::{Decoded, Reader, Writer};
use crate::expr::{EvalContext, Expr};
use crate::flow::{Flow, HeldTerms, Operator};
use crate::model::{Batch, Schema, TermId, Weight};

#[derive(Debug)]
pub(crate) struct Witness {
    pairing: Pairing,
    matching: Matching,
    keys: Keys,
    left: KeyedRows,
    /// Empty if counting them is enough.
    right: KeyedRows,
}

impl Witness {
    pub(crate) fn new(
        kind: WitnessKind,
        left: &Schema,
        right: &Schema,
        condition: Option<Expr>,
        slots_kept: usize,
    ) -> Self {
        let pairing = Pairing::new(kind, left, right, condition);
        Self {
            matching: pairing.matching(),
            keys: Keys::new(pairing.left_key.len(), slots_kept),
            left: KeyedRows::new(pairing.left_width, slots_kept),
            right: KeyedRows::new(pairing.right_width, slots_kept),
            pairing,
        }
    }

    /// Whether right rows are needed individually, and not only their number.
    fn keeps_right(&self) -> bool {
        match self.matching {
            Matching::ByKey => self.pairing.kind == WitnessKind::Optional,
            Matching::ByPair => true,
            Matching::Never => false,
        }
    }

    fn absorb_left(&mut self, row: &[TermId], weight: Weight, out: &mut Batch, flow: &mut Flow<'_>) {
        let Self { pairing, matching, keys, left, right } = self;
        let key = keys.of(row, &pairing.left_key);
        let entry = keys.entry(key);
        // Also for a row that leaves: whether a condition holds depends on the two rows alone, so the same pairs are
        // found as when it arrived, and pairs need not be stored.
        let mut matched = 0;
        for other in right.of(entry.right) {
            if pairing.is_witness(row, right.row(other), flow) {
                matched += right.weight(other);
                pairing.emit_pair(weight * right.weight(other), out);
            }
        }
        let is_counted = *matching == Matching::ByKey;
        pairing.emit_alone(row, if is_counted { entry.witnesses } else { matched }, weight, out);
        left.add(row, weight, if is_counted { 0 } else { matched }, &mut entry.left);
        keys.release_if_unused(key);
    }

    fn absorb_right(&mut self, row: &[TermId], weight: Weight, out: &mut Batch, flow: &mut Flow<'_>) {
        match self.matching {
            Matching::ByKey => self.count_right(row, weight, out, flow),
            Matching::ByPair => self.match_right(row, weight, out, flow),
            Matching::Never => {}
        }
    }

    /// All left rows of the key gain or lose one witness.
    fn count_right(&mut self, row: &[TermId], weight: Weight, out: &mut Batch, flow: &mut Flow<'_>) {
        let keeps_right = self.keeps_right();
        let Self { pairing, keys, left, right, .. } = self;
        let key = keys.of(row, &pairing.right_key);
        let change = keys.count_witnesses(key, weight);
        let is_first_or_last = (change[0] == 0) != (change[1] == 0);
        let entry = keys.entry(key);
        if keeps_right {
            right.add(row, weight, 0, &mut entry.right);
        }
        if keeps_right || is_first_or_last {
            for other in left.of(entry.left) {
                let (other, other_weight) = (left.row(other), left.weight(other));
                if pairing.is_witness(other, row, flow) {
                    pairing.emit_pair(weight * other_weight, out);
                }
                pairing.emit_change(other, other_weight, change, out);
            }
        }
        keys.release_if_unused(key);
    }

    /// Each left row of the key may gain or lose one witness.
    fn match_right(&mut self, row: &[TermId], weight: Weight, out: &mut Batch, flow: &mut Flow<'_>) {
        let Self { pairing, keys, left, right, .. } = self;
        let key = keys.of(row, &pairing.right_key);
        let mut at = left.first(keys.entry(key).left);
        while let Some(other) = at {
            if pairing.is_witness(left.row(other), row, flow) {
                let other_weight = left.weight(other);
                pairing.emit_pair(weight * other_weight, out);
                let change = left.count_witnesses(other, weight);
                pairing.emit_change(left.row(other), other_weight, change, out);
            }
            at = left.next(other);
        }
        right.add(row, weight, 0, &mut keys.entry(key).right);
        keys.release_if_unused(key);
    }

    fn restore_rows(&mut self, from: &mut Reader<'_>) -> Decoded<()> {
        let Self { pairing, keys, left, .. } = self;
        for _ in 0..from.count(24)? {
            let SavedRow { row, weight, witnesses } = SavedRow::read(pairing.left_width, from)?;
            let key = keys.of(&row, &pairing.left_key);
            left.add(&row, weight, witnesses, &mut keys.entry(key).left);
        }
        if !self.keeps_right() {
            return self.keys.restore_witnesses(from);
        }
        let Self { pairing, matching, keys, right, .. } = self;
        for _ in 0..from.count(24)? {
            let SavedRow { row, weight, .. } = SavedRow::read(pairing.right_width, from)?;
            let key = keys.of(&row, &pairing.right_key);
            if *matching == Matching::ByKey {
                keys.count_witnesses(key, weight);
            }
            right.add(&row, weight, 0, &mut keys.entry(key).right);
        }
        Ok(())
    }
}

/// Checks.
impl Witness {
    /// Panics if the counted witnesses of a key are not its right rows.
    fn check_key(&self, entry: &KeyEntry) {
        let listed: Weight = self.right.of(entry.right).map(|row| self.right.weight(row)).sum();
        match self.matching {
            Matching::ByKey if self.keeps_right() => {
                assert_eq!(entry.witnesses, listed, "witnesses: the right rows of a key");
            }
            Matching::ByPair => {
                let most = self.left.of(entry.left).map(|row| self.left.witnesses(row)).max().unwrap_or(0);
                assert!(most <= listed, "witnesses: a left row has more than its key");
            }
            _ => assert_eq!(listed, 0, "witnesses: right rows that nobody needs"),
        }
    }
}

impl Operator for Witness {
    fn check(&self) {
        self.keys.check();
        self.left.check(self.keys.iter().map(|(_, entry)| entry.left));
        self.right.check(self.keys.iter().map(|(_, entry)| entry.right));
        self.keys.iter().for_each(|(_, entry)| self.check_key(entry));
    }

    fn absorb(&mut self, port: usize, deltas: &Batch, out: &mut Batch, flow: &mut Flow<'_>) {
        // Additions first, so that no count becomes negative on the way.
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
        let keys = self.keys.sorted_entries();
        self.left.save(keys.iter().map(|key| key.left), to);
        match self.keeps_right() {
            true => self.right.save(keys.iter().map(|key| key.right), to),
            false => self.keys.save_witnesses(to),
        }
    }

    fn restore(&mut self, from: &mut Reader<'_>, _eval: &mut EvalContext<'_>) -> Decoded<()> {
        let Self { keys, left, right, .. } = self;
        (*keys, *left, *right) = (keys.emptied(), left.emptied(), right.emptied());
        self.restore_rows(from)
    }

    fn state_size(&self) -> usize {
        let counted = if self.keeps_right() { 0 } else { self.keys.n_witnessed() };
        self.left.len() + self.right.len() + counted
    }

    fn bytes(&self) -> usize {
        self.keys.bytes() + self.left.bytes() + self.right.bytes()
    }

    fn held_terms(&self) -> HeldTerms<'_> {
        Box::new(self.left.terms().chain(self.right.terms()).chain(self.keys.terms()))
    }
}
