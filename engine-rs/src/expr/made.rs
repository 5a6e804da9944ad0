//! Terms that pass through an expression unchanged, so that the result keeps its lexical form.
//!
//! A value does not remember how it was written (`value.rs`). Variables, constants, what IF and COALESCE choose among
//! them, the results of STRDT and the components of triple terms are terms instead: they become ids without being
//! parsed.

use super::node::{Node, Scope};
use super::text::{MadeTerm, Text};
use super::value::Value;
use crate::encode::Dictionary;
use crate::model::TermId;
use oxrdf::vocab::{rdf, xsd};
use oxrdf::{Literal, NamedNode, NamedOrBlankNode, Term, Triple};

/// Functions whose result is a term and not only a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Maker {
    StrDt,
    Triple,
    Subject,
    Predicate,
    Object,
}

impl Node {
    /// Whether the result may be a term that is passed through with its own text and datatype.
    pub(super) fn passes_terms(&self) -> bool {
        match self {
            Self::Constant { .. } | Self::Column(_) | Self::Unbound | Self::Make(..) | Self::Derived(..) => true,
            Self::Coalesce(choices) => choices.iter().any(Self::passes_terms),
            Self::If(branches) => branches.1.passes_terms() || branches.2.passes_terms(),
            _ => false,
        }
    }

    /// The result as a term: passed through if possible, otherwise the value in canonical form.
    pub(super) fn made<'v>(&'v self, row: &[TermId], scope: &mut Scope<'v, '_>) -> Option<MadeTerm> {
        match self {
            Self::Constant { id, .. } => Some(MadeTerm::Id(*id)),
            Self::Column(column) => Some(row[*column]).filter(|id| id.is_bound()).map(MadeTerm::Id),
            Self::Coalesce(choices) => choices.iter().find_map(|choice| choice.made(row, scope)),
            Self::If(branches) => {
                let branch = if branches.0.truth(row, scope)? { &branches.1 } else { &branches.2 };
                branch.made(row, scope)
            }
            Self::Make(maker, arguments) => {
                let mut terms = Vec::with_capacity(arguments.len());
                for argument in arguments {
                    terms.push(argument.made(row, scope)?.into_term(scope.dictionary));
                }
                make(*maker, terms).map(MadeTerm::Term)
            }
            Self::Derived(derived, inner) => {
                let value = derived.cast(inner.value(row, scope)?)?;
                Some(MadeTerm::Term(derived.literal(value).into()))
            }
            other => Some(other.value(row, scope)?.into_made()),
        }
    }
}

fn make(maker: Maker, terms: Vec<Term>) -> Option<Term> {
    let mut terms = terms.into_iter();
    let mut next = || terms.next();
    match maker {
        Maker::StrDt => match (next()?, next()?) {
            (Term::Literal(text), Term::NamedNode(datatype)) => typed(&text, datatype),
            _ => None,
        },
        Maker::Triple => {
            let (subject, predicate, object) = (node(next()?)?, iri(next()?)?, next()?);
            Some(Triple { subject, predicate, object }.into())
        }
        Maker::Subject => triple(next()?).map(|triple| triple.subject.into()),
        Maker::Predicate => triple(next()?).map(|triple| triple.predicate.into()),
        Maker::Object => triple(next()?).map(|triple| triple.object),
    }
}

/// Only a plain string can become a literal of another datatype, and never one that requires a language.
fn typed(text: &Literal, datatype: NamedNode) -> Option<Term> {
    let is_plain = text.datatype() == xsd::STRING;
    (is_plain && !needs_language(datatype.as_str())).then(|| Literal::new_typed_literal(text.value(), datatype).into())
}

pub(super) fn needs_language(datatype: &str) -> bool {
    [rdf::LANG_STRING, rdf::DIR_LANG_STRING].iter().any(|tagged| tagged.as_str() == datatype)
}

fn node(term: Term) -> Option<NamedOrBlankNode> {
    match term {
        Term::NamedNode(node) => Some(node.into()),
        Term::BlankNode(node) => Some(node.into()),
        _ => None,
    }
}

fn iri(term: Term) -> Option<NamedNode> {
    match term {
        Term::NamedNode(node) => Some(node),
        _ => None,
    }
}

fn triple(term: Term) -> Option<Triple> {
    match term {
        Term::Triple(triple) => Some(*triple),
        _ => None,
    }
}

/// `STR`: the lexical form as written.
pub(super) fn str_of(made: MadeTerm, dictionary: &Dictionary) -> Option<Value<'_>> {
    match made {
        MadeTerm::Id(id) => super::terms::str_of(id, dictionary),
        MadeTerm::Term(Term::NamedNode(node)) => Some(string(node.into_string())),
        MadeTerm::Term(Term::Literal(literal)) => Some(string(literal.destruct().0)),
        MadeTerm::Term(_) => None,
    }
}

/// `DATATYPE`, which may be narrower than that of the value.
pub(super) fn datatype_of(made: MadeTerm, dictionary: &Dictionary) -> Option<Value<'_>> {
    match made {
        MadeTerm::Id(id) => super::terms::datatype_of(id, dictionary),
        MadeTerm::Term(Term::Literal(literal)) => Some(Value::Iri(Text::Owned(literal.datatype().as_str().to_owned()))),
        MadeTerm::Term(_) => None,
    }
}

fn string(text: String) -> Value<'static> {
    Value::String(Text::Owned(text))
}

impl MadeTerm {
    fn into_term(self, dictionary: &Dictionary) -> Term {
        match self {
            Self::Id(id) => dictionary.term(id),
            Self::Term(term) => term,
        }
    }

    /// Whether both terms would have the same id.
    pub(super) fn is_same(&self, other: &Self, dictionary: &Dictionary) -> bool {
        let id = |made: &Self| match made {
            Self::Id(id) => Some(*id),
            Self::Term(term) => dictionary.lookup(term.as_ref()),
        };
        match (self, other) {
            (Self::Term(a), Self::Term(b)) => a == b,
            _ => id(self) == id(other),
        }
    }
}
