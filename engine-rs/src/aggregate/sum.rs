//! SUM and AVG. The type of the sum follows the values that are present, also after a double has left.

use super::exact_sum::ExactSum;
use super::wide::Wide;
use crate::codec::{Decoded, Reader, Writer};
use crate::expr::Number;
use oxsdatatypes::{Decimal, Double, Float};

const TEN_TO_18: i128 = 1_000_000_000_000_000_000;

#[derive(Clone, Debug, Default)]
pub(super) struct NumberSum {
    n_integers: i64,
    n_decimals: i64,
    n_floats: i64,
    n_doubles: i64,
    integers: i128,
    /// In units of 10⁻¹⁸.
    decimals: Wide,
    binary: Option<Box<ExactSum>>,
}

impl NumberSum {
    pub(super) fn add(&mut self, number: Number, weight: i64) {
        match number {
            Number::Integer(value) => {
                self.n_integers += weight;
                let product = i128::from(i64::from(value)) * i128::from(weight);
                self.integers = self.integers.wrapping_add(product);
            }
            Number::Decimal(value) => {
                self.n_decimals += weight;
                self.decimals.add(i128::from_be_bytes(value.to_be_bytes()), weight);
            }
            Number::Float(value) => {
                self.n_floats += weight;
                self.add_binary(f32::from(value).into(), weight);
            }
            Number::Double(value) => {
                self.n_doubles += weight;
                self.add_binary(value.into(), weight);
            }
        }
    }

    pub(super) fn count(&self) -> i64 {
        self.n_integers + self.n_decimals + self.n_floats + self.n_doubles
    }

    pub(super) fn limbs_in_use(&self) -> usize {
        self.binary.as_ref().map_or(0, |binary| binary.limbs_in_use())
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.binary.as_ref().map_or(0, |binary| size_of::<ExactSum>() + binary.heap_bytes())
    }

    /// The sum of the values present; zero when there are none.
    pub(super) fn total(&self) -> Option<Number> {
        if self.n_doubles != 0 {
            return Some(Number::Double(Double::from(self.binary_total().to_f64())));
        }
        if self.n_floats != 0 {
            return Some(Number::Float(Float::from(self.binary_total().to_f32())));
        }
        if self.n_decimals != 0 {
            return self.exact().to_i128().map(|raw| Number::Decimal(Decimal::from_be_bytes(raw.to_be_bytes())));
        }
        i64::try_from(self.integers).ok().map(|sum| Number::Integer(sum.into()))
    }

    /// The mean of the values present; the integer zero when there are none.
    pub(super) fn mean(&self) -> Option<Number> {
        if self.count() == 0 {
            return Some(Number::Integer(0.into()));
        }
        self.total()?.divided_by(self.count())
    }

    pub(super) fn save(&self, to: &mut Writer) {
        [self.n_integers, self.n_decimals, self.n_floats, self.n_doubles].into_iter().for_each(|n| to.i64(n));
        to.i128(self.integers);
        self.decimals.save(to);
        to.option(self.binary.as_ref(), |to, binary| binary.save(to));
    }

    pub(super) fn restored(from: &mut Reader<'_>) -> Decoded<Self> {
        Ok(Self {
            n_integers: from.i64()?,
            n_decimals: from.i64()?,
            n_floats: from.i64()?,
            n_doubles: from.i64()?,
            integers: from.i128()?,
            decimals: Wide::restored(from)?,
            binary: from.option(|from| ExactSum::restored(from).map(Box::new))?,
        })
    }

    /// Adds all values of another sum, `weight` times.
    pub(super) fn add_sum(&mut self, other: &Self, weight: i64) {
        self.n_integers += other.n_integers * weight;
        self.n_decimals += other.n_decimals * weight;
        self.n_floats += other.n_floats * weight;
        self.n_doubles += other.n_doubles * weight;
        self.integers = self.integers.wrapping_add(other.integers.wrapping_mul(i128::from(weight)));
        // Equal sums of several partitions are rare, and adding them one by one is exact whatever their size.
        for _ in 0..weight.abs() {
            self.decimals.add_wide(other.decimals, weight < 0);
            if let Some(theirs) = &other.binary {
                self.binary.get_or_insert_default().add_sum(theirs, weight < 0);
            }
        }
        self.binary.take_if(|binary| binary.is_empty());
    }

    /// The state of the sum: counts, integers, decimals, then floats and doubles; trailing zeros are left out.
    pub(super) fn to_text(&self) -> String {
        let (high, low) = self.decimals.parts();
        let counts = [self.n_integers, self.n_decimals, self.n_floats, self.n_doubles].map(i128::from);
        let mut words = counts.to_vec();
        words.extend([self.integers, high, i128::from(low)]);
        words.extend(self.binary.iter().flat_map(|binary| binary.to_words()));
        while words.len() > 1 && words.last() == Some(&0) {
            words.pop();
        }
        words.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    }

    pub(super) fn from_text(text: &str) -> Option<Self> {
        let words: Vec<i128> = text.split(' ').map(|word| word.parse().ok()).collect::<Option<_>>()?;
        let word = |at: usize| words.get(at).copied().unwrap_or(0);
        let count = |at: usize| i64::try_from(word(at)).ok();
        let binary = if words.len() > 7 { Some(Box::new(ExactSum::from_words(&words[7..])?)) } else { None };
        Some(Self {
            n_integers: count(0)?,
            n_decimals: count(1)?,
            n_floats: count(2)?,
            n_doubles: count(3)?,
            integers: word(4),
            decimals: Wide::of_parts(word(5), u64::try_from(word(6)).ok()?),
            binary,
        })
    }

    fn add_binary(&mut self, value: f64, weight: i64) {
        let binary = self.binary.get_or_insert_default();
        binary.add(value, weight);
        if binary.is_empty() {
            self.binary = None;
        }
    }

    /// Integers and decimals together, in units of 10⁻¹⁸.
    fn exact(&self) -> Wide {
        let mut sum = self.decimals;
        // Two halves, so that each factor fits: fewer than 2³¹ values cannot exceed this.
        sum.add(TEN_TO_18 << 32, (self.integers >> 32) as i64);
        sum.add(TEN_TO_18, (self.integers & 0xFFFF_FFFF) as i64);
        sum
    }

    /// The exact sum of floats, doubles and integers; decimals, which have no exact binary form,
    /// are summed exactly together with the integers and converted once.
    fn binary_total(&self) -> ExactSum {
        let mut sum = self.binary.as_deref().cloned().unwrap_or_default();
        if self.n_decimals == 0 {
            sum.add((self.integers >> 32) as f64, 1 << 32);
            sum.add((self.integers & 0xFFFF_FFFF) as f64, 1);
        } else {
            sum.add(self.exact_as_f64(), 1);
        }
        sum
    }

    fn exact_as_f64(&self) -> f64 {
        let exact = self.exact();
        match exact.to_i128() {
            Some(raw) => f64::from(Double::from(Decimal::from_be_bytes(raw.to_be_bytes()))),
            None => exact.to_f64() / TEN_TO_18 as f64,
        }
    }
}
