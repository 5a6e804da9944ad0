//! The least or the greatest of values that mostly leave in arrival order.
//!
//! Values are in a queue. Beside it are the leaders: the values that no later value beats, each better than the next,
//! so that the first leader is the best of all. An arriving value removes the leaders it beats. A departing value is
//! the first of the queue, and possibly the first leader: amortised constant time, however many values there are.
//!
//! A value close to the front of the queue may leave before the first one; the leaders before it are then recomputed.
//! This happens when a copy renews a value, which then stays longer than the values behind it. If values leave in
//! arbitrary order, as join results do, all of them move to an ordered bag, until the bag is empty.

use super::ordered_bag::OrderedBag;
use super::ranked::Ranked;
use crate::codec::{Decoded, Reader, Writer, ensure};
use crate::encode::Dictionary;
use crate::model::{TermId, Weight, queue_bytes};
use std::cmp::Ordering;
use std::collections::VecDeque;

#[derive(Clone, Debug)]
pub(super) struct Extreme {
    greatest: bool,
    piece_max: usize,
    values: Values,
}

#[derive(Clone, Debug)]
enum Values {
    InTurn(Queue),
    InAnyOrder(OrderedBag),
}

#[derive(Clone, Debug)]
struct Queue {
    runs: VecDeque<Run>,
    leaders: VecDeque<Leader>,
    /// The number of the first run; the following runs count up from it.
    first: u64,
    total: Weight,
}

/// Consecutive copies of a value.
#[derive(Clone, Copy, Debug)]
struct Run {
    id: TermId,
    count: Weight,
}

#[derive(Clone, Copy, Debug)]
struct Leader {
    value: Ranked,
    /// The number of its run.
    run: u64,
}

impl Extreme {
    pub(super) fn new(greatest: bool, piece_max: usize) -> Self {
        Self { greatest, piece_max, values: Values::InTurn(Queue::new()) }
    }

    pub(super) fn in_pieces_of(&self, piece_max: usize) -> Self {
        Self::new(self.greatest, piece_max)
    }

    pub(super) fn update(&mut self, id: TermId, weight: Weight, dictionary: &Dictionary) {
        match &mut self.values {
            Values::InAnyOrder(bag) => {
                bag.update(id, weight, dictionary);
                if bag.distinct() == 0 {
                    self.values = Values::InTurn(Queue::new());
                }
            }
            Values::InTurn(queue) if weight > 0 => queue.push(Run { id, count: weight }, self.greatest, dictionary),
            Values::InTurn(queue) => {
                let looked_at = (self.piece_max / 4).max(1);
                let missing = queue.take(Run { id, count: -weight }, looked_at, self.greatest, dictionary);
                if missing > 0 {
                    self.give_up_turns(id, -missing, dictionary);
                }
            }
        }
    }

    /// Moves all values to a bag, if a departing value was not found near the front.
    fn give_up_turns(&mut self, id: TermId, weight: Weight, dictionary: &Dictionary) {
        let mut bag = OrderedBag::new(self.piece_max);
        self.runs().for_each(|run| bag.update(run.id, run.count, dictionary));
        bag.update(id, weight, dictionary);
        self.values = Values::InAnyOrder(bag);
    }

    pub(super) fn value(&self) -> Option<TermId> {
        match &self.values {
            Values::InTurn(queue) => queue.leaders.front().map(|leader| leader.value.id),
            Values::InAnyOrder(bag) if self.greatest => bag.last(),
            Values::InAnyOrder(bag) => bag.first(),
        }
    }

    /// The number of values, including copies.
    pub(super) fn len(&self) -> Weight {
        match &self.values {
            Values::InTurn(queue) => queue.total,
            Values::InAnyOrder(bag) => bag.len(),
        }
    }

    pub(super) fn heap_bytes(&self) -> usize {
        match &self.values {
            Values::InTurn(queue) => queue_bytes(&queue.runs) + queue_bytes(&queue.leaders),
            Values::InAnyOrder(bag) => bag.heap_bytes(),
        }
    }

    pub(super) fn terms(&self) -> impl Iterator<Item = TermId> + '_ {
        let bag = match &self.values {
            Values::InAnyOrder(bag) => Some(bag),
            Values::InTurn(_) => None,
        };
        self.runs().map(|run| run.id).chain(bag.into_iter().flat_map(|bag| bag.iter().map(|(id, _)| id)))
    }

    /// The queue of values.
    fn runs(&self) -> impl Iterator<Item = &Run> {
        let queue = match &self.values {
            Values::InTurn(queue) => Some(queue),
            Values::InAnyOrder(_) => None,
        };
        queue.into_iter().flat_map(|queue| queue.runs.iter())
    }

    pub(super) fn save(&self, to: &mut Writer) {
        match &self.values {
            Values::InTurn(queue) => {
                to.bool(true);
                to.list(queue.runs.iter(), |to, run| {
                    to.id(run.id);
                    to.i64(run.count);
                });
            }
            Values::InAnyOrder(bag) => {
                to.bool(false);
                bag.save(to);
            }
        }
    }

    pub(super) fn restore(&mut self, from: &mut Reader<'_>, dictionary: &Dictionary) -> Decoded<()> {
        if !from.bool()? {
            let mut bag = OrderedBag::new(self.piece_max);
            bag.restore(from, dictionary)?;
            self.values = Values::InAnyOrder(bag);
            return Ok(());
        }
        let mut queue = Queue::new();
        for _ in 0..from.count(16)? {
            let run = Run { id: from.id()?, count: from.i64()? };
            ensure(run.count > 0, "a value waits that is not there")?;
            queue.append(run, self.greatest, dictionary);
        }
        self.values = Values::InTurn(queue);
        Ok(())
    }
}

impl Queue {
    fn new() -> Self {
        Self { runs: VecDeque::new(), leaders: VecDeque::new(), first: 0, total: 0 }
    }

    fn push(&mut self, run: Run, greatest: bool, dictionary: &Dictionary) {
        match self.runs.back_mut().filter(|last| last.id == run.id) {
            Some(last) => {
                last.count += run.count;
                self.total += run.count;
            }
            None => self.append(run, greatest, dictionary),
        }
    }

    /// Appends a run without merging. Equal neighbours are possible where the run between them has gone.
    fn append(&mut self, run: Run, greatest: bool, dictionary: &Dictionary) {
        self.total += run.count;
        let value = Ranked::of(run.id, dictionary);
        // Among equal values the later one leads, because it stays longer.
        while self.leaders.back().is_some_and(|leader| !is_better(&leader.value, &value, greatest, dictionary)) {
            self.leaders.pop_back();
        }
        self.leaders.push_back(Leader { value, run: self.first + self.runs.len() as u64 });
        self.runs.push_back(run);
    }

    /// Removes copies of a value; returns how many of them lie beyond the given number of leading runs.
    fn take(&mut self, gone: Run, looked_at: usize, greatest: bool, dictionary: &Dictionary) -> Weight {
        let mut missing = gone.count;
        while missing > 0 {
            let Some(at) = self.runs.iter().take(looked_at).position(|run| run.id == gone.id) else { break };
            let run = &mut self.runs[at];
            let taken = run.count.min(missing);
            run.count -= taken;
            missing -= taken;
            self.total -= taken;
            if run.count == 0 {
                self.remove(at, greatest, dictionary);
            }
        }
        missing
    }

    /// Removes a run. Earlier runs that it had beaten become leaders again if they beat the runs after it.
    fn remove(&mut self, at: usize, greatest: bool, dictionary: &Dictionary) {
        let number = self.first + at as u64;
        while self.leaders.front().is_some_and(|leader| leader.run <= number) {
            self.leaders.pop_front();
        }
        self.runs.remove(at);
        self.first += 1;
        for before in (0..at).rev() {
            let value = Ranked::of(self.runs[before].id, dictionary);
            if self.leaders.front().is_none_or(|leader| is_better(&value, &leader.value, greatest, dictionary)) {
                self.leaders.push_front(Leader { value, run: self.first + before as u64 });
            }
        }
    }
}

fn is_better(a: &Ranked, b: &Ranked, greatest: bool, dictionary: &Dictionary) -> bool {
    a.order(b, dictionary) == if greatest { Ordering::Greater } else { Ordering::Less }
}

#[cfg(test)]
impl Extreme {
    pub(super) fn is_in_turn(&self) -> bool {
        matches!(self.values, Values::InTurn(_))
    }
}
