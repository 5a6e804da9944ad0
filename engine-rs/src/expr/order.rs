//! One total order on terms, for ORDER BY, MIN, MAX and ties.
//!
//! Unbound, blank nodes, IRIs, literals, triple terms. Among literals: numbers by value (NaN last), then dateTimes by
//! instant, then dates, times of day and durations, then all others by text, datatype and language. Within each group
//! this is the order of the reference evaluator; across groups its order is not transitive, so ours has to differ.
//!
//! The key of a number is the nearest double and the remainder of an integer or decimal beyond it. A double counts as
//! the shortest decimal that parses to it. Thus the double `0.1` equals the decimal `0.1`, as `=` requires, and long
//! integers and decimals remain distinct.

use super::numbers::Number;
use super::temporal::Temporal;
use super::text::Text;
use super::value::{Blank, TripleValue, Value};
use crate::encode::{Dictionary, Inline, inlined_term};
use crate::model::TermId;
use oxrdf::vocab::{rdf, xsd};
use oxrdf::{BaseDirection, Term};
use oxsdatatypes::{DateTime, Decimal, Duration};
use std::borrow::Cow;
use std::cmp::Ordering;
use std::str::FromStr;

/// A key that orders terms by value, free of the dictionary. Terms with equal values have equal keys.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SortKey(Key);

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Key {
    Unbound,
    Blank(Box<str>),
    Iri(Box<str>),
    Number { nearest: SortableDouble, beyond: Halves },
    NotANumber,
    DateTime { at: Halves, zoned: bool },
    Date { at: Halves, zoned: bool },
    Time { at: Halves, zoned: bool },
    Duration { after_reference: Halves, months: i64 },
    Literal(LiteralKey),
    Triple(Box<[SortKey; 3]>),
}

/// A double (never NaN) as an integer of the same order; both zeros are one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct SortableDouble(i64);

/// A 128-bit integer in two halves, which keeps the key at 32 bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Halves(i64, u64);

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct LiteralKey {
    text: Box<str>,
    /// Datatype, language and direction, separated by NUL; `None` is `xsd:string`.
    kind: Option<Box<str>>,
}

const TEN_TO_18: i128 = 1_000_000_000_000_000_000;
/// Decimals below this many units have at most 15 digits: their nearest double identifies them.
const FIFTEEN_DIGITS: i128 = 1_000_000_000_000_000;
const EXACT_INTEGERS_MAX: i64 = 1 << 53;

#[must_use]
pub fn sort_key(id: TermId, dictionary: &Dictionary) -> SortKey {
    if id.is_bound() { key_of(&Value::of(id, dictionary)) } else { SortKey(Key::Unbound) }
}

/// How many bits of a prefix identify the group of a term.
const GROUP_BITS: u32 = 4;
/// Low bits that are dropped so that all instants in years of four digits fit into the remaining bits.
const MOMENT_SHIFT: u32 = 40;

/// The leading bits of a term's sort key: the term with the smaller prefix comes first in [`compare_terms`].
#[must_use]
pub(crate) fn order_prefix(id: TermId, dictionary: &Dictionary) -> u64 {
    match id.inline_value() {
        Some(Inline::Integer(_, value)) => SortableDouble::of(value as f64).prefix(),
        Some(Inline::Double(value)) if !value.is_nan() => SortableDouble::of(value).prefix(),
        _ => sort_key(id, dictionary).prefix(),
    }
}

/// A total order on terms: by [`sort_key`]; different terms of equal value by datatype, then by text. Never `Equal` for
/// different terms, and independent of the ids. [`TermKey`] and [`tie_text`] are the same order, free of the dictionary.
#[must_use]
pub fn compare_terms(a: TermId, b: TermId, dictionary: &Dictionary) -> Ordering {
    if a == b {
        return Ordering::Equal;
    }
    if let (Some(a), Some(b)) = (a.integer_value(), b.integer_value()) {
        return a.cmp(&b);
    }
    if a.slot().is_some()
        && b.slot().is_some()
        && let (Value::Iri(a), Value::Iri(b)) = (Value::of(a, dictionary), Value::of(b, dictionary))
    {
        return a.as_str().cmp(b.as_str());
    }
    sort_key(a, dictionary).cmp(&sort_key(b, dictionary)).then_with(|| compare_equals(a, b, dictionary))
}

/// [`compare_terms`] for two terms known to have equal keys.
pub(crate) fn compare_equals(a: TermId, b: TermId, dictionary: &Dictionary) -> Ordering {
    if a == b || !a.is_bound() || !b.is_bound() {
        return a.is_bound().cmp(&b.is_bound());
    }
    form(&dictionary.term(a)).cmp(&form(&dictionary.term(b)))
}

/// Distinguishes a term from others of equal value: its datatype, then its text. Only literals, and triple terms that
/// contain them, can have such others.
fn form(term: &Term) -> String {
    match term {
        Term::Literal(literal) => format!("{}\0{}", literal.datatype().as_str(), literal.value()),
        Term::Triple(triple) => form(&triple.object),
        Term::NamedNode(_) | Term::BlankNode(_) => String::new(),
    }
}

/// A key that orders terms as [`compare_terms`] does, free of the dictionary.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct TermKey {
    value: SortKey,
    form: Form,
}

/// The form of a term, rendered only for a comparison, or now if it cannot be rendered later.
#[derive(Clone, Debug)]
enum Form {
    /// No other term has the same value.
    Only,
    Inlined(TermId),
    Written(Box<str>),
}

impl TermKey {
    pub(crate) fn of(id: TermId, dictionary: &Dictionary) -> Self {
        if !id.is_bound() {
            return Self { value: SortKey(Key::Unbound), form: Form::Only };
        }
        let value = Value::of(id, dictionary);
        let form = match &value {
            Value::Iri(_) | Value::Blank(_) | Value::String(_) | Value::LangString(..) | Value::Other { .. } => {
                Form::Only
            }
            _ if id.is_value() => Form::Inlined(id),
            _ => Form::Written(form(&dictionary.term(id)).into()),
        };
        Self { value: key_of(&value), form }
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        let form = if let Form::Written(text) = &self.form { text.len() } else { 0 };
        self.value.heap_bytes() + form
    }
}

impl SortKey {
    pub(crate) fn heap_bytes(&self) -> usize {
        match &self.0 {
            Key::Blank(text) | Key::Iri(text) => text.len(),
            Key::Literal(literal) => literal.text.len() + literal.kind.as_ref().map_or(0, |kind| kind.len()),
            Key::Triple(parts) => size_of_val(&**parts) + parts.iter().map(Self::heap_bytes).sum::<usize>(),
            _ => 0,
        }
    }
}

impl Form {
    fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Only => Cow::Borrowed(""),
            Self::Inlined(id) => inlined_term(*id).map_or(Cow::Borrowed(""), |term| Cow::Owned(form(&term))),
            Self::Written(text) => Cow::Borrowed(text),
        }
    }
}

impl Ord for Form {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Only, Self::Only) => Ordering::Equal,
            (Self::Inlined(a), Self::Inlined(b)) if a == b => Ordering::Equal,
            _ => self.text().cmp(&other.text()),
        }
    }
}

impl PartialOrd for Form {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Form {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Form {}

fn key_of(value: &Value<'_>) -> SortKey {
    SortKey(match value {
        Value::Iri(iri) => Key::Iri(iri.as_str().into()),
        Value::Blank(Blank::Numbered(number)) => Key::Blank(format!("b{number}").into()),
        Value::Blank(Blank::Labelled(label)) => Key::Blank(label.as_str().into()),
        Value::Number(number) => number_key(*number),
        Value::DateTime(at) => date_time_key(*at),
        Value::Temporal(temporal) => temporal_key(*temporal),
        Value::Triple(triple) => triple_key(triple),
        Value::String(text) => literal_key(text, None),
        Value::Boolean(value) => {
            literal_key(&Text::Borrowed(if *value { "true" } else { "false" }), Some(xsd::BOOLEAN.as_str()))
        }
        Value::Other { text, datatype } => literal_key(text, Some(datatype.as_str())),
        Value::LangString(text, language) => {
            let (datatype, direction) = match language.direction {
                None => (rdf::LANG_STRING, ""),
                Some(BaseDirection::Ltr) => (rdf::DIR_LANG_STRING, "ltr"),
                Some(BaseDirection::Rtl) => (rdf::DIR_LANG_STRING, "rtl"),
            };
            let kind = format!("{}\0{}\0{direction}", datatype.as_str(), language.tag.as_str().to_ascii_lowercase());
            literal_key(text, Some(&kind))
        }
    })
}

fn literal_key(text: &Text<'_>, kind: Option<&str>) -> Key {
    Key::Literal(LiteralKey { text: text.as_str().into(), kind: kind.map(Into::into) })
}

fn triple_key(triple: &TripleValue<'_>) -> Key {
    let predicate = SortKey(Key::Iri(triple.predicate.as_str().into()));
    Key::Triple(Box::new([key_of(&triple.subject), predicate, key_of(&triple.object)]))
}

/// Without a zone, the instant is read as UTC and comes just before the same instant with one.
fn date_time_key(at: DateTime) -> Key {
    Key::DateTime { at: Halves::of(instant(at.to_be_bytes())), zoned: at.timezone_offset().is_some() }
}

fn instant(bytes: [u8; 18]) -> i128 {
    let mut raw = [0; 16];
    raw.copy_from_slice(&bytes[..16]);
    i128::from_be_bytes(raw)
}

fn temporal_key(value: Temporal) -> Key {
    match value {
        Temporal::Date(at) => {
            Key::Date { at: Halves::of(instant(at.to_be_bytes())), zoned: at.timezone_offset().is_some() }
        }
        Temporal::Time(at) => {
            Key::Time { at: Halves::of(instant(at.to_be_bytes())), zoned: at.timezone_offset().is_some() }
        }
        Temporal::Duration(_) | Temporal::YearMonth(_) | Temporal::DayTime(_) => {
            duration_key(value.as_duration().unwrap_or_default())
        }
    }
}

/// Orders durations by the instants they lead to from the four starting points at which XML Schema compares them: a
/// duration that is less from all four is less from this one. Months break the remaining ties.
fn duration_key(duration: Duration) -> Key {
    /// From 0001-01-01T00:00:00Z to 1903-03-01T00:00:00Z, and the length of a mean month.
    const REFERENCE: i128 = 60_026_313_600 * TEN_TO_18;
    const MONTH: i128 = 2_629_746 * TEN_TO_18;
    let mut bytes = [0; 18];
    bytes[..16].copy_from_slice(&REFERENCE.to_be_bytes());
    let months = duration.years() * 12 + duration.months();
    let at = DateTime::from_be_bytes(bytes).checked_add_duration(duration).map(|at| instant(at.to_be_bytes()));
    // Outside the calendar's range, only durations of one kind are comparable.
    let beyond = || {
        let mut seconds = [0; 16];
        seconds.copy_from_slice(&duration.to_be_bytes()[8..]);
        let seconds = REFERENCE.saturating_add(i128::from_be_bytes(seconds));
        seconds.saturating_add(MONTH.saturating_mul(months.into()))
    };
    Key::Duration { after_reference: Halves::of(at.unwrap_or_else(beyond)), months }
}

fn number_key(number: Number) -> Key {
    match number {
        Number::Integer(value) => integer_key(value.into()),
        Number::Decimal(value) => decimal_key(value),
        Number::Float(_) | Number::Double(_) => {
            let value: f64 = number.to_double().into();
            if value.is_nan() { Key::NotANumber } else { at(value, 0) }
        }
    }
}

fn at(nearest: f64, beyond: i128) -> Key {
    Key::Number { nearest: SortableDouble::of(nearest), beyond: Halves::of(beyond) }
}

fn integer_key(value: i64) -> Key {
    let nearest = value as f64;
    if value.unsigned_abs() <= EXACT_INTEGERS_MAX.unsigned_abs() {
        return at(nearest, 0);
    }
    at(nearest, (i128::from(value) - nearest as i128) * TEN_TO_18)
}

fn decimal_key(value: Decimal) -> Key {
    let raw = i128::from_be_bytes(value.to_be_bytes());
    let (mut mantissa, mut scale) = (raw, TEN_TO_18);
    while mantissa.abs() >= FIFTEEN_DIGITS && scale > 1 && mantissa % 10 == 0 {
        mantissa /= 10;
        scale /= 10;
    }
    // Both are exact as doubles here, so the division rounds once.
    if mantissa > -FIFTEEN_DIGITS && mantissa < FIFTEEN_DIGITS {
        return at(mantissa as f64 / scale as f64, 0);
    }
    long_decimal_key(raw, &value.to_string())
}

fn long_decimal_key(raw: i128, text: &str) -> Key {
    let nearest = f64::from_str(text).unwrap_or(0.0);
    let reference = if nearest.abs() >= EXACT_INTEGERS_MAX as f64 {
        // May wrap at the end of the range; the difference below then wraps back to the correct value.
        (nearest as i128).wrapping_mul(TEN_TO_18)
    } else {
        shortest_decimal(nearest)
    };
    at(nearest, raw.wrapping_sub(reference))
}

/// The shortest decimal that reads back as this double, cut after 18 fractional digits.
fn shortest_decimal(value: f64) -> i128 {
    let text = value.to_string();
    let cut = text.find('.').map_or(text.len(), |dot| text.len().min(dot + 19));
    Decimal::from_str(&text[..cut]).map_or(0, |decimal| i128::from_be_bytes(decimal.to_be_bytes()))
}

impl SortableDouble {
    fn of(value: f64) -> Self {
        let bits = if value == 0.0 { 0 } else { value.to_bits() as i64 };
        Self(bits ^ (((bits >> 63) as u64) >> 1) as i64)
    }
}

impl Halves {
    fn of(value: i128) -> Self {
        Self((value >> 64) as i64, value as u64)
    }
}

impl LiteralKey {
    fn kind(&self) -> &str {
        self.kind.as_deref().unwrap_or(xsd::STRING.as_str())
    }
}

impl Ord for LiteralKey {
    fn cmp(&self, other: &Self) -> Ordering {
        self.text.cmp(&other.text).then_with(|| self.kind().cmp(other.kind()))
    }
}

impl PartialOrd for LiteralKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
/// Rows compared term by term; unbound columns come first.
pub(crate) fn compare_rows(a: &[TermId], b: &[TermId], dictionary: &Dictionary) -> Ordering {
    for (a, b) in a.iter().zip(b) {
        let order = match (a.is_bound(), b.is_bound()) {
            (true, true) if a == b => Ordering::Equal,
            (true, true) => compare_terms(*a, *b, dictionary),
            (ours, theirs) => ours.cmp(&theirs),
        };
        if order != Ordering::Equal {
            return order;
        }
    }
    Ordering::Equal
}

/// A text that sorts, byte by byte, as the value does.
pub(crate) fn order_text(id: TermId, dictionary: &Dictionary) -> String {
    let mut text = String::new();
    sort_key(id, dictionary).write(&mut text);
    text
}

/// A text that sorts as the term does in [`compare_terms`], and is unique to the term.
pub(crate) fn tie_text(id: TermId, dictionary: &Dictionary) -> String {
    let mut text = order_text(id, dictionary);
    if id.is_bound() {
        write_text(&form(&dictionary.term(id)), &mut text);
    }
    text
}

impl SortKey {
    fn prefix(&self) -> u64 {
        match &self.0 {
            Key::Unbound => in_group(0, 0),
            Key::Blank(label) => in_group(1, leading_bytes(label)),
            Key::Iri(iri) => in_group(2, leading_bytes(iri)),
            Key::Number { nearest, .. } => nearest.prefix(),
            Key::NotANumber => in_group(4, 0),
            Key::DateTime { at, .. } => in_group(5, at.leading_bits()),
            Key::Date { at, .. } => in_group(6, at.leading_bits()),
            Key::Time { at, .. } => in_group(7, at.leading_bits()),
            Key::Duration { after_reference, .. } => in_group(8, after_reference.leading_bits()),
            Key::Literal(literal) => in_group(9, leading_bytes(&literal.text)),
            Key::Triple(_) => in_group(10, 0),
        }
    }

    /// Fixed widths and terminated texts make the rendered keys sort like the keys.
    fn write(&self, out: &mut String) {
        match &self.0 {
            Key::Unbound => out.push('0'),
            Key::Blank(label) => write_tagged('1', label, out),
            Key::Iri(iri) => write_tagged('2', iri, out),
            Key::Number { nearest, beyond } => {
                out.push_str(&format!("3{:016x}{}", above_zero(nearest.0), beyond.hex()));
            }
            Key::NotANumber => out.push('4'),
            Key::DateTime { at, zoned } => write_moment('5', *at, *zoned, out),
            Key::Date { at, zoned } => write_moment('6', *at, *zoned, out),
            Key::Time { at, zoned } => write_moment('7', *at, *zoned, out),
            Key::Duration { after_reference, months } => {
                out.push_str(&format!("8{}{:016x}", after_reference.hex(), above_zero(*months)));
            }
            Key::Literal(literal) => {
                write_tagged('9', &literal.text, out);
                write_text(literal.kind(), out);
            }
            Key::Triple(parts) => {
                out.push(':');
                parts.iter().for_each(|part| part.write(out));
            }
        }
    }
}

/// The number of a group, and the leading bits of the order within it.
fn in_group(group: u64, bits: u64) -> u64 {
    group << (u64::BITS - GROUP_BITS) | bits >> GROUP_BITS
}

fn leading_bytes(text: &str) -> u64 {
    let mut bytes = [0; 8];
    let n = text.len().min(8);
    bytes[..n].copy_from_slice(&text.as_bytes()[..n]);
    u64::from_be_bytes(bytes)
}

impl SortableDouble {
    fn prefix(self) -> u64 {
        in_group(3, above_zero(self.0))
    }
}

impl Halves {
    /// Instants that are further away compare as equal here.
    fn leading_bits(self) -> u64 {
        let value = (i128::from(self.0) << 64 | i128::from(self.1)) >> MOMENT_SHIFT;
        above_zero(value.clamp(i64::MIN.into(), i64::MAX.into()) as i64)
    }

    fn hex(self) -> String {
        format!("{:016x}{:016x}", above_zero(self.0), self.1)
    }
}

fn above_zero(value: i64) -> u64 {
    (value as u64) ^ (1 << 63)
}

fn write_moment(tag: char, at: Halves, zoned: bool, out: &mut String) {
    out.push_str(&format!("{tag}{}{}", at.hex(), u8::from(zoned)));
}

fn write_tagged(tag: char, text: &str, out: &mut String) {
    out.push(tag);
    write_text(text, out);
}

/// Two NULs end a text; a NUL inside it is followed by something greater.
fn write_text(text: &str, out: &mut String) {
    out.push_str(&text.replace('\0', "\0\u{1}"));
    out.push_str("\0\0");
}
