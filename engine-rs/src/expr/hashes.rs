//! Digests of strings, in lower-case hexadecimal.

use super::builtin::Builtin;
use super::text::Text;
use super::value::Value;
use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha384, Sha512};
use spargebra::algebra::Function;

pub(super) fn builtin(function: &Function) -> Option<Builtin> {
    Some(match function {
        Function::Md5 => Builtin::Unary(digest::<Md5>),
        Function::Sha1 => Builtin::Unary(digest::<Sha1>),
        Function::Sha256 => Builtin::Unary(digest::<Sha256>),
        Function::Sha384 => Builtin::Unary(digest::<Sha384>),
        Function::Sha512 => Builtin::Unary(digest::<Sha512>),
        _ => return None,
    })
}

fn digest<H: Digest>(value: Value<'_>) -> Option<Value<'_>> {
    let text = value.into_string()?;
    Some(Value::String(Text::Owned(hex(&H::digest(text.as_str())))))
}

/// Lower-case hexadecimal digits of some bytes.
pub(super) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}
