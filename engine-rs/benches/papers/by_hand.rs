//! The experiments without an engine, in two ways: the kernel, which shows what the hardware allows, and the relational
//! twin, which copies every row of every intermediate result. Both also verify the result: all programs must agree on
//! the sum.

use crate::experiment::{Experiment, Mode, thousandths};
use crate::kernel::{Chain, Event, Tally, Window};
use crate::relational::{Copies, JoinTree, Table};
use std::collections::{BTreeMap, HashMap, VecDeque};

/// A program that takes events, and finally returns those of its rows that have a key below `sample`.
pub trait ByHand {
    fn push(&mut self, event: Event, tally: &mut Tally);

    fn show(&self, _sample: u32, _tally: &mut Tally) {}
}

const ENGINES_ONLY: &str = "a minimum over a chain is for engines only";

pub fn kernel(experiment: &Experiment) -> Box<dyn ByHand> {
    let Experiment { mode, streams, width, .. } = *experiment;
    match mode {
        Mode::Join => Box::new(Chain::new(streams, width)),
        Mode::Insert | Mode::Probe => Box::new(Indexed(Window::new(width))),
        Mode::Average => Box::new(Averages { width, ..Averages::default() }),
        Mode::Minimum | Mode::Distinct => Box::new(OverJoin::<Counted>::new(mode, width)),
        Mode::MinimumOverChain => panic!("{ENGINES_ONLY}"),
    }
}

pub fn relational(experiment: &Experiment) -> Box<dyn ByHand> {
    let Experiment { mode, streams, width, .. } = *experiment;
    match mode {
        Mode::Join => Box::new(JoinTree::new(streams, width)),
        Mode::Insert | Mode::Probe => Box::new(Table::new(width)),
        Mode::Average => Box::new(Averages { width, ..Averages::default() }),
        Mode::Minimum | Mode::Distinct => Box::new(OverJoin::<Copies>::new(mode, width)),
        Mode::MinimumOverChain => panic!("{ENGINES_ONLY}"),
    }
}

impl ByHand for Chain {
    fn push(&mut self, event: Event, tally: &mut Tally) {
        Chain::push(self, event, tally);
    }
}

struct Indexed(Window);

impl ByHand for Indexed {
    fn push(&mut self, event: Event, tally: &mut Tally) {
        match event.stream {
            0 => self.0.push([event.subject, event.object]),
            _ => self.0.each(0, event.subject, |value| tally.add(&[event.subject, value])),
        }
    }

    fn show(&self, sample: u32, tally: &mut Tally) {
        (0..sample).for_each(|key| self.0.each(0, key, |value| tally.add(&[key, value])));
    }
}

/// Sums and counts of groups; a group is reported when its mean has changed.
#[derive(Default)]
struct Averages {
    width: usize,
    live: VecDeque<Event>,
    groups: HashMap<u32, (u64, u64), foldhash::fast::FixedState>,
}

impl Averages {
    fn change(&mut self, event: Event, is_arrival: bool) {
        let (sum, count) = self.groups.entry(event.subject).or_default();
        let value = u64::from(event.object);
        (*sum, *count) = if is_arrival { (*sum + value, *count + 1) } else { (*sum - value, *count - 1) };
        if *count == 0 {
            self.groups.remove(&event.subject);
        }
    }

    fn report(&self, group: u32, before: Option<(u64, u64)>, tally: &mut Tally) {
        let Some(&(sum, count)) = self.groups.get(&group) else { return };
        // Means are compared as fractions.
        if before.is_none_or(|(old_sum, old_count)| sum * old_count != old_sum * count) {
            tally.add(&[group, thousandths(sum as f64 / count as f64)]);
        }
    }
}

impl ByHand for Averages {
    fn push(&mut self, event: Event, tally: &mut Tally) {
        let gone = if self.live.len() == self.width { self.live.pop_front() } else { None };
        let before = |group: u32| self.groups.get(&group).copied();
        let (of_arrival, of_gone) = (before(event.subject), gone.and_then(|gone| before(gone.subject)));
        gone.into_iter().for_each(|gone| self.change(gone, false));
        self.change(event, true);
        self.live.push_back(event);
        self.report(event.subject, of_arrival, tally);
        if let Some(gone) = gone.filter(|gone| gone.subject != event.subject) {
            self.report(gone.subject, of_gone, tally);
        }
    }
}

/// The values of a group, with one copy per result.
pub trait Bag: Default {
    fn add(&mut self, value: u32);
    fn remove(&mut self, value: u32);
    fn least(&self) -> Option<u32>;
}

#[derive(Default)]
struct Counted(BTreeMap<u32, u32>);

impl Bag for Counted {
    fn add(&mut self, value: u32) {
        *self.0.entry(value).or_default() += 1;
    }

    fn remove(&mut self, value: u32) {
        let count = self.0.get_mut(&value).expect("what leaves is there");
        *count -= 1;
        if *count == 0 {
            self.0.remove(&value);
        }
    }

    fn least(&self) -> Option<u32> {
        self.0.keys().next().copied()
    }
}

/// `S0(a,b) ⋈ S1(b,d)`, and per `a` the minimum of `d`, or only whether there is one.
struct OverJoin<B> {
    mode: Mode,
    width: usize,
    live: [VecDeque<[u32; 2]>; 2],
    /// For each stream, the other value of the rows with a key, in arrival order.
    by_key: [HashMap<u32, VecDeque<u32>, foldhash::fast::FixedState>; 2],
    groups: HashMap<u32, B, foldhash::fast::FixedState>,
}

impl<B: Bag> OverJoin<B> {
    fn new(mode: Mode, width: usize) -> Self {
        Self { mode, width, live: Default::default(), by_key: Default::default(), groups: HashMap::default() }
    }

    fn shown(&self, group: u32) -> Option<u32> {
        let least = self.groups.get(&group).and_then(Bag::least);
        if self.mode == Mode::Distinct { least.map(|_| 0) } else { least }
    }

    /// The results of a row of one stream: group and value of each.
    fn results(&self, stream: usize, [key, value]: [u32; 2]) -> Vec<(u32, u32)> {
        let others = self.by_key[1 - stream].get(&key);
        let pair = |other: &u32| if stream == 0 { (value, *other) } else { (*other, value) };
        others.into_iter().flatten().map(pair).collect()
    }
}

impl<B: Bag> ByHand for OverJoin<B> {
    fn push(&mut self, event: Event, tally: &mut Tally) {
        let stream = event.stream;
        let row = if stream == 0 { [event.object, event.subject] } else { [event.subject, event.object] };
        let gone = if self.live[stream].len() == self.width { self.live[stream].pop_front() } else { None };
        let (came, went) = (self.results(stream, row), gone.map(|gone| self.results(stream, gone)).unwrap_or_default());
        let mut touched: Vec<_> = came.iter().chain(&went).map(|(group, _)| *group).collect();
        touched.sort_unstable();
        touched.dedup();
        let before: Vec<_> = touched.iter().map(|group| self.shown(*group)).collect();
        if let Some([key, _]) = gone {
            self.by_key[stream].get_mut(&key).expect("a row has its key").pop_front();
        }
        self.live[stream].push_back(row);
        self.by_key[stream].entry(row[0]).or_default().push_back(row[1]);
        went.iter().for_each(|(group, value)| self.groups.entry(*group).or_default().remove(*value));
        came.iter().for_each(|(group, value)| self.groups.entry(*group).or_default().add(*value));
        for (group, before) in touched.into_iter().zip(before) {
            match self.shown(group) {
                Some(value) if before != Some(value) => {
                    let row = [group, value];
                    tally.add(if self.mode == Mode::Distinct { &row[..1] } else { &row });
                }
                _ => {}
            }
        }
    }
}
