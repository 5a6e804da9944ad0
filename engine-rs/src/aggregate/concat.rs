//! GROUP_CONCAT: the texts of a bag in term order.

use super::ordered_bag::OrderedBag;
use crate::encode::Dictionary;
use crate::expr::{Text, Value};
use crate::limits::Budget;

/// The texts joined by the separator: a plain string, whatever languages they had.
pub(super) fn joined(
    bag: &OrderedBag,
    separator: &str,
    dictionary: &Dictionary,
    budget: &mut Budget,
) -> Option<Value<'static>> {
    let mut result = String::new();
    let mut separate = false;
    for (id, count) in bag.iter() {
        let (text, _) = Value::of(id, dictionary).into_text()?;
        for _ in 0..count {
            if separate {
                result.push_str(separator);
            }
            separate = true;
            result.push_str(text.as_str());
            budget.make_text(separator.len() + text.as_str().len());
            if !budget.admits_concat(result.len()) {
                return None;
            }
        }
    }
    Some(Value::String(Text::Owned(result)))
}
