//! JSON text under construction: strings, lists, objects.

use std::fmt::{Display, Write};

/// Appends a quoted string. Runs without escapes, the usual case, are copied at once.
pub(super) fn push_string(text: &mut String, value: &str) {
    text.push('"');
    push_escaped(text, value);
    text.push('"');
}

/// One load per byte instead of three comparisons: 22 % fewer instructions for typical rows (decision 0044).
const NEEDS_ESCAPE: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 0x20 {
        table[byte] = true;
        byte += 1;
    }
    table[b'"' as usize] = true;
    table[b'\\' as usize] = true;
    table
};

fn push_escaped(text: &mut String, value: &str) {
    let mut copied = 0;
    for (at, byte) in value.bytes().enumerate() {
        // Only ASCII bytes need an escape, and no byte of a multi-byte character is one.
        if !NEEDS_ESCAPE[usize::from(byte)] {
            continue;
        }
        text.push_str(&value[copied..at]);
        copied = at + 1;
        match byte {
            b'"' => text.push_str("\\\""),
            b'\\' => text.push_str("\\\\"),
            b'\n' => text.push_str("\\n"),
            _ => {
                let _ = write!(text, "\\u{byte:04x}");
            }
        }
    }
    text.push_str(&value[copied..]);
}

pub(super) fn push_list<T>(text: &mut String, items: &[T], push: impl Fn(&mut String, &T)) {
    text.push('[');
    for (number, item) in items.iter().enumerate() {
        if number > 0 {
            text.push(',');
        }
        push(text, item);
    }
    text.push(']');
}

/// An object under construction.
pub(super) struct Object<'a> {
    text: &'a mut String,
    is_empty: bool,
}

impl<'a> Object<'a> {
    pub(super) fn open(text: &'a mut String) -> Self {
        text.push('{');
        Self { text, is_empty: true }
    }

    /// Writes a key; the caller must write the value next.
    pub(super) fn key(&mut self, key: &str) -> &mut String {
        if !std::mem::take(&mut self.is_empty) {
            self.text.push(',');
        }
        push_string(self.text, key);
        self.text.push(':');
        self.text
    }

    pub(super) fn string(&mut self, key: &str, value: &str) {
        push_string(self.key(key), value);
    }

    pub(super) fn strings(&mut self, key: &str, values: &[String]) {
        push_list(self.key(key), values, |text, value| push_string(text, value));
    }

    /// Writes a number or a boolean.
    pub(super) fn value(&mut self, key: &str, value: impl Display) {
        let _ = write!(self.key(key), "{value}");
    }

    /// The value, or null if there is none.
    pub(super) fn optional(&mut self, key: &str, value: Option<impl Display>) {
        match value {
            Some(value) => self.value(key, value),
            None => self.value(key, "null"),
        }
    }

    pub(super) fn close(self) {
        self.text.push('}');
    }
}
