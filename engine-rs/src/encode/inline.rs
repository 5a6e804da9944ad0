//! Values that fit into a `TermId`: read and written here and nowhere else.
//!
//! A literal is inlined only when writing it back gives the same text, so the id stands for the
//! term, not for the value: `"1"` is inlined, `"01"` goes to the dictionary.

use super::canonical::{canonical_double, canonical_float};
use super::datetime::{WallTime, Zone};
use super::raw::{RawTerm, TermKind};
use crate::model::TermId;
use oxrdf::vocab::xsd;
use oxrdf::{BlankNode, Literal, NamedNodeRef, Term};
use oxsdatatypes::{Decimal, Double, Float};

const BLANK: u8 = 0;
const BOOLEAN: u8 = 1;
const DECIMAL: u8 = 2;
const DOUBLE: u8 = 3;
const FLOAT: u8 = 4;
const DATE_TIME: u8 = 5;
const STRING: u8 = 6;
const STRING_OF_SEVEN: u8 = 7;
const INTEGERS: u8 = 8;
/// Doubles and floats in canonical XSD form; those written without an exponent have a kind of their own.
const CANONICAL_DOUBLE: u8 = INTEGERS + 11;
const CANONICAL_FLOAT: u8 = CANONICAL_DOUBLE + 1;
const KINDS: u8 = CANONICAL_FLOAT + 1;

const VALUE_BITS: u32 = 58;
const DECIMAL_SCALE_BITS: u32 = 5;
const ZONE_BITS: u32 = 11;

/// An inlined value, as expressions use it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Inline {
    Blank(u64),
    Boolean(bool),
    Integer(IntegerType, i64),
    Decimal(Decimal),
    Double(f64),
    Float(f32),
    DateTime(WallTime),
    String(ShortString),
}

/// `xsd:integer` and the types derived from it that are common in data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum IntegerType {
    Integer,
    Int,
    Long,
    Short,
    Byte,
    NonNegativeInteger,
    PositiveInteger,
    UnsignedInt,
    UnsignedLong,
    UnsignedShort,
    UnsignedByte,
}

impl IntegerType {
    pub(crate) fn datatype(self) -> NamedNodeRef<'static> {
        INTEGER_TYPES[self as usize].1
    }
}

/// A string of at most seven bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ShortString {
    bytes: [u8; 8],
    len: u8,
}

impl ShortString {
    pub(crate) fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.len as usize]).expect("made from a string of this length")
    }
}

const INTEGER_TYPES: [(IntegerType, NamedNodeRef<'static>, i64, i64); 11] = [
    (IntegerType::Integer, xsd::INTEGER, i64::MIN, i64::MAX),
    (IntegerType::Int, xsd::INT, i32::MIN as i64, i32::MAX as i64),
    (IntegerType::Long, xsd::LONG, i64::MIN, i64::MAX),
    (IntegerType::Short, xsd::SHORT, i16::MIN as i64, i16::MAX as i64),
    (IntegerType::Byte, xsd::BYTE, i8::MIN as i64, i8::MAX as i64),
    (IntegerType::NonNegativeInteger, xsd::NON_NEGATIVE_INTEGER, 0, i64::MAX),
    (IntegerType::PositiveInteger, xsd::POSITIVE_INTEGER, 1, i64::MAX),
    (IntegerType::UnsignedInt, xsd::UNSIGNED_INT, 0, u32::MAX as i64),
    (IntegerType::UnsignedLong, xsd::UNSIGNED_LONG, 0, i64::MAX),
    (IntegerType::UnsignedShort, xsd::UNSIGNED_SHORT, 0, u16::MAX as i64),
    (IntegerType::UnsignedByte, xsd::UNSIGNED_BYTE, 0, u8::MAX as i64),
];

impl TermId {
    pub(crate) fn blank(number: u64) -> Self {
        Self::inline(BLANK, number)
    }

    pub(crate) fn boolean(value: bool) -> Self {
        Self::inline(BOOLEAN, value.into())
    }

    /// An `xsd:integer`, when it fits into 58 bits.
    pub(crate) fn integer(value: i64) -> Option<Self> {
        integer_of_type(IntegerType::Integer, value)
    }

    /// An `xsd:double` in canonical form. INF and NaN have one form only.
    pub(crate) fn double(value: f64) -> Option<Self> {
        double_of_kind(if value.is_finite() { CANONICAL_DOUBLE } else { DOUBLE }, value)
    }

    /// An `xsd:double` written without an exponent.
    pub(crate) fn plain_double(value: f64) -> Option<Self> {
        double_of_kind(DOUBLE, value)
    }

    /// An `xsd:float` in canonical form.
    pub(crate) fn float(value: f32) -> Self {
        let kind = if value.is_finite() { CANONICAL_FLOAT } else { FLOAT };
        Self::inline(kind, value.to_bits().into())
    }

    /// The text of an inlined double.
    pub(crate) fn double_text(self, value: f64) -> String {
        if self.is_kind(CANONICAL_DOUBLE) { canonical_double(value) } else { Double::from(value).to_string() }
    }

    /// The text of an inlined float.
    pub(crate) fn float_text(self, value: f32) -> String {
        if self.is_kind(CANONICAL_FLOAT) { canonical_float(value) } else { Float::from(value).to_string() }
    }

    fn is_kind(self, kind: u8) -> bool {
        self.inlined().is_some_and(|(own, _)| own == kind)
    }

    pub(crate) fn decimal(value: Decimal) -> Option<Self> {
        let (mut mantissa, mut scale) = (i128::from_be_bytes(value.to_be_bytes()), 18);
        // At most as many trailing zeros can be removed as the number has factors of two, and each saves less than four bits.
        // So most quotients are found to be too long without a division.
        let bits = i128::BITS - mantissa.unsigned_abs().leading_zeros();
        if bits > VALUE_BITS + 4 * mantissa.trailing_zeros().min(scale) {
            return None;
        }
        for digits in [16, 8, 4, 2, 1] {
            let power = 10_i128.pow(digits);
            if digits <= scale && mantissa % power == 0 {
                mantissa /= power;
                scale -= digits;
            }
        }
        decimal_of(i64::try_from(mantissa).ok()?, scale)
    }

    pub(crate) fn short_string(text: &str) -> Option<Self> {
        let mut bytes = [0; 8];
        bytes.get_mut(..text.len()).filter(|_| text.len() < 8)?.copy_from_slice(text.as_bytes());
        let packed = u64::from_le_bytes(bytes);
        Some(match text.len() {
            7 => Self::inline(STRING_OF_SEVEN, packed),
            len => Self::inline(STRING, (packed << 3) | len as u64),
        })
    }

    fn date_time(wall: WallTime) -> Option<Self> {
        let zone = match wall.zone {
            Zone::None => 0,
            Zone::Utc => 1,
            Zone::Offset(minutes) => (i64::from(minutes) + 842) as u64,
        };
        let ms = fit_signed(wall.local_ms, VALUE_BITS - ZONE_BITS)?;
        Some(Self::inline(DATE_TIME, (ms << ZONE_BITS) | zone))
    }

    /// Whether the id is that of an inlined literal.
    pub(crate) fn is_value(self) -> bool {
        self.inlined().is_some_and(|(kind, _)| kind != BLANK && kind < KINDS)
    }

    /// The number of a blank node that the dictionary created.
    pub(crate) fn blank_number(self) -> Option<u64> {
        self.inlined().filter(|(kind, _)| *kind == BLANK).map(|(_, number)| number)
    }

    /// The value of an inlined `xsd:integer`.
    #[inline]
    pub(crate) fn integer_value(self) -> Option<i64> {
        match self.inlined() {
            Some((INTEGERS, value)) => Some(sign_extend(value, VALUE_BITS)),
            _ => None,
        }
    }

    /// The inlined value, or `None` when the term is in the dictionary.
    pub(crate) fn inline_value(self) -> Option<Inline> {
        let (kind, value) = self.inlined()?;
        Some(match kind {
            BLANK => Inline::Blank(value),
            BOOLEAN => Inline::Boolean(value != 0),
            DECIMAL => Inline::Decimal(read_decimal(value)),
            DOUBLE | CANONICAL_DOUBLE => Inline::Double(f64::from_bits(value << (64 - VALUE_BITS))),
            FLOAT | CANONICAL_FLOAT => Inline::Float(f32::from_bits(value as u32)),
            DATE_TIME => Inline::DateTime(read_date_time(value)),
            STRING => Inline::String(ShortString { bytes: (value >> 3).to_le_bytes(), len: (value & 7) as u8 }),
            STRING_OF_SEVEN => Inline::String(ShortString { bytes: value.to_le_bytes(), len: 7 }),
            integer => Inline::Integer(INTEGER_TYPES[(integer - INTEGERS) as usize].0, sign_extend(value, VALUE_BITS)),
        })
    }
}

fn decimal_of(mantissa: i64, scale: u32) -> Option<TermId> {
    let mantissa = fit_signed(mantissa, VALUE_BITS - DECIMAL_SCALE_BITS)?;
    Some(TermId::inline(DECIMAL, (mantissa << DECIMAL_SCALE_BITS) | u64::from(scale)))
}

pub(crate) fn integer_of_type(kind: IntegerType, value: i64) -> Option<TermId> {
    let bits = fit_signed(value, VALUE_BITS)?;
    Some(TermId::inline(INTEGERS + kind as u8, bits))
}

/// The id of a term whose text is exactly what rendering its value gives.
#[inline]
pub(super) fn of_raw(term: RawTerm<'_>) -> Option<TermId> {
    match term.kind {
        TermKind::IRI => None,
        TermKind::BLANK => blank_number(term.text).map(TermId::blank),
        TermKind::STRING => TermId::short_string(term.text),
        kind => literal(kind.datatype()?, term.text),
    }
}

fn literal(datatype: NamedNodeRef<'_>, text: &str) -> Option<TermId> {
    match datatype {
        xsd::DOUBLE => double(text),
        xsd::DECIMAL => {
            let (mantissa, scale) = canonical_decimal(text)?;
            decimal_of(mantissa, scale)
        }
        xsd::BOOLEAN => match text {
            "true" => Some(TermId::boolean(true)),
            "false" => Some(TermId::boolean(false)),
            _ => None,
        },
        xsd::DATE_TIME => TermId::date_time(WallTime::parse(text)?),
        xsd::FLOAT => {
            let value: f32 = text.parse().ok()?;
            let ids = [TermId::inline(FLOAT, value.to_bits().into()), TermId::float(value)];
            ids.into_iter().find(|id| id.float_text(value) == text)
        }
        _ => {
            let (kind, _, min, max) = INTEGER_TYPES.iter().find(|(_, iri, ..)| *iri == datatype)?;
            let value = canonical_integer(text).filter(|v| (min..=max).contains(&v))?;
            integer_of_type(*kind, value)
        }
    }
}

fn double(text: &str) -> Option<TermId> {
    /// Every number with at most this many digits is the shortest text of a double.
    const DIGITS_MAX: usize = 15;
    let value: f64 = text.parse().ok()?;
    let plain = TermId::plain_double(value)?;
    if text.len() <= DIGITS_MAX && canonical_decimal(text).is_some() {
        return Some(plain);
    }
    [Some(plain), TermId::double(value)].into_iter().flatten().find(|id| id.double_text(value) == text)
}

fn canonical_integer(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let canonical = match digits.as_bytes() {
        [b'0'] => text == "0",
        [b'1'..=b'9', ..] => digits.bytes().all(|b| b.is_ascii_digit()),
        _ => false,
    };
    if canonical { text.parse().ok() } else { None }
}

/// Mantissa and number of fraction digits of a decimal in the canonical form of XSD 1.1, without redundant zeros or signs.
fn canonical_decimal(text: &str) -> Option<(i64, u32)> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let is_number = |digits: &str| digits.bytes().all(|b| b.is_ascii_digit());
    let has_point = whole.len() < digits.len();
    if whole.is_empty() || (whole.len() > 1 && whole.starts_with('0')) || !is_number(whole) || !is_number(fraction) {
        return None;
    }
    if has_point == fraction.is_empty() || fraction.ends_with('0') || text == "-0" || fraction.len() > 18 {
        return None;
    }
    let digits = whole.bytes().chain(fraction.bytes());
    let mantissa = digits.clone().try_fold(0_i64, |n, b| n.checked_mul(10)?.checked_add(i64::from(b - b'0')))?;
    let mantissa = if text.starts_with('-') { -mantissa } else { mantissa };
    Some((mantissa, fraction.len() as u32))
}

/// The term of an inlined id.
pub(crate) fn inlined_term(id: TermId) -> Option<Term> {
    let typed = |text: String, datatype: NamedNodeRef<'_>| Literal::new_typed_literal(text, datatype).into();
    Some(match id.inline_value()? {
        Inline::Blank(number) => BlankNode::new_unchecked(format!("b{number}")).into(),
        Inline::Boolean(value) => Literal::from(value).into(),
        Inline::Integer(kind, value) => typed(value.to_string(), kind.datatype()),
        Inline::Decimal(value) => typed(value.to_string(), xsd::DECIMAL),
        Inline::Double(value) => typed(id.double_text(value), xsd::DOUBLE),
        Inline::Float(value) => typed(id.float_text(value), xsd::FLOAT),
        Inline::DateTime(wall) => typed(wall.render(), xsd::DATE_TIME),
        Inline::String(text) => Literal::new_simple_literal(text.as_str()).into(),
    })
}

fn double_of_kind(kind: u8, value: f64) -> Option<TermId> {
    const LOW: u64 = (1 << (64 - VALUE_BITS)) - 1;
    let bits = value.to_bits();
    (bits & LOW == 0).then(|| TermId::inline(kind, bits >> (64 - VALUE_BITS)))
}

/// The number in the label of a blank node that the dictionary created.
fn blank_number(label: &str) -> Option<u64> {
    let number = canonical_integer(label.strip_prefix('b')?)?;
    u64::try_from(number).ok().filter(|n| n >> VALUE_BITS == 0)
}

fn fit_signed(value: i64, bits: u32) -> Option<u64> {
    let shift = 64 - bits;
    ((value << shift) >> shift == value).then_some((value as u64) & (u64::MAX >> shift))
}

fn sign_extend(value: u64, bits: u32) -> i64 {
    ((value << (64 - bits)) as i64) >> (64 - bits)
}

fn read_decimal(value: u64) -> Decimal {
    let scale = value & ((1 << DECIMAL_SCALE_BITS) - 1);
    let mantissa = sign_extend(value >> DECIMAL_SCALE_BITS, VALUE_BITS - DECIMAL_SCALE_BITS);
    let raw = i128::from(mantissa) * 10_i128.pow(18 - scale as u32);
    Decimal::from_be_bytes(raw.to_be_bytes())
}

fn read_date_time(value: u64) -> WallTime {
    let zone = match value & ((1 << ZONE_BITS) - 1) {
        0 => Zone::None,
        1 => Zone::Utc,
        offset => Zone::Offset(offset as i16 - 842),
    };
    WallTime { local_ms: sign_extend(value >> ZONE_BITS, VALUE_BITS - ZONE_BITS), zone }
}
