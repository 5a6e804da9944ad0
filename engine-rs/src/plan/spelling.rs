//! Spells names in plans: with the prefixes of the query, and invented variables as what they stand for.
//!
//! Input: SPARQL as the algebra prints it, with full IRIs and invented variables. Output: the same line as the user
//! would have written it. The rewriting works on tokens, so patterns, expressions and messages all use it.

use super::blanks::BLANK_PREFIX;
use crate::parse::{BARE_NAMES, declared_prefixes};
use oxrdf::{NamedNode, Variable};
use std::collections::BTreeMap;

/// What the variables that the user did not write stand for.
pub(crate) type Meanings = BTreeMap<Variable, String>;

const XSD: &str = "http://www.w3.org/2001/XMLSchema#";
const MADE_PREFIX: &str = "_whorl_";
/// Windows without a name in the text are numbered.
const NAMELESS_WINDOWS: &str = "urn:whorl:window:";
/// A meaning may itself mention invented variables, up to this depth.
const DEPTH_MAX: usize = 4;

pub(crate) struct Spelling<'a> {
    /// Namespace and prefix, the longest namespaces first.
    namespaces: Vec<(String, String)>,
    meanings: Option<&'a Meanings>,
}

impl<'a> Spelling<'a> {
    /// The spelling of a query, using the prefixes that its text declares.
    pub(crate) fn of(text: &str, base: Option<&str>, meanings: Option<&'a Meanings>) -> Self {
        let declared = declared_prefixes(text, base);
        let mut namespaces: Vec<_> = declared.into_iter().map(|(prefix, namespace)| (namespace, prefix)).collect();
        namespaces.push((XSD.to_owned(), "xsd".to_owned()));
        namespaces.sort_by_key(|(namespace, _)| std::cmp::Reverse(namespace.len()));
        Self { namespaces, meanings }
    }

    pub(crate) fn text(&self, text: &str) -> String {
        let spelled = self.spell(text, 0);
        spelled.trim_end().to_owned()
    }

    pub(crate) fn variable(&self, variable: &Variable) -> String {
        self.variable_at(variable.as_str(), 0)
    }

    pub(crate) fn iri(&self, iri: &NamedNode) -> String {
        self.short_iri(iri.as_str())
    }

    fn spell(&self, text: &str, depth: usize) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let taken = match c {
                '"' => self.literal(rest, &mut out),
                '<' => self.bracketed(rest, &mut out),
                '?' | '$' => self.marked(rest, depth, &mut out),
                _ => None,
            };
            let taken = taken.unwrap_or_else(|| {
                plain(c, &mut out);
                c.len_utf8()
            });
            rest = &rest[taken..];
        }
        out
    }

    /// A string with its datatype, or a bare number or boolean. Returns the number of bytes read.
    fn literal(&self, text: &str, out: &mut String) -> Option<usize> {
        let end = closing_quote(text)?;
        let (quoted, rest) = text.split_at(end);
        let datatype = rest.strip_prefix("^^").and_then(iri_at);
        let Some(datatype) = datatype else {
            out.push_str(quoted);
            return Some(end);
        };
        let value = &quoted[1..quoted.len() - 1];
        match datatype.strip_prefix(XSD) {
            Some(kind) if reads_back(kind, value) => out.push_str(value),
            _ => {
                out.push_str(quoted);
                out.push_str("^^");
                out.push_str(&self.short_iri(datatype));
            }
        }
        Some(end + "^^<>".len() + datatype.len())
    }

    fn bracketed(&self, text: &str, out: &mut String) -> Option<usize> {
        let iri = iri_at(text)?;
        out.push_str(&self.short_iri(iri));
        Some(iri.len() + "<>".len())
    }

    fn marked(&self, text: &str, depth: usize, out: &mut String) -> Option<usize> {
        let name = &text[1..];
        let end = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len());
        if end == 0 {
            return None;
        }
        out.push_str(&self.variable_at(&name[..end], depth));
        Some(1 + end)
    }

    fn variable_at(&self, name: &str, depth: usize) -> String {
        let Some(made) = name.strip_prefix(MADE_PREFIX) else { return format!("?{name}") };
        let meaning = self.meanings.and_then(|meanings| meanings.get(&Variable::new_unchecked(name)));
        if let Some(meaning) = meaning.filter(|_| depth < DEPTH_MAX) {
            return self.spell(meaning, depth + 1);
        }
        if let Some(label) = name.strip_prefix(BLANK_PREFIX) {
            return format!("_:{label}");
        }
        // User variables never have such a name.
        match made.rsplit_once('_') {
            Some(("exists", number)) => format!("EXISTS#{number}"),
            Some((purpose, number)) => format!("?{purpose}#{number}"),
            None => format!("?#{made}"),
        }
    }

    fn short_iri(&self, iri: &str) -> String {
        for (namespace, prefix) in &self.namespaces {
            if let Some(local) = iri.strip_prefix(namespace.as_str())
                && is_local_name(local)
            {
                return format!("{prefix}:{local}");
            }
        }
        match iri.strip_prefix(NAMELESS_WINDOWS) {
            Some(number) => format!("#{number}"),
            None => format!("<{}>", iri.strip_prefix(BARE_NAMES).unwrap_or(iri)),
        }
    }
}

/// Collapses white space to one blank and separates the dot between triples.
fn plain(c: char, out: &mut String) {
    match c {
        c if c.is_whitespace() && (out.is_empty() || out.ends_with(' ')) => {}
        c if c.is_whitespace() => out.push(' '),
        '.' if out.ends_with(' ') => out.push_str(". "),
        c => out.push(c),
    }
}

/// The index behind the quote that closes the string starting here.
fn closing_quote(text: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return Some(at + 1),
            _ => {}
        }
    }
    None
}

/// The IRI in angle brackets that starts here; `None` if `<` is a comparison or opens a triple term.
fn iri_at(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('<')?;
    let end = inner.find(|c: char| c <= ' ' || "<>\"{}|^`\\".contains(c))?;
    (end > 0 && inner[end..].starts_with('>')).then(|| &inner[..end])
}

/// Whether SPARQL reads the bare value back as a literal of this datatype.
fn reads_back(kind: &str, value: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let unsigned = value.strip_prefix('-').unwrap_or(value);
    match kind {
        "integer" => digits(unsigned),
        "decimal" => unsigned.split_once('.').is_some_and(|(whole, fraction)| digits(whole) && digits(fraction)),
        "boolean" => matches!(value, "true" | "false"),
        _ => false,
    }
}

fn is_local_name(local: &str) -> bool {
    !local.is_empty() && !local.starts_with('-') && local.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelled(text: &str) -> String {
        let namespaces = vec![("http://ex/deep/".into(), "d".into()), ("http://ex/".into(), String::new())];
        let meaning = |name: &str, text: &str| (Variable::new_unchecked(name), text.to_owned());
        let meanings = [meaning("_whorl_now_1", "NOW()"), meaning("_whorl_made_2", "SUM(?_whorl_value_3)")];
        Spelling { namespaces, meanings: Some(&meanings.into_iter().collect()) }.text(text)
    }

    #[test]
    fn iris_take_the_longest_prefix_that_leaves_a_name() {
        assert_eq!(
            spelled("<http://ex/a> <http://ex/deep/b> <http://ex/x/c> <urn:x>"),
            ":a d:b <http://ex/x/c> <urn:x>"
        );
        assert_eq!(spelled("<urn:whorl:name:w> <urn:whorl:window:2>"), "<w> #2");
    }

    #[test]
    fn comparisons_and_strings_are_left_alone() {
        assert_eq!(spelled("?a < ?b && ?c > ?d"), "?a < ?b && ?c > ?d");
        assert_eq!(spelled(r#""say \"<http://ex/a>\" ?x"@en"#), r#""say \"<http://ex/a>\" ?x"@en"#);
        assert_eq!(spelled("<<( ?s <http://ex/p> ?o )>>"), "<<( ?s :p ?o )>>");
        assert_eq!(spelled("(<http://ex/p>)? <http://ex/o>"), "(:p)? :o");
    }

    #[test]
    fn numbers_are_bare() {
        assert_eq!(spelled(&format!("\"-20\"^^<{XSD}integer> \"1.5\"^^<{XSD}decimal>")), "-20 1.5");
        assert_eq!(spelled(&format!("\"x\"^^<{XSD}integer>")), format!("\"x\"^^<{XSD}integer>"));
    }

    #[test]
    fn made_up_variables_are_told_by_what_they_stand_for() {
        assert_eq!(spelled("?_whorl_now_1 > ?t"), "NOW() > ?t");
        assert_eq!(spelled("?_whorl_made_2"), "SUM(?value#3)");
        assert_eq!(spelled("?_whorl_blank_b1 ?_whorl_path_4 ?_whorl_exists_2"), "_:b1 ?path#4 EXISTS#2");
    }

    #[test]
    fn triples_stand_apart() {
        assert_eq!(spelled("{ ?a ?b ?c .?d ?e ?f . }"), "{ ?a ?b ?c . ?d ?e ?f . }");
    }
}
