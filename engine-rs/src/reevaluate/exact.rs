//! Terms at the boundary to spareval, which parses literals and drops their lexical form.
//!
//! A literal with a datatype that the evaluator parses crosses the boundary *sealed*: as a literal of an unknown
//! datatype that contains its datatype and text. The evaluator only passes such terms along; every function that reads
//! them is ours (`expressions.rs`) and opens them first.

use oxrdf::vocab::xsd;
use oxrdf::{Literal, NamedNode, NamedNodeRef, Term, Triple};

const SEALED: NamedNodeRef<'static> = NamedNodeRef::new_unchecked("urn:whorl:sealed");
/// Represents an unbound variable, or an expression without a value.
const NO_VALUE: NamedNodeRef<'static> = NamedNodeRef::new_unchecked("urn:whorl:no-value");
const XSD: &str = "http://www.w3.org/2001/XMLSchema#";

/// The term in a form that the evaluator does not modify.
pub(super) fn sealed(term: Term) -> Term {
    match term {
        Term::Literal(literal) if is_read(&literal) => {
            let text = format!("{} {}", literal.datatype().as_str(), literal.value());
            Literal::new_typed_literal(text, SEALED).into()
        }
        Term::Triple(triple) => of_object(*triple, sealed),
        other => other,
    }
}

/// The original of a sealed term.
pub(super) fn opened(term: Term) -> Term {
    match term {
        Term::Literal(literal) if literal.datatype() == SEALED => {
            let (datatype, text) = literal.value().split_once(' ').expect("sealed with its datatype");
            Literal::new_typed_literal(text, NamedNode::new_unchecked(datatype)).into()
        }
        Term::Triple(triple) => of_object(*triple, opened),
        other => other,
    }
}

pub(super) fn no_value() -> NamedNode {
    NO_VALUE.into_owned()
}

/// A term as an argument of our functions: `None` if there is none.
pub(super) fn argument(term: &Term) -> Option<Term> {
    match term {
        Term::NamedNode(node) if node.as_ref() == NO_VALUE => None,
        term => Some(opened(term.clone())),
    }
}

fn of_object(triple: Triple, change: fn(Term) -> Term) -> Term {
    Triple { object: change(triple.object), ..triple }.into()
}

fn is_read(literal: &Literal) -> bool {
    let datatype = literal.datatype();
    datatype == SEALED || (datatype != xsd::STRING && datatype.as_str().starts_with(XSD))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(text: &str, datatype: NamedNodeRef<'_>) -> Term {
        Literal::new_typed_literal(text, datatype).into()
    }

    #[test]
    fn a_sealed_term_passes_the_evaluator_and_opens_as_it_was() {
        let node = NamedNode::new_unchecked("http://ex/a");
        let number = typed("+01.50", xsd::DECIMAL);
        let nested = Triple::new(node.clone(), node.clone(), number.clone());
        for term in [number, typed("a b", SEALED), typed("", xsd::BOOLEAN), nested.into(), node.into()] {
            let carried = Term::from(spareval::ExpressionTerm::from(sealed(term.clone())));
            assert_eq!(opened(carried), term);
        }
    }
}
