//! The bytes that containers have allocated, for plans that show the use of memory.
//!
//! They are added up when a plan is requested; nothing is counted while events flow.

use super::{RowMap, TermId};
use std::collections::VecDeque;

/// The allocation of a B-tree: it does not expose its capacity, and its nodes are about two thirds full.
const TREE_SLACK: (usize, usize) = (3, 2);

pub(crate) fn list_bytes<T>(list: &Vec<T>) -> usize {
    list.capacity() * size_of::<T>()
}

pub(crate) fn queue_bytes<T>(queue: &VecDeque<T>) -> usize {
    queue.capacity() * size_of::<T>()
}

/// Of a hash table: its buckets, of which an eighth stays free, with a control byte each. The few bytes at the end that
/// depend on the processor are left out, so that a plan shows the same everywhere.
pub(crate) fn table_bytes<T>(capacity: usize) -> usize {
    let buckets = if capacity == 0 { 0 } else { (capacity * 8).div_ceil(7).next_power_of_two() };
    buckets * (size_of::<T>() + 1)
}

pub(crate) fn tree_bytes<T>(len: usize) -> usize {
    len * size_of::<T>() * TREE_SLACK.0 / TREE_SLACK.1
}

/// Of a map by row: the table and the rows, without what its values own.
pub(crate) fn row_map_bytes<V>(map: &RowMap<V>) -> usize {
    table_bytes::<(Box<[TermId]>, V)>(map.capacity()) + map.keys().map(|row| size_of_val(&**row)).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hashbrown::HashMap;

    #[test]
    fn the_bytes_of_a_table_are_those_it_has_allocated() {
        let mut map: HashMap<u64, u64, foldhash::fast::FixedState> = HashMap::default();
        assert_eq!(table_bytes::<(u64, u64)>(map.capacity()), 0);
        for n in 0..5_000 {
            map.insert(n, n);
            let left_out = map.allocation_size() - table_bytes::<(u64, u64)>(map.capacity());
            assert!(left_out <= 32, "{n}: {left_out} bytes are missing");
        }
    }
}
