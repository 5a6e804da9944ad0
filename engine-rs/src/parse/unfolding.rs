//! Bounds the size of the terms in a body: a prefix or vocabulary is written once but repeated in every term that uses
//! it.

use super::rdf::RdfError;
use oxrdf::{GraphName, NamedOrBlankNode, Quad, Term, Triple};

/// Bytes of terms allowed for any body.
const FREE: usize = 16 << 20;
/// Bytes of terms allowed per byte of the body, beyond that.
const PER_BYTE: usize = 16;

/// How many bytes of terms the rest of a body may still produce.
#[derive(Debug)]
pub(crate) struct Room {
    bytes: usize,
    most: usize,
    left: usize,
}

/// How many bytes of terms a body may produce.
pub(crate) fn room_for(body: &[u8]) -> usize {
    FREE.saturating_add(body.len().saturating_mul(PER_BYTE))
}

impl Room {
    /// The allowance of a whole body.
    pub(crate) fn of(body: &[u8]) -> Self {
        let most = room_for(body);
        Self { bytes: body.len(), most, left: most }
    }

    /// How many bytes of terms may still come.
    pub(super) fn left(&self) -> usize {
        self.left
    }

    /// The refusal of what does not fit.
    pub(super) fn exceeded(&self) -> RdfError {
        RdfError::Unfolding { bytes: self.bytes, most: self.most }
    }

    /// Charges for a quad, or refuses it.
    pub(super) fn admit(&mut self, quad: Quad) -> Result<Quad, RdfError> {
        let graph = match &quad.graph_name {
            GraphName::NamedNode(name) => name.as_str().len(),
            GraphName::BlankNode(name) => name.as_str().len(),
            GraphName::DefaultGraph => 0,
        };
        let taken = graph + node(&quad.subject) + quad.predicate.as_str().len() + term(&quad.object);
        self.left = self.left.checked_sub(taken).ok_or_else(|| self.exceeded())?;
        Ok(quad)
    }
}

fn node(node: &NamedOrBlankNode) -> usize {
    match node {
        NamedOrBlankNode::NamedNode(node) => node.as_str().len(),
        NamedOrBlankNode::BlankNode(node) => node.as_str().len(),
    }
}

fn term(term: &Term) -> usize {
    match term {
        Term::NamedNode(node) => node.as_str().len(),
        Term::BlankNode(node) => node.as_str().len(),
        // A default language of JSON-LD is written once, too.
        Term::Literal(literal) => {
            literal.value().len() + literal.datatype().as_str().len() + literal.language().map_or(0, str::len)
        }
        Term::Triple(triple) => {
            let Triple { subject, predicate, object } = &**triple;
            node(subject) + predicate.as_str().len() + self::term(object)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::rdf::{RdfFormat, parse_rdf};

    /// A long namespace and many short names in it.
    fn turtle(namespace: usize, names: usize) -> String {
        let prefix = format!("@prefix p: <http://ex/{}> .\n", "n".repeat(namespace));
        prefix + &"p:a p:b p:c .\n".repeat(names)
    }

    #[test]
    fn a_small_text_that_unfolds_to_much_is_refused() {
        let text = turtle(40_000, 200);
        let error = parse_rdf(text.as_bytes(), RdfFormat::Turtle, None).expect_err("24 MB of terms");
        assert_eq!(error.code(), "limit.unfolding");
        assert!(parse_rdf(turtle(40, 20_000).as_bytes(), RdfFormat::Turtle, None).is_ok(), "an ordinary text is taken");
    }

    #[test]
    fn so_is_a_long_vocabulary_of_json_ld() {
        let values: Vec<String> = (0..600).map(|n| format!("{{\"k{n}\": 1}}")).collect();
        let vocabulary = format!("http://ex/{}", "v".repeat(60_000));
        let text = format!("{{\"@context\": {{\"@vocab\": \"{vocabulary}/\"}}, \"@graph\": [{}]}}", values.join(","));
        let error = parse_rdf(text.as_bytes(), RdfFormat::JsonLd, None).expect_err("36 MB of terms");
        assert_eq!(error.code(), "limit.unfolding");
    }
}
