//! A batch: mappings of one schema with their signs, the form in which operators pass on deltas.

use super::TermId;

/// How many times a mapping arrives (positive) or is retracted (negative).
pub type Weight = i64;

/// Rows of `width` terms in one flat allocation that is reused at every instant.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    width: usize,
    terms: Vec<TermId>,
    weights: Vec<Weight>,
}

impl Batch {
    #[must_use]
    pub fn new(width: usize) -> Self {
        Self { width, terms: Vec::new(), weights: Vec::new() }
    }

    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.weights.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.weights.is_empty()
    }

    /// Empties the batch for rows of this width.
    #[inline]
    pub(crate) fn begin(&mut self, width: usize) {
        self.clear();
        self.width = width;
    }

    #[inline]
    pub fn clear(&mut self) {
        self.terms.clear();
        self.weights.clear();
    }

    #[inline]
    pub fn push(&mut self, row: &[TermId], weight: Weight) {
        debug_assert_eq!(row.len(), self.width);
        self.terms.extend_from_slice(row);
        self.weights.push(weight);
    }

    /// Appends a row whose columns are computed one by one.
    pub fn push_with(&mut self, weight: Weight, columns: impl Iterator<Item = TermId>) {
        self.terms.extend(columns);
        self.weights.push(weight);
        debug_assert_eq!(self.terms.len(), self.weights.len() * self.width);
    }

    #[must_use]
    pub fn row(&self, index: usize) -> &[TermId] {
        &self.terms[index * self.width..(index + 1) * self.width]
    }

    #[must_use]
    pub fn weight(&self, index: usize) -> Weight {
        self.weights[index]
    }

    pub fn iter(&self) -> impl Iterator<Item = (&[TermId], Weight)> + '_ {
        (0..self.len()).map(|i| (self.row(i), self.weights[i]))
    }

    fn has_no_equal_rows(&self) -> bool {
        (1..self.len()).all(|i| (0..i).all(|j| self.row(i) != self.row(j)))
    }

    /// Adds up the weights of equal rows and drops those that cancel out. Up to `compared_max` rows, comparing all
    /// pairs costs less than sorting.
    pub fn consolidate(&mut self, compared_max: usize) {
        if self.len() < 2 || (self.len() <= compared_max && self.has_no_equal_rows()) {
            return;
        }
        let mut order: Vec<u32> = (0..self.len() as u32).collect();
        order.sort_unstable_by(|a, b| self.row(*a as usize).cmp(self.row(*b as usize)));
        let mut merged = Self::new(self.width);
        let mut i = 0;
        while i < order.len() {
            let row = self.row(order[i] as usize);
            let mut weight = 0;
            while i < order.len() && self.row(order[i] as usize) == row {
                weight += self.weights[order[i] as usize];
                i += 1;
            }
            if weight != 0 {
                merged.push(row, weight);
            }
        }
        *self = merged;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_cancel_are_dropped_and_equal_rows_are_added_up() {
        let id = TermId::from_bits;
        for compared_max in [0, 16] {
            let mut batch = Batch::new(1);
            for (bits, weight) in [(7, 1), (8, 1), (7, -1), (8, 1), (9, -2)] {
                batch.push(&[id(bits)], weight);
            }
            batch.consolidate(compared_max);
            let rows: Vec<_> = batch.iter().map(|(row, w)| (row[0].to_bits(), w)).collect();
            assert_eq!(rows, [(8, 2), (9, -2)]);
        }
    }
}
