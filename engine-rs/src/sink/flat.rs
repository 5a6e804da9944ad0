//! A queue in one contiguous allocation: its content is always one slice.

/// Removing from the front leaves a gap, which is closed once it is as long as the rest: on average, each item is moved
/// once.
#[derive(Debug)]
pub(super) struct FlatQueue<T> {
    items: Vec<T>,
    /// The index of the first item.
    begins: usize,
}

impl<T: Copy> FlatQueue<T> {
    pub(super) fn new() -> Self {
        Self { items: Vec::new(), begins: 0 }
    }

    #[inline]
    pub(super) fn as_slice(&self) -> &[T] {
        &self.items[self.begins..]
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.items.len() - self.begins
    }

    #[inline]
    pub(super) fn push(&mut self, item: T) {
        self.items.push(item);
    }

    #[inline]
    pub(super) fn extend(&mut self, items: &[T]) {
        self.items.extend_from_slice(items);
    }

    /// Keeps only the first items.
    pub(super) fn truncate(&mut self, len: usize) {
        self.items.truncate(self.begins + len);
    }

    /// Removes this many items from the front.
    pub(super) fn forget_first(&mut self, n_items: usize) {
        self.begins += n_items;
        if self.begins * 2 >= self.items.len() {
            self.items.drain(..self.begins);
            self.begins = 0;
        }
    }

    /// Takes all items, and keeps memory for this many.
    pub(super) fn clear(&mut self, kept: usize) {
        self.items.clear();
        self.begins = 0;
        self.items.shrink_to(kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_one_slice_in_order() {
        let mut queue = FlatQueue::new();
        let (mut first, mut next) = (0, 0);
        for n in 0..100 {
            queue.extend(&[next, next + 1, next + 2]);
            queue.push(next + 3);
            next += 4;
            let taken = n % 5 + u32::from(n > 80) * 4;
            queue.forget_first(taken.min(next - first) as usize);
            first += taken.min(next - first);
            assert!(queue.as_slice().iter().copied().eq(first..next) && queue.len() as u32 == next - first);
            assert!(queue.items.len() <= 2 * queue.len() + 1, "the gap is no longer than the rest");
        }
        queue.truncate(1);
        assert_eq!(queue.as_slice(), [first]);
        queue.clear(0);
        assert_eq!((queue.len(), queue.items.capacity()), (0, 0));
    }
}
