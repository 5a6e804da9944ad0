//! Rows that an operator keeps by value: distinct rows, group keys, current results.

use super::{TermId, Weight};
use foldhash::fast::FixedState;
use hashbrown::HashMap;

/// A mapping stored by value.
pub(crate) type Row = Box<[TermId]>;

/// A map by row. Its order never reaches the output.
pub(crate) type RowMap<V> = HashMap<Row, V, FixedState>;

/// Adds to the count of a row and drops the row at zero; returns the count before and after.
pub(crate) fn count_row(counts: &mut RowMap<Weight>, row: &[TermId], weight: Weight) -> (Weight, Weight) {
    let Some(count) = counts.get_mut(row) else {
        if weight != 0 {
            counts.insert(row.into(), weight);
        }
        return (0, weight);
    };
    let before = *count;
    *count += weight;
    if *count == 0 {
        counts.remove(row);
    }
    (before, before + weight)
}
