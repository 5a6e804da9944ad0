//! Accumulators that can both add and remove values.
//!
//! Input: values with weights ±n, as the groups of a query see them. Output: the aggregate of the values that are
//! present. History leaves no trace, so the result equals a fresh computation. Errors and values of the wrong kind make
//! the result "no value" while they are present, as in the reference evaluator. Cost per value: O(1) for COUNT, SUM and
//! AVG, and for MIN, MAX and SAMPLE if values leave in arrival order; O(log n) for the other ordered aggregates;
//! reading a GROUP_CONCAT or a variance visits the distinct values of its group.

mod concat;
mod custom;
mod exact_sum;
mod extreme;
#[cfg(test)]
mod naive;
#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod order_tests;
mod ordered_bag;
mod ranked;
mod statistics;
mod sum;
#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests;
mod wide;

pub use custom::custom_aggregate;
pub use statistics::Fraction;

use crate::codec::{Damaged, Decoded, Reader, Writer};
use crate::encode::Dictionary;
use crate::expr::{Number, Value};
use crate::limits::Budget;
use crate::model::{TermId, Weight, table_bytes};
use crate::thresholds::Thresholds;
use extreme::Extreme;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use ordered_bag::OrderedBag;
use oxrdf::{LiteralRef, NamedNodeRef, Term};
use spargebra::algebra::AggregateFunction;
use sum::NumberSum;

/// The datatype of literals that hold a partial sum.
const SUM_STATE: NamedNodeRef<'static> = NamedNodeRef::new_unchecked("urn:whorl:sum");

/// An aggregate, and whether it is over distinct terms.
#[derive(Clone, PartialEq, Debug)]
pub struct AggregateSpec {
    pub kind: AggregateKind,
    pub distinct: bool,
}

#[derive(Clone, PartialEq, Debug)]
pub enum AggregateKind {
    /// `COUNT(*)`.
    CountAll,
    /// `COUNT` of an expression: errors are not counted.
    Count,
    Sum,
    Avg,
    Min,
    Max,
    /// The least term.
    Sample,
    GroupConcat {
        separator: String,
    },
    Median,
    Percentile(Fraction),
    StdDev {
        sample: bool,
    },
    Variance {
        sample: bool,
    },
    /// A partial sum as a literal of its own datatype, so that the sums of partitions can be added without rounding.
    SumState,
    /// SUM and AVG over such literals.
    SumOfStates,
    AvgOfStates,
}

impl AggregateSpec {
    /// The aggregate that a query calls; `None` if it is unknown.
    pub(crate) fn of(function: &AggregateFunction) -> Option<Self> {
        let kind = match function {
            AggregateFunction::Count => AggregateKind::Count,
            AggregateFunction::Sum => AggregateKind::Sum,
            AggregateFunction::Avg => AggregateKind::Avg,
            AggregateFunction::Min => AggregateKind::Min,
            AggregateFunction::Max => AggregateKind::Max,
            AggregateFunction::Sample => AggregateKind::Sample,
            AggregateFunction::GroupConcat { separator } => {
                AggregateKind::GroupConcat { separator: separator.clone().unwrap_or_else(|| " ".to_owned()) }
            }
            AggregateFunction::Custom(name) => return custom_aggregate(name.as_ref()),
        };
        Some(Self { kind, distinct: false })
    }
}

impl AggregateKind {
    /// The aggregate that partitions compute, and the one that combines their results. `None` if a partial result would
    /// have to be as large as its input.
    pub(crate) fn in_parts(&self) -> Option<(Self, Self)> {
        Some(match self {
            Self::CountAll => (Self::CountAll, Self::Sum),
            Self::Count => (Self::Count, Self::Sum),
            Self::Sum => (Self::SumState, Self::SumOfStates),
            Self::Avg => (Self::SumState, Self::AvgOfStates),
            Self::Min | Self::Max | Self::Sample => (self.clone(), self.clone()),
            _ => return None,
        })
    }

    fn takes_states(&self) -> bool {
        matches!(self, Self::SumOfStates | Self::AvgOfStates)
    }
}

/// One aggregate of one group.
#[derive(Clone, Debug)]
pub struct Accumulator {
    kind: AggregateKind,
    /// Failed evaluations of the argument.
    errors: Weight,
    /// Values that the aggregate cannot use: not a number, not a string.
    misfits: Weight,
    /// With DISTINCT, how often each term is present.
    seen: Option<HashMap<TermId, Weight, FixedState>>,
    state: State,
}

#[derive(Clone, Debug)]
enum State {
    Count(Weight),
    Sum(NumberSum),
    /// The least or the greatest term.
    Extreme(Extreme),
    Bag(OrderedBag),
}

impl Accumulator {
    #[must_use]
    pub fn new(spec: &AggregateSpec) -> Self {
        let piece_max = Thresholds::default().bag_chunk_max;
        let state = match spec.kind {
            AggregateKind::CountAll | AggregateKind::Count => State::Count(0),
            AggregateKind::Sum
            | AggregateKind::Avg
            | AggregateKind::SumState
            | AggregateKind::SumOfStates
            | AggregateKind::AvgOfStates => State::Sum(NumberSum::default()),
            AggregateKind::Min | AggregateKind::Sample => State::Extreme(Extreme::new(false, piece_max)),
            AggregateKind::Max => State::Extreme(Extreme::new(true, piece_max)),
            _ => State::Bag(OrderedBag::new(piece_max)),
        };
        let seen = spec.distinct.then(HashMap::default);
        Self { kind: spec.kind.clone(), errors: 0, misfits: 0, seen, state }
    }

    /// The same, with values in chunks of this size.
    pub(crate) fn in_chunks_of(self, chunk_max: usize) -> Self {
        let state = match self.state {
            State::Bag(_) => State::Bag(OrderedBag::new(chunk_max)),
            State::Extreme(extreme) => State::Extreme(extreme.in_pieces_of(chunk_max)),
            other => other,
        };
        Self { state, ..self }
    }

    /// Adds the value `weight` times (removes it if negative); `None` is a failed expression.
    pub fn update(&mut self, value: Option<TermId>, weight: Weight, dictionary: &Dictionary) {
        if self.kind == AggregateKind::CountAll {
            return self.count(weight);
        }
        let Some(value) = value.filter(|value| value.is_bound()) else {
            self.errors += weight;
            return;
        };
        let weight = match &mut self.seen {
            Some(seen) => change_of_presence(seen, value, weight),
            None => weight,
        };
        if weight != 0 {
            self.absorb(value, weight, dictionary);
        }
    }

    /// The aggregate of the values present; `None` is "no value".
    pub fn value(&self, dictionary: &mut Dictionary, budget: &mut Budget) -> Option<TermId> {
        let forgiving = matches!(self.kind, AggregateKind::CountAll | AggregateKind::Count | AggregateKind::Sample);
        if !forgiving && (self.errors != 0 || self.misfits != 0) {
            return None;
        }
        match &self.state {
            State::Count(n) => Some(Number::Integer((*n).into()).intern(dictionary)),
            State::Sum(sum) if self.kind == AggregateKind::SumState => {
                let text = sum.to_text();
                Some(dictionary.intern(LiteralRef::new_typed_literal(&text, SUM_STATE).into()))
            }
            State::Sum(sum) => {
                let is_mean = matches!(self.kind, AggregateKind::Avg | AggregateKind::AvgOfStates);
                let number = if is_mean { sum.mean() } else { sum.total() };
                number.map(|number| number.intern(dictionary))
            }
            State::Extreme(extreme) => extreme.value(),
            State::Bag(bag) => self.value_of_bag(bag, dictionary, budget),
        }
    }

    /// Panics if its counters disagree with its values.
    pub(crate) fn check(&self) {
        assert!(self.errors >= 0 && self.misfits >= 0, "accumulator: values that went without having come");
        let mut counts = self.seen.iter().flat_map(HashMap::values);
        assert!(counts.all(|count| *count > 0), "accumulator: a value that has gone");
        if let State::Bag(bag) = &self.state {
            bag.check();
        }
    }

    /// The number of stored entries: zero once every value has been removed.
    #[must_use]
    pub fn state_size(&self) -> usize {
        let held = match &self.state {
            State::Count(_) => 0,
            State::Sum(sum) => sum.limbs_in_use(),
            State::Extreme(extreme) => extreme.len().max(0) as usize,
            State::Bag(bag) => bag.distinct(),
        };
        held + self.seen.as_ref().map_or(0, HashMap::len)
    }

    /// The bytes it has allocated, beside its own.
    pub(crate) fn heap_bytes(&self) -> usize {
        let held = match &self.state {
            State::Count(_) => 0,
            State::Sum(sum) => sum.heap_bytes(),
            State::Extreme(extreme) => extreme.heap_bytes(),
            State::Bag(bag) => bag.heap_bytes(),
        };
        held + self.seen.as_ref().map_or(0, |seen| table_bytes::<(TermId, Weight)>(seen.capacity()))
    }

    /// The terms among the stored values; sums contain none.
    pub fn terms(&self) -> impl Iterator<Item = TermId> + '_ {
        let (extreme, bag) = match &self.state {
            State::Extreme(extreme) => (Some(extreme), None),
            State::Bag(bag) => (None, Some(bag)),
            _ => (None, None),
        };
        let in_bag = bag.into_iter().flat_map(|bag| bag.iter().map(|(id, _)| id));
        let in_order = extreme.into_iter().flat_map(Extreme::terms).chain(in_bag);
        in_order.chain(self.seen.iter().flat_map(|seen| seen.keys().copied()))
    }

    pub(crate) fn save(&self, to: &mut Writer) {
        to.i64(self.errors);
        to.i64(self.misfits);
        to.option(self.seen.as_ref(), |to, seen| {
            let mut seen: Vec<_> = seen.iter().collect();
            seen.sort_unstable();
            to.list(seen.into_iter(), |to, (id, count)| {
                to.id(*id);
                to.i64(*count);
            });
        });
        match &self.state {
            State::Count(n) => to.i64(*n),
            State::Sum(sum) => sum.save(to),
            State::Extreme(extreme) => extreme.save(to),
            State::Bag(bag) => bag.save(to),
        }
    }

    /// Restores the state that an accumulator of the same kind saved.
    pub(crate) fn restore(&mut self, from: &mut Reader<'_>, dictionary: &Dictionary) -> Decoded<()> {
        self.errors = from.i64()?;
        self.misfits = from.i64()?;
        let seen = from.option(|from| from.list(16, |from| Ok((from.id()?, from.i64()?))))?;
        if seen.is_some() != self.seen.is_some() {
            return Err(Damaged { what: "the DISTINCT of an aggregate differs" });
        }
        self.seen = seen;
        match &mut self.state {
            State::Count(n) => *n = from.i64()?,
            State::Sum(sum) => *sum = NumberSum::restored(from)?,
            State::Extreme(extreme) => extreme.restore(from, dictionary)?,
            State::Bag(bag) => bag.restore(from, dictionary)?,
        }
        Ok(())
    }

    /// Whether reading the value visits every stored value.
    fn is_walked(&self) -> bool {
        use AggregateKind as Kind;
        matches!(self.kind, Kind::GroupConcat { .. } | Kind::StdDev { .. } | Kind::Variance { .. })
    }

    fn count(&mut self, weight: Weight) {
        if let State::Count(n) = &mut self.state {
            *n += weight;
        }
    }

    fn absorb(&mut self, value: TermId, weight: Weight, dictionary: &Dictionary) {
        let fits = match &mut self.state {
            State::Count(n) => {
                *n += weight;
                true
            }
            State::Sum(sum) if self.kind.takes_states() => match state_of(value, dictionary) {
                Some(part) => {
                    sum.add_sum(&part, weight);
                    true
                }
                None => false,
            },
            State::Sum(sum) => match number_of(value, dictionary) {
                Some(number) => {
                    sum.add(number, weight);
                    true
                }
                None => false,
            },
            State::Extreme(extreme) => {
                extreme.update(value, weight, dictionary);
                true
            }
            State::Bag(bag) => {
                let fits = fits_bag(&self.kind, value, dictionary);
                if fits {
                    bag.update(value, weight, dictionary);
                }
                fits
            }
        };
        if !fits {
            self.misfits += weight;
        }
    }

    fn value_of_bag(&self, bag: &OrderedBag, dictionary: &mut Dictionary, budget: &mut Budget) -> Option<TermId> {
        if self.is_walked() {
            budget.spend(bag.distinct() as u64);
        }
        match &self.kind {
            AggregateKind::GroupConcat { separator } => {
                Some(concat::joined(bag, separator, dictionary, budget)?.into_made().intern(dictionary))
            }
            kind => Some(statistic(kind, bag, dictionary)?.intern(dictionary)),
        }
    }
}

fn statistic(kind: &AggregateKind, bag: &OrderedBag, dictionary: &Dictionary) -> Option<Number> {
    let nth = |rank| bag.nth(rank).and_then(|id| number_of(id, dictionary));
    let variance = |sample| {
        let values = bag.iter().filter_map(|(id, count)| Some((number_of(id, dictionary)?.to_double().into(), count)));
        statistics::variance(&values.collect::<Vec<_>>(), sample)
    };
    match kind {
        AggregateKind::Median => statistics::quantile(Fraction::HALF, bag.len(), nth),
        AggregateKind::Percentile(fraction) => statistics::quantile(*fraction, bag.len(), nth),
        AggregateKind::Variance { sample } => variance(*sample).map(|value| Number::Double(value.into())),
        AggregateKind::StdDev { sample } => variance(*sample).map(|value| Number::Double(value.sqrt().into())),
        _ => None,
    }
}

/// The sum that a literal stands for.
fn state_of(id: TermId, dictionary: &Dictionary) -> Option<NumberSum> {
    match dictionary.term(id) {
        Term::Literal(literal) if literal.datatype() == SUM_STATE => NumberSum::from_text(literal.value()),
        _ => None,
    }
}

fn number_of(id: TermId, dictionary: &Dictionary) -> Option<Number> {
    Value::of(id, dictionary).as_number()
}

fn fits_bag(kind: &AggregateKind, value: TermId, dictionary: &Dictionary) -> bool {
    match kind {
        AggregateKind::GroupConcat { .. } => {
            matches!(Value::of(value, dictionary), Value::String(_) | Value::LangString(..))
        }
        _ => number_of(value, dictionary).is_some(),
    }
}

/// DISTINCT by term: +1 when the first copy of a term arrives, −1 when the last one leaves, otherwise 0.
fn change_of_presence(seen: &mut HashMap<TermId, Weight, FixedState>, value: TermId, weight: Weight) -> Weight {
    let count = seen.entry(value).or_insert(0);
    let was_present = *count > 0;
    *count += weight;
    let is_present = *count > 0;
    if *count == 0 {
        seen.remove(&value);
    }
    if seen.is_empty() {
        seen.shrink_to_fit();
    }
    Weight::from(is_present) - Weight::from(was_present)
}
