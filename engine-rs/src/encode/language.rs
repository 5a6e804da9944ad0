//! Normalises language tags.
//!
//! Tags that differ in case alone are one tag (RDF 1.2, BCP 47), and parsers hand them over in lower case. They are
//! written as RFC 5646 §2.1.1 recommends, whatever form came first: `en-GB`, `zh-Hant-TW`, `de`, `x-own`.

use oxrdf::{Literal, LiteralRef, Term, TermRef, Triple};

/// The term with normalised tags; `None` if they already are.
pub(crate) fn with_tags_in_form(term: TermRef<'_>) -> Option<Term> {
    with_tags(term, &recased)
}

/// The term with tags in lower case, from which placement is computed; `None` if they already are.
pub(super) fn with_tags_in_lower_case(term: TermRef<'_>) -> Option<Term> {
    let lower = |tag: &str| tag.bytes().any(|byte| byte.is_ascii_uppercase()).then(|| tag.to_ascii_lowercase());
    with_tags(term, &lower)
}

fn with_tags(term: TermRef<'_>, change: &dyn Fn(&str) -> Option<String>) -> Option<Term> {
    match term {
        TermRef::Literal(literal) => literal_with(literal, change).map(Term::from),
        TermRef::Triple(triple) => {
            let object = with_tags(triple.object.as_ref(), change)?;
            Some(Triple { object, ..triple.clone() }.into())
        }
        TermRef::NamedNode(_) | TermRef::BlankNode(_) => None,
    }
}

fn literal_with(literal: LiteralRef<'_>, change: impl Fn(&str) -> Option<String>) -> Option<Literal> {
    let (tag, text) = (change(literal.language()?)?, literal.value());
    Some(match literal.direction() {
        Some(direction) => Literal::new_directional_language_tagged_literal_unchecked(text, tag, direction),
        None => Literal::new_language_tagged_literal_unchecked(text, tag),
    })
}

/// The normalised tag, `None` if it already is: regions in upper case, scripts in title case, the rest in lower case.
/// After a singleton (`x`, `u`) everything is in lower case.
pub(crate) fn recased(tag: &str) -> Option<String> {
    let mut form = String::with_capacity(tag.len());
    let mut may_have_capitals = false;
    for part in tag.split('-') {
        let is_first = form.is_empty();
        if !is_first {
            form.push('-');
        }
        let start = form.len();
        form.extend(part.chars().map(|c| c.to_ascii_lowercase()));
        if !is_first && may_have_capitals && part.bytes().all(|byte| byte.is_ascii_alphabetic()) {
            match part.len() {
                2 => form[start..].make_ascii_uppercase(),
                4 => form[start..=start].make_ascii_uppercase(),
                _ => {}
            }
        }
        may_have_capitals = part.len() > 1 && (is_first || may_have_capitals);
    }
    (form != tag).then_some(form)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_written_as_recommended() {
        let forms = [
            ("EN", "en"),
            ("en-gb", "en-GB"),
            ("EN-gb-OED", "en-GB-oed"),
            ("zh-hant-tw", "zh-Hant-TW"),
            ("de-1996", "de-1996"),
            ("en-x-us", "en-x-us"),
            ("X-Own-AB", "x-own-ab"),
            ("sl-IT-nedis", "sl-IT-nedis"),
        ];
        for (tag, form) in forms {
            assert_eq!(recased(tag).as_deref().unwrap_or(tag), form);
        }
    }

    #[test]
    fn tags_inside_triple_terms_too() {
        let node = oxrdf::NamedNode::new_unchecked("http://ex/a");
        let tagged = |tag: &str| Term::from(Literal::new_language_tagged_literal_unchecked("x", tag));
        let triple = |tag: &str| Term::from(Triple::new(node.clone(), node.clone(), tagged(tag)));
        assert_eq!(with_tags_in_form(triple("en-gb").as_ref()), Some(triple("en-GB")));
        assert_eq!(with_tags_in_form(triple("en-GB").as_ref()), None);
    }
}
