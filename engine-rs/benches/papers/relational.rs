//! The relational twin: a left-deep tree of binary hash joins, each of which keeps its results as copied rows.
//!
//! A row has the positions of its base rows. Expired rows are dropped when their bucket is visited, and everywhere when
//! a relation has doubled.

use crate::by_hand::{Bag, ByHand};
use crate::kernel::{Event, Tally};
use std::collections::{HashMap, VecDeque};

type Buckets<T> = HashMap<u32, T, foldhash::fast::FixedState>;

/// A table with an index of copied rows, oldest first: Figures 9 to 12.
pub struct Table {
    width: usize,
    order: VecDeque<u32>,
    by_key: Buckets<VecDeque<Vec<u32>>>,
}

impl Table {
    pub fn new(width: usize) -> Self {
        Self { width, order: VecDeque::new(), by_key: Buckets::default() }
    }

    fn each(&self, key: u32, tally: &mut Tally) {
        self.by_key.get(&key).into_iter().flatten().for_each(|row| tally.add(row));
    }
}

impl ByHand for Table {
    fn push(&mut self, event: Event, tally: &mut Tally) {
        if event.stream == 1 {
            return self.each(event.subject, tally);
        }
        if self.order.len() == self.width {
            let key = self.order.pop_front().expect("a window has a row");
            let bucket = self.by_key.get_mut(&key).expect("a row has its bucket");
            bucket.pop_front();
            if bucket.is_empty() {
                self.by_key.remove(&key);
            }
        }
        self.order.push_back(event.subject);
        self.by_key.entry(event.subject).or_default().push_back(vec![event.subject, event.object]);
    }

    fn show(&self, sample: u32, tally: &mut Tally) {
        (0..sample).for_each(|key| self.each(key, tally));
    }
}

/// The values of a group as copied rows: a full scan finds the minimum.
#[derive(Default)]
pub struct Copies(Vec<u32>);

impl Bag for Copies {
    fn add(&mut self, value: u32) {
        self.0.push(value);
    }

    fn remove(&mut self, value: u32) {
        let at = self.0.iter().position(|copy| *copy == value).expect("what leaves is there");
        self.0.swap_remove(at);
    }

    fn least(&self) -> Option<u32> {
        self.0.iter().min().copied()
    }
}

/// A copied row, and the positions of its base rows in their windows.
#[derive(Clone)]
struct Copied {
    values: Vec<u32>,
    positions: Vec<u64>,
}

/// A relation with an index on one of its columns.
struct Relation {
    column: usize,
    rows: Buckets<Vec<Copied>>,
    n_rows: usize,
    swept_at: usize,
}

impl Relation {
    fn new(column: usize) -> Self {
        Self { column, rows: Buckets::default(), n_rows: 0, swept_at: 1024 }
    }

    fn add(&mut self, row: Copied, oldest: &[u64]) {
        self.rows.entry(row.values[self.column]).or_default().push(row);
        self.n_rows += 1;
        if self.n_rows >= 2 * self.swept_at {
            self.rows.values_mut().for_each(|bucket| bucket.retain(|row| is_live(row, oldest)));
            self.rows.retain(|_, bucket| !bucket.is_empty());
            self.n_rows = self.rows.values().map(Vec::len).sum();
            self.swept_at = self.n_rows.max(1024);
        }
    }

    /// The live rows with this key.
    fn found(&mut self, key: u32, oldest: &[u64]) -> Vec<Copied> {
        let Some(bucket) = self.rows.get_mut(&key) else { return vec![] };
        let before = bucket.len();
        bucket.retain(|row| is_live(row, oldest));
        self.n_rows -= before - bucket.len();
        bucket.clone()
    }
}

/// Positions are in the order of the streams, from the one that `oldest` begins with.
fn is_live(row: &Copied, oldest: &[u64]) -> bool {
    row.positions.iter().zip(oldest).all(|(position, oldest)| position >= oldest)
}

/// `((S0 ⋈ S1) ⋈ S2) ⋈ …`: Figure 13a and Table 2.
pub struct JoinTree {
    width: u64,
    /// The base relations, indexed on the column that joins them to their left.
    bases: Vec<Relation>,
    /// The results of the first, of the first two, and so on, indexed on their last column.
    joined: Vec<Relation>,
    arrived: Vec<u64>,
    oldest: Vec<u64>,
}

impl JoinTree {
    pub fn new(ways: usize, width: usize) -> Self {
        Self {
            width: width as u64,
            bases: (0..ways).map(|_| Relation::new(0)).collect(),
            joined: (1..ways).map(Relation::new).collect(),
            arrived: vec![0; ways],
            oldest: vec![0; ways],
        }
    }
}

impl ByHand for JoinTree {
    fn push(&mut self, event: Event, tally: &mut Tally) {
        let stream = event.stream;
        let position = self.arrived[stream];
        self.arrived[stream] += 1;
        self.oldest[stream] = self.arrived[stream].saturating_sub(self.width);
        let own = Copied { values: vec![event.subject, event.object], positions: vec![position] };
        let mut delta = if stream == 0 {
            vec![own]
        } else {
            self.bases[stream].add(own.clone(), &self.oldest[stream..]);
            let left = self.joined[stream - 1].found(event.subject, &self.oldest);
            left.iter().map(|row| extended(row, &own)).collect()
        };
        for next in stream + 1..self.bases.len() {
            delta.iter().for_each(|row| self.joined[next - 1].add(row.clone(), &self.oldest));
            let matched = |row: &Copied| {
                let key = *row.values.last().expect("a row has values");
                let right = self.bases[next].found(key, &self.oldest[next..]);
                right.into_iter().map(|other| extended(row, &other)).collect::<Vec<_>>()
            };
            delta = delta.iter().flat_map(matched).collect();
        }
        delta.iter().for_each(|row| tally.add(&row.values));
    }
}

fn extended(left: &Copied, right: &Copied) -> Copied {
    let mut row = left.clone();
    row.values.push(right.values[1]);
    row.positions.extend(&right.positions);
    row
}
