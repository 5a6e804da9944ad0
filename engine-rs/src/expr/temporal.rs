//! Dates, times of day and durations: their arithmetic and their order.
//!
//! `xsd:dateTime` is a type of its own in `Value`, because it is frequent in streams; this module handles its
//! combinations with the others. Results equal those of the reference evaluator (SPARQL-dev's SEP-0002, on the
//! functions of XPath), with two exceptions: `=` between a date with a zone and one without is an error if they may be
//! the same day, as the W3C tests require; and `+` does not depend on the order of its operands, which the reference
//! swaps without checking their types.

use super::numbers::{Number, Operator};
use super::value::Value;
use oxrdf::vocab::xsd;
use oxrdf::{Literal, NamedNodeRef};
use oxsdatatypes::{Date, DateTime, DayTimeDuration, Decimal, Duration, Time, TimezoneOffset, YearMonthDuration};
use std::cmp::Ordering;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Temporal {
    Date(Date),
    Time(Time),
    Duration(Duration),
    YearMonth(YearMonthDuration),
    DayTime(DayTimeDuration),
}

impl Temporal {
    /// The value of a literal, by the local name of its XSD type.
    pub(super) fn parse(text: &str, name: &str) -> Option<Self> {
        Some(match name {
            "date" => Self::Date(text.parse().ok()?),
            "time" => Self::Time(text.parse().ok()?),
            "duration" => Self::Duration(text.parse().ok()?),
            "yearMonthDuration" => Self::YearMonth(text.parse().ok()?),
            "dayTimeDuration" => Self::DayTime(text.parse().ok()?),
            _ => return None,
        })
    }

    pub(super) fn datatype(self) -> NamedNodeRef<'static> {
        match self {
            Self::Date(_) => xsd::DATE,
            Self::Time(_) => xsd::TIME,
            Self::Duration(_) => xsd::DURATION,
            Self::YearMonth(_) => xsd::YEAR_MONTH_DURATION,
            Self::DayTime(_) => xsd::DAY_TIME_DURATION,
        }
    }

    pub(super) fn text(self) -> String {
        match self {
            Self::Date(value) => value.to_string(),
            Self::Time(value) => value.to_string(),
            Self::Duration(value) => value.to_string(),
            Self::YearMonth(value) => value.to_string(),
            Self::DayTime(value) => value.to_string(),
        }
    }

    pub(super) fn to_literal(self) -> Literal {
        Literal::new_typed_literal(self.text(), self.datatype())
    }

    /// Any duration, as one that may have both months and seconds.
    pub(super) fn as_duration(self) -> Option<Duration> {
        match self {
            Self::Duration(value) => Some(value),
            Self::YearMonth(value) => Some(value.into()),
            Self::DayTime(value) => Some(value.into()),
            Self::Date(_) | Self::Time(_) => None,
        }
    }

    /// Whether both have the same type and the same value.
    pub(super) fn is_identical(self, other: Self) -> bool {
        match (self, other) {
            (Self::Date(a), Self::Date(b)) => a == b,
            (Self::Time(a), Self::Time(b)) => a == b,
            (Self::Duration(a), Self::Duration(b)) => a == b,
            (Self::YearMonth(a), Self::YearMonth(b)) => a == b,
            (Self::DayTime(a), Self::DayTime(b)) => a == b,
            _ => false,
        }
    }

    /// The operator `=`; `None` is an error.
    pub(super) fn equals(self, other: Self) -> Option<bool> {
        match (self, other) {
            (Self::Date(a), Self::Date(b)) => a.partial_cmp(&b).map(Ordering::is_eq),
            (Self::Time(a), Self::Time(b)) => Some(a == b),
            (a, b) => Some(matches!((a.as_duration(), b.as_duration()), (Some(a), Some(b)) if a == b)),
        }
    }

    /// The order behind `<`; `None` is an error.
    pub(super) fn compare(self, other: Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Date(a), Self::Date(b)) => a.partial_cmp(&b),
            (Self::Time(a), Self::Time(b)) => a.partial_cmp(&b),
            (Self::YearMonth(a), Self::YearMonth(b)) => a.partial_cmp(&b),
            (Self::DayTime(a), Self::DayTime(b)) => a.partial_cmp(&b),
            (a, b) => a.as_duration()?.partial_cmp(&b.as_duration()?),
        }
    }

    pub(super) fn negate(self) -> Option<Self> {
        Some(match self {
            Self::Duration(value) => Self::Duration(value.checked_neg()?),
            Self::YearMonth(value) => Self::YearMonth(value.checked_neg()?),
            Self::DayTime(value) => Self::DayTime(value.checked_neg()?),
            Self::Date(_) | Self::Time(_) => return None,
        })
    }
}

/// `+` and `-` with at least one operand that is not a number.
pub(super) fn apply<'d>(operator: Operator, a: &Value<'d>, b: &Value<'d>) -> Option<Value<'d>> {
    match (operator, a, b) {
        (Operator::Subtract, Value::DateTime(a), Value::DateTime(b)) => day_time(a.checked_sub(*b)?),
        (_, Value::DateTime(at), Value::Temporal(by)) => shift_date_time(operator, *at, *by).map(Value::DateTime),
        // In XPath, a duration may also precede what it is added to.
        (Operator::Add, Value::Temporal(by), Value::DateTime(at)) => {
            shift_date_time(operator, *at, *by).map(Value::DateTime)
        }
        (_, Value::Temporal(a), Value::Temporal(b)) => apply_to_temporals(operator, *a, *b).map(Value::Temporal),
        _ => None,
    }
}

fn day_time<'d>(value: DayTimeDuration) -> Option<Value<'d>> {
    Some(Value::Temporal(Temporal::DayTime(value)))
}

fn shift_date_time(operator: Operator, at: DateTime, by: Temporal) -> Option<DateTime> {
    match (operator, by) {
        (Operator::Add, Temporal::YearMonth(by)) => at.checked_add_year_month_duration(by),
        (Operator::Add, Temporal::DayTime(by)) => at.checked_add_day_time_duration(by),
        (Operator::Add, Temporal::Duration(by)) => at.checked_add_duration(by),
        (Operator::Subtract, Temporal::YearMonth(by)) => at.checked_sub_year_month_duration(by),
        (Operator::Subtract, Temporal::DayTime(by)) => at.checked_sub_day_time_duration(by),
        (Operator::Subtract, Temporal::Duration(by)) => at.checked_sub_duration(by),
        _ => None,
    }
}

fn apply_to_temporals(operator: Operator, a: Temporal, b: Temporal) -> Option<Temporal> {
    match (operator, a, b) {
        (Operator::Subtract, Temporal::Date(a), Temporal::Date(b)) => a.checked_sub(b).map(Temporal::DayTime),
        (Operator::Subtract, Temporal::Time(a), Temporal::Time(b)) => a.checked_sub(b).map(Temporal::DayTime),
        (_, Temporal::Date(at), by) | (Operator::Add, by, Temporal::Date(at)) => {
            shift_date(operator, at, by).map(Temporal::Date)
        }
        (_, Temporal::Time(at), by) | (Operator::Add, by, Temporal::Time(at)) => {
            shift_time(operator, at, by).map(Temporal::Time)
        }
        (Operator::Add, ..) => add_durations(a, b),
        (Operator::Subtract, ..) => subtract_durations(a, b),
        _ => None,
    }
}

fn shift_date(operator: Operator, at: Date, by: Temporal) -> Option<Date> {
    match (operator, by) {
        (Operator::Add, Temporal::YearMonth(by)) => at.checked_add_year_month_duration(by),
        (Operator::Add, Temporal::DayTime(by)) => at.checked_add_day_time_duration(by),
        (Operator::Add, Temporal::Duration(by)) => at.checked_add_duration(by),
        (Operator::Subtract, Temporal::YearMonth(by)) => at.checked_sub_year_month_duration(by),
        (Operator::Subtract, Temporal::DayTime(by)) => at.checked_sub_day_time_duration(by),
        (Operator::Subtract, Temporal::Duration(by)) => at.checked_sub_duration(by),
        _ => None,
    }
}

/// A time of day has no months to add.
fn shift_time(operator: Operator, at: Time, by: Temporal) -> Option<Time> {
    match (operator, by) {
        (Operator::Add, Temporal::DayTime(by)) => at.checked_add_day_time_duration(by),
        (Operator::Add, Temporal::Duration(by)) => at.checked_add_duration(by),
        (Operator::Subtract, Temporal::DayTime(by)) => at.checked_sub_day_time_duration(by),
        (Operator::Subtract, Temporal::Duration(by)) => at.checked_sub_duration(by),
        _ => None,
    }
}

fn add_durations(a: Temporal, b: Temporal) -> Option<Temporal> {
    match (a, b) {
        (Temporal::YearMonth(a), Temporal::YearMonth(b)) => a.checked_add(b).map(Temporal::YearMonth),
        (Temporal::DayTime(a), Temporal::DayTime(b)) => a.checked_add(b).map(Temporal::DayTime),
        (a, b) => a.as_duration()?.checked_add(b.as_duration()?).map(Temporal::Duration),
    }
}

fn subtract_durations(a: Temporal, b: Temporal) -> Option<Temporal> {
    match (a, b) {
        (Temporal::YearMonth(a), Temporal::YearMonth(b)) => a.checked_sub(b).map(Temporal::YearMonth),
        (Temporal::DayTime(a), Temporal::DayTime(b)) => a.checked_sub(b).map(Temporal::DayTime),
        (a, b) => a.as_duration()?.checked_sub(b.as_duration()?).map(Temporal::Duration),
    }
}

/// `ADJUST`: the same instant, or day, in another zone.
pub(super) fn adjust<'d>(value: Value<'d>, zone: Value<'d>) -> Option<Value<'d>> {
    let zone: Option<TimezoneOffset> = match zone {
        Value::Temporal(Temporal::DayTime(zone)) => Some(zone.try_into().ok()?),
        Value::Temporal(Temporal::Duration(zone)) => Some(zone.try_into().ok()?),
        _ => return None,
    };
    Some(match value {
        Value::DateTime(at) => Value::DateTime(at.adjust(zone)?),
        Value::Temporal(Temporal::Date(at)) => Value::Temporal(Temporal::Date(at.adjust(zone)?)),
        Value::Temporal(Temporal::Time(at)) => Value::Temporal(Temporal::Time(at.adjust(zone)?)),
        _ => return None,
    })
}

/// The parts of a date, a time of day or both.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Part {
    Year,
    Month,
    Day,
    Hours,
    Minutes,
}

pub(super) fn part<'d>(value: &Value<'_>, part: Part) -> Option<Value<'d>> {
    let number = match value {
        Value::DateTime(at) => match part {
            Part::Year => at.year(),
            Part::Month => at.month().into(),
            Part::Day => at.day().into(),
            Part::Hours => at.hour().into(),
            Part::Minutes => at.minute().into(),
        },
        Value::Temporal(Temporal::Date(at)) => match part {
            Part::Year => at.year(),
            Part::Month => at.month().into(),
            Part::Day => at.day().into(),
            Part::Hours | Part::Minutes => return None,
        },
        Value::Temporal(Temporal::Time(at)) => match part {
            Part::Hours => at.hour().into(),
            Part::Minutes => at.minute().into(),
            Part::Year | Part::Month | Part::Day => return None,
        },
        _ => return None,
    };
    Some(Value::integer(number))
}

pub(super) fn seconds(value: &Value<'_>) -> Option<Decimal> {
    match value {
        Value::DateTime(at) => Some(at.second()),
        Value::Temporal(Temporal::Time(at)) => Some(at.second()),
        _ => None,
    }
}

/// The zone, if the value is of a type that can have one.
pub(super) fn zone(value: &Value<'_>) -> Option<Option<TimezoneOffset>> {
    match value {
        Value::DateTime(at) => Some(at.timezone_offset()),
        Value::Temporal(Temporal::Date(at)) => Some(at.timezone_offset()),
        Value::Temporal(Temporal::Time(at)) => Some(at.timezone_offset()),
        _ => None,
    }
}

/// Unary `+` and `-`.
pub(super) fn plus(value: Value<'_>) -> Option<Value<'_>> {
    match value {
        Value::Number(_) => Some(value),
        Value::Temporal(temporal) => temporal.as_duration().map(|_| value),
        _ => None,
    }
}

pub(super) fn minus(value: Value<'_>) -> Option<Value<'_>> {
    match value {
        Value::Number(number) => Number::negate(number).map(Value::Number),
        Value::Temporal(temporal) => temporal.negate().map(Value::Temporal),
        _ => None,
    }
}
