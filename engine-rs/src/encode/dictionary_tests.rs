use super::*;
use oxrdf::vocab::xsd;
use oxrdf::{BaseDirection, Literal, NamedNode, NamedNodeRef};

fn typed(text: &str, datatype: NamedNodeRef<'_>) -> Term {
    Literal::new_typed_literal(text, datatype).into()
}

fn awkward_terms() -> Vec<Term> {
    let iri = NamedNode::new_unchecked("http://example.org/a");
    let mut terms: Vec<Term> = vec![
        iri.clone().into(),
        Literal::new_simple_literal("").into(),
        Literal::new_simple_literal("seven77").into(),
        Literal::new_simple_literal("eight888").into(),
        Literal::new_simple_literal("\0\0").into(),
        Literal::new_simple_literal("Ünï").into(),
        Literal::new_language_tagged_literal_unchecked("chat", "fr-BE").into(),
        Literal::new_directional_language_tagged_literal_unchecked("chat", "ar", BaseDirection::Rtl).into(),
        Triple::new(iri.clone(), iri.clone(), Literal::from(1)).into(),
        oxrdf::BlankNode::new_unchecked("b17").into(),
        oxrdf::BlankNode::new_unchecked("b017").into(),
        oxrdf::BlankNode::new_unchecked("node").into(),
    ];
    let integers = [
        "0",
        "-0",
        "+1",
        "01",
        "1",
        "-1",
        "288230376151711743",
        "144115188075855871",
        "144115188075855872",
        "-144115188075855868",
        "99999999999999999999999",
        "1.0",
        "x",
    ];
    for text in integers {
        for datatype in [xsd::INTEGER, xsd::INT, xsd::BYTE, xsd::UNSIGNED_BYTE, xsd::POSITIVE_INTEGER] {
            terms.push(typed(text, datatype));
        }
    }
    for text in [
        "NaN",
        "INF",
        "-INF",
        "+INF",
        "0",
        "-0",
        "-0.0",
        "0.0",
        "1.5",
        "1.50",
        "1.5E0",
        "0.1",
        "1e400",
        "5E-324",
        "20",
        "1E21",
        "123456.789",
    ] {
        for datatype in [xsd::DOUBLE, xsd::FLOAT, xsd::DECIMAL] {
            terms.push(typed(text, datatype));
        }
    }
    for text in ["1.000000000000000001", "-170141183460469231731.687303715884105728", "0.1", "1.", ".5", "100"] {
        terms.push(typed(text, xsd::DECIMAL));
    }
    for text in [
        "2013-01-01T15:11:48",
        "2013-01-01T15:11:48Z",
        "2013-01-01T15:11:48+00:00",
        "2013-01-01T15:11:48-05:00",
        "2013-01-01T24:00:00",
        "2013-01-01T15:11:48.250",
        "2013-01-01T15:11:48.2501",
        "-0044-03-15T00:00:00Z",
        "12013-01-01T00:00:00Z",
    ] {
        terms.push(typed(text, xsd::DATE_TIME));
    }
    for text in ["true", "false", "1", "0", "TRUE"] {
        terms.push(typed(text, xsd::BOOLEAN));
    }
    terms
}

#[test]
fn every_term_comes_back_in_its_exact_lexical_form() {
    let mut dictionary = Dictionary::new(1);
    let terms = awkward_terms();
    let ids: Vec<_> = terms.iter().map(|term| dictionary.intern(term.as_ref())).collect();
    for (term, id) in terms.iter().zip(&ids) {
        assert_eq!(&dictionary.term(*id), term);
        assert_eq!(dictionary.lookup(term.as_ref()), Some(*id));
    }
}

#[test]
fn different_terms_have_different_ids() {
    let mut dictionary = Dictionary::new(1);
    let terms = awkward_terms();
    for a in &terms {
        for b in &terms {
            assert_eq!(dictionary.intern(a.as_ref()) == dictionary.intern(b.as_ref()), a == b, "{a} {b}");
        }
    }
}

#[test]
fn a_swept_term_leaves_its_slot_and_a_pinned_one_stays() {
    let mut dictionary = Dictionary::new(1);
    let term = |n: u32| NamedNode::new_unchecked(format!("http://example.org/{n}"));
    let pinned = dictionary.intern_pinned(term(0).as_ref().into());
    dictionary.set_epoch(1);
    dictionary.intern(term(1).as_ref().into());
    dictionary.set_epoch(2);
    let kept = dictionary.intern(term(2).as_ref().into());
    dictionary.sweep(2, std::iter::empty());
    assert_eq!((dictionary.stream_terms(), dictionary.pinned_terms()), (1, 1));
    assert_eq!(dictionary.term(kept), term(2).into());
    assert_eq!(dictionary.term(pinned), term(0).into());
    dictionary.sweep(3, std::iter::once(kept));
    assert_eq!(dictionary.term(kept), term(2).into(), "a held term stays");
    dictionary.sweep(3, std::iter::empty());
    assert_eq!(dictionary.stream_terms(), 0);
}

#[test]
fn a_static_term_no_graph_has_goes_with_the_events_that_may_have_used_it() {
    let mut dictionary = Dictionary::new(1);
    let term = |n: u32| NamedNode::new_unchecked(format!("http://example.org/{n}"));
    let [gone, kept] = [0, 1].map(|n| dictionary.intern_static(term(n).as_ref().into()));
    dictionary.set_epoch(7);
    assert_eq!(dictionary.intern(term(0).as_ref().into()), gone);
    dictionary.sweep(100, std::iter::empty());
    assert_eq!((dictionary.stream_terms(), dictionary.pinned_terms()), (0, 2));
    dictionary.release_static(std::iter::once(kept));
    dictionary.sweep(7, std::iter::empty());
    assert_eq!(dictionary.term(gone), term(0).into(), "event 7 is still in a window");
    dictionary.sweep(8, std::iter::empty());
    assert_eq!((dictionary.stream_terms(), dictionary.pinned_terms()), (0, 1));
    assert_eq!(dictionary.term(kept), term(1).into());
}

#[test]
fn a_term_needs_little_room_beyond_its_text() {
    // The second number is the worst: one term more than a table of that size holds.
    for n_terms in [1_000, 57_345, 110_000] {
        let mut dictionary = Dictionary::new(1);
        let mut texts = 0;
        for number in 0..n_terms {
            let iri = format!("http://example.org/data/some/observation/{number:08}");
            texts += iri.len();
            dictionary.intern_raw(RawTerm::new(TermKind::IRI, &iri));
        }
        let Dictionary { slots, by_term, arena, .. } = &dictionary;
        let room = slots.capacity() * size_of::<Entry>() + by_term.allocation_size() + arena.capacity();
        let beyond = room.saturating_sub(texts) as f64 / f64::from(n_terms);
        assert!(beyond <= 30.0, "{beyond} bytes at {n_terms} terms");
    }
}

#[test]
fn a_triple_term_is_found_again_and_swept() {
    let node = NamedNode::new_unchecked("http://example.org/a");
    let triple = Term::from(Triple::new(node.clone(), node.clone(), Literal::new_simple_literal("a longer text")));
    let mut dictionary = Dictionary::new(1);
    dictionary.set_epoch(1);
    let id = dictionary.intern(triple.as_ref());
    assert_eq!((dictionary.intern(triple.as_ref()), dictionary.term(id)), (id, triple));
    dictionary.sweep(2, std::iter::empty());
    assert!(dictionary.triples.is_empty() && dictionary.stream_terms() == 0);
}
