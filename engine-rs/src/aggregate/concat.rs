//! GROUP_CONCAT: the texts of a bag in term order.

use super::ordered_bag::OrderedBag;
use crate::encode::Dictionary;
use crate::expr::{Language, Text, Value};

/// Longest result; beyond it the aggregate has no value.
const CONCAT_BYTES_MAX: usize = 8 << 20;

/// The texts joined by the separator. They keep a language that all of them share.
pub(super) fn joined<'d>(bag: &OrderedBag, separator: &str, dictionary: &'d Dictionary) -> Option<Value<'d>> {
    let mut result = String::new();
    let mut shared: Option<Option<Language<'d>>> = None;
    for (id, count) in bag.iter() {
        let (text, language) = Value::of(id, dictionary).into_text()?;
        for _ in 0..count {
            if shared.is_some() {
                result.push_str(separator);
            }
            result.push_str(text.as_str());
            if result.len() > CONCAT_BYTES_MAX {
                return None;
            }
            shared = Some(match shared.take() {
                None => language.clone(),
                Some(shared) => shared.filter(|shared| language.as_ref() == Some(shared)),
            });
        }
    }
    Some(Value::plain(Text::Owned(result), shared.flatten()))
}
