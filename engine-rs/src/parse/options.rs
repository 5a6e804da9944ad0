//! The options of a query. Each is defined once: name and type determine how it is read, reported and saved.
//!
//! Input: a name and a value from a caller in any language. Output: a field of [`ParseOptions`]. The binding, the
//! golden cases and snapshots use the same list, so a new option is one line of `query_options!` and, if its type is
//! new, an implementation of [`Value`].

use crate::codec::{Damaged, Decoded, Reader, Writer};
use crate::time::{Span, Timestamp};

use super::duration::parse_duration;
use super::query::{Bounds, ContentSemantics, Dialect, R2s, Report, Tick};

/// A value as callers pass it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum OptionValue {
    Text(String),
    Number(i64),
    Flag(bool),
    Words(Vec<String>),
}

/// An invalid option.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OptionError {
    #[error("unknown option '{name}'; one of {}", ParseOptions::NAMES.join(", "))]
    Unknown { name: String },
    #[error("{name} is {expected}, not {given}")]
    Value { name: &'static str, expected: String, given: String },
}

macro_rules! query_options {
    ($($(#[$doc:meta])* $name:ident: $type:ty,)*) => {
        /// Options that override the query text.
        #[derive(Clone, PartialEq, Default, Debug)]
        pub struct ParseOptions {
            $($(#[$doc])* pub $name: $type,)*
        }

        impl ParseOptions {
            pub const NAMES: &[&str] = &[$(stringify!($name)),*];

            fn field(&mut self, wanted: &str) -> Option<(&'static str, &mut dyn Field)> {
                match wanted {
                    $(stringify!($name) => Some((stringify!($name), &mut self.$name)),)*
                    _ => None,
                }
            }

            /// The options that differ from their defaults.
            fn given(&self) -> Vec<(&'static str, OptionValue)> {
                let all = [$((stringify!($name), self.$name.given())),*];
                all.into_iter().filter_map(|(name, value)| value.map(|value| (name, value))).collect()
            }
        }
    };
}

query_options! {
    dialect: Option<Dialect>,
    report: Option<Report>,
    tick: Option<Tick>,
    t0: Option<Timestamp>,
    bounds: Option<Bounds>,
    partial: Option<bool>,
    semantics: Option<ContentSemantics>,
    r2s: Option<R2s>,
    /// The base for relative IRIs if the text has no BASE.
    base_iri: Option<String>,
    /// A stream and a window, such as `<http://example.org/s> [RANGE 10s STEP 5s]`: patterns outside WINDOW, STREAM and
    /// GRAPH read this window and no static data. `[RANGE 10s]` alone is tumbling in every dialect.
    default_graph: Option<String>,
    /// Whether to keep the whole result, so that it can be read at any time. RSTREAM and ASK always keep theirs.
    keep_answer: bool,
    /// Whether to keep the triples in the query's windows, so that they can be queried.
    keep_windows: bool,
    /// Whether to allow Cartesian products and closure paths with two open ends in an engine that refuses expensive
    /// queries.
    allow_cartesian: bool,
}

impl ParseOptions {
    /// Chooses one option by its name.
    ///
    /// ```
    /// use whorl_engine::{OptionValue, ParseOptions, R2s};
    ///
    /// let mut options = ParseOptions::default();
    /// options.set("r2s", &OptionValue::Text("istream".to_owned()))?;
    /// assert_eq!(options.r2s, Some(R2s::Istream));
    /// # Ok::<(), whorl_engine::OptionError>(())
    /// ```
    ///
    /// # Errors
    /// When there is no such option, or the value is not one of it.
    pub fn set(&mut self, name: &str, value: &OptionValue) -> Result<(), OptionError> {
        let (name, field) = self.field(name).ok_or_else(|| OptionError::Unknown { name: name.to_owned() })?;
        let refused = |expected| OptionError::Value { name, expected, given: shown(value) };
        field.set(value).map_err(refused)
    }

    pub(crate) fn save(&self, to: &mut Writer) {
        to.list(self.given().iter(), |to, (name, value)| {
            to.text(name);
            save_value(value, to);
        });
    }

    pub(crate) fn restored(from: &mut Reader<'_>) -> Decoded<Self> {
        let mut options = Self::default();
        let given: Vec<(String, OptionValue)> = from.list(9, |from| Ok((from.text()?, restored_value(from)?)))?;
        for (name, value) in given {
            options.set(&name, &value).map_err(|_| Damaged { what: "an option has an unknown value" })?;
        }
        Ok(options)
    }
}

/// A field of any type. A refusal says what would be valid.
trait Field {
    fn set(&mut self, value: &OptionValue) -> Result<(), String>;
    fn given(&self) -> Option<OptionValue>;
}

impl<T: Value> Field for Option<T> {
    fn set(&mut self, value: &OptionValue) -> Result<(), String> {
        *self = Some(T::read(value).ok_or_else(T::expected)?);
        Ok(())
    }

    fn given(&self) -> Option<OptionValue> {
        self.as_ref().map(Value::as_given)
    }
}

impl Field for bool {
    fn set(&mut self, value: &OptionValue) -> Result<(), String> {
        *self = bool::read(value).ok_or_else(bool::expected)?;
        Ok(())
    }

    fn given(&self) -> Option<OptionValue> {
        self.then_some(OptionValue::Flag(true))
    }
}

/// A type of option values.
trait Value: Sized {
    fn read(value: &OptionValue) -> Option<Self>;
    fn as_given(&self) -> OptionValue;
    fn expected() -> String;
}

impl Value for bool {
    fn read(value: &OptionValue) -> Option<Self> {
        match value {
            OptionValue::Flag(flag) => Some(*flag),
            OptionValue::Text(text) => text.parse().ok(),
            OptionValue::Number(_) | OptionValue::Words(_) => None,
        }
    }

    fn as_given(&self) -> OptionValue {
        OptionValue::Flag(*self)
    }

    fn expected() -> String {
        "true or false".to_owned()
    }
}

impl Value for String {
    fn read(value: &OptionValue) -> Option<Self> {
        match value {
            OptionValue::Text(text) => Some(text.clone()),
            _ => None,
        }
    }

    fn as_given(&self) -> OptionValue {
        OptionValue::Text(self.clone())
    }

    fn expected() -> String {
        "text".to_owned()
    }
}

impl Value for Timestamp {
    fn read(value: &OptionValue) -> Option<Self> {
        match value {
            OptionValue::Number(ms) => Some(Self::from_millis(*ms)),
            OptionValue::Text(text) => text.parse().ok().map(Self::from_millis),
            OptionValue::Flag(_) | OptionValue::Words(_) => None,
        }
    }

    fn as_given(&self) -> OptionValue {
        OptionValue::Number(self.as_millis())
    }

    fn expected() -> String {
        "a number of milliseconds since 1970".to_owned()
    }
}

/// Words, or one text with words separated by blanks or commas; all conditions named must hold.
impl Value for Report {
    fn read(value: &OptionValue) -> Option<Self> {
        match value {
            OptionValue::Words(words) => read_report(words.iter().map(String::as_str)),
            OptionValue::Text(text) => read_report(text.split([' ', ',']).filter(|word| !word.is_empty())),
            OptionValue::Number(_) | OptionValue::Flag(_) => None,
        }
    }

    fn as_given(&self) -> OptionValue {
        let flags = [(self.close, "close"), (self.change, "change"), (self.nonempty, "nonempty")];
        let words = flags.into_iter().filter(|(is_set, _)| *is_set).map(|(_, word)| word.to_owned());
        let period = self.periodic.map(|period| format!("periodic({})", period.as_millis()));
        OptionValue::Words(words.chain(period).collect())
    }

    fn expected() -> String {
        "made of close, change, nonempty and periodic(10s)".to_owned()
    }
}

fn read_report<'a>(words: impl Iterator<Item = &'a str>) -> Option<Report> {
    let mut report = Report::default();
    for word in words {
        match word.to_ascii_lowercase().as_str() {
            "close" => report.close = true,
            "change" => report.change = true,
            "nonempty" => report.nonempty = true,
            other => report.periodic = Some(period(other)?),
        }
    }
    Some(report)
}

fn period(word: &str) -> Option<Span> {
    let inside = word.strip_prefix("periodic(").and_then(|rest| rest.strip_suffix(')'))?;
    parse_duration(inside).ok().filter(|period| period.as_millis() > 0)
}

/// A type with a fixed list of values, and the word for each.
macro_rules! choices {
    ($type:ty: $($word:literal => $value:path),*) => {
        impl Value for $type {
            fn read(value: &OptionValue) -> Option<Self> {
                let OptionValue::Text(text) = value else { return None };
                [$(($word, $value)),*].into_iter().find(|(word, _)| word.eq_ignore_ascii_case(text)).map(|(_, value)| value)
            }

            fn as_given(&self) -> OptionValue {
                let word = match self {
                    $($value => $word,)*
                };
                OptionValue::Text(word.to_owned())
            }

            fn expected() -> String {
                format!("one of {}", [$(concat!("'", $word, "'")),*].join(", "))
            }
        }
    };
}

choices!(Dialect: "rspql" => Dialect::RspQl, "csparql" => Dialect::CSparql, "cqels" => Dialect::CqelsQl);
choices!(Tick: "time" => Tick::Time, "tuple" => Tick::Tuple);
choices!(Bounds: "[)" => Bounds::ClosedOpen, "(]" => Bounds::OpenClosed);
choices!(ContentSemantics: "set" => ContentSemantics::Set, "bag" => ContentSemantics::Bag);
choices!(R2s: "RSTREAM" => R2s::Rstream, "ISTREAM" => R2s::Istream, "DSTREAM" => R2s::Dstream, "CHANGES" => R2s::Changes);

fn shown(value: &OptionValue) -> String {
    match value {
        OptionValue::Text(text) => format!("'{text}'"),
        OptionValue::Number(number) => number.to_string(),
        OptionValue::Flag(flag) => flag.to_string(),
        OptionValue::Words(words) => format!("'{}'", words.join(", ")),
    }
}

fn save_value(value: &OptionValue, to: &mut Writer) {
    match value {
        OptionValue::Text(text) => {
            to.u8(0);
            to.text(text);
        }
        OptionValue::Number(number) => {
            to.u8(1);
            to.i64(*number);
        }
        OptionValue::Flag(flag) => {
            to.u8(2);
            to.bool(*flag);
        }
        OptionValue::Words(words) => {
            to.u8(3);
            to.list(words.iter(), |to, word| to.text(word));
        }
    }
}

fn restored_value(from: &mut Reader<'_>) -> Decoded<OptionValue> {
    Ok(match from.u8()? {
        0 => OptionValue::Text(from.text()?),
        1 => OptionValue::Number(from.i64()?),
        2 => OptionValue::Flag(from.bool()?),
        3 => OptionValue::Words(from.list(8, Reader::text)?),
        _ => return Err(Damaged { what: "an option has an unknown value" }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> OptionValue {
        OptionValue::Text(text.to_owned())
    }

    fn refusal(name: &str, value: &OptionValue) -> String {
        ParseOptions::default().set(name, value).expect_err("refused").to_string()
    }

    #[test]
    fn every_option_goes_through_a_snapshot() {
        let mut options = ParseOptions::default();
        let given = [
            ("dialect", text("csparql")),
            ("report", text("close, nonempty periodic(1m30s)")),
            ("tick", text("tuple")),
            ("t0", OptionValue::Number(-5)),
            ("bounds", text("(]")),
            ("partial", OptionValue::Flag(false)),
            ("semantics", text("BAG")),
            ("r2s", text("changes")),
            ("base_iri", text("http://ex/")),
            ("default_graph", text("<http://ex/s> [RANGE 1s]")),
            ("keep_answer", text("true")),
            ("keep_windows", OptionValue::Flag(true)),
            ("allow_cartesian", OptionValue::Flag(true)),
        ];
        assert_eq!(given.each_ref().map(|(name, _)| *name), ParseOptions::NAMES);
        given.iter().for_each(|(name, value)| options.set(name, value).expect("an option"));
        assert_eq!(options.given().len(), given.len());
        let mut to = Writer::default();
        options.save(&mut to);
        assert_eq!(ParseOptions::restored(&mut Reader::new(&to.into_bytes())), Ok(options));
    }

    #[test]
    fn what_is_refused_names_what_is_right() {
        assert_eq!(refusal("tick", &text("often")), "tick is one of 'time', 'tuple', not 'often'");
        assert_eq!(refusal("t0", &OptionValue::Flag(true)), "t0 is a number of milliseconds since 1970, not true");
        let expected = "report is made of close, change, nonempty and periodic(10s), not 'periodic(0)'";
        assert_eq!(refusal("report", &text("periodic(0)")), expected);
        assert!(refusal("ticks", &text("time")).starts_with("unknown option 'ticks'; one of dialect, "));
    }
}
