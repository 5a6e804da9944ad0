//! Ordered structures against sorted lists, for all orders of arrivals and departures, and how much one value can
//! affect.

use super::extreme::Extreme;
use super::ordered_bag::OrderedBag;
use super::ranked::Ranked;
use super::tests::{Dice, anything};
use crate::codec::{Reader, Writer};
use crate::encode::Dictionary;
use crate::expr::compare_terms;
use crate::model::TermId;
use oxrdf::vocab::xsd;
use oxrdf::{Literal, NamedNode, Term};
use std::collections::VecDeque;

fn integer(value: usize) -> TermId {
    TermId::integer(value as i64).unwrap()
}

#[test]
fn ranks_in_a_large_bag_are_those_of_a_sorted_list() {
    let mut dictionary = Dictionary::new(1);
    let mut dice = Dice(5);
    let mut bag = OrderedBag::new(16);
    let mut sorted: Vec<i64> = Vec::new();
    for step in 0..6000 {
        let value = dice.roll(2000) as i64;
        let id = dictionary.intern(Literal::from(value).as_ref().into());
        let found = sorted.partition_point(|other| *other < value);
        if step > 3000 && sorted.get(found) == Some(&value) && dice.roll(10) < 9 {
            sorted.remove(found);
            bag.update(id, -1, &dictionary);
        } else if step < 5000 {
            sorted.insert(found, value);
            bag.update(id, 1, &dictionary);
        }
        if step % 100 == 0 {
            let read = |id: Option<TermId>| id.map(|id| dictionary.term(id));
            let term = |value: Option<&i64>| value.map(|value| Term::from(Literal::from(*value)));
            assert_eq!(bag.len(), sorted.len() as i64);
            assert_eq!(read(bag.first()), term(sorted.first()));
            assert_eq!(read(bag.last()), term(sorted.last()));
            let (height, longest) = bag.shape();
            assert!(height <= 4 && longest <= 16, "a path of {height} pieces of at most {longest}");
            for rank in (0..sorted.len()).step_by(37) {
                assert_eq!(read(bag.nth(rank as i64)), term(sorted.get(rank)));
            }
        }
    }
}

#[test]
fn a_path_grows_with_the_logarithm_of_the_values() {
    let dictionary = Dictionary::new(0);
    let mut bag = OrderedBag::new(64);
    let mut heights = Vec::new();
    for n in 0..200_000 {
        bag.update(integer(n * 7_919 % 200_003), 1, &dictionary);
        if [1_000, 200_000].contains(&(n + 1)) {
            let (height, longest) = bag.shape();
            assert!(longest <= 64);
            heights.push(height);
        }
    }
    assert!(heights[1] <= 2 * heights[0], "{heights:?} for 200 times as many values");
    (0..200_000).for_each(|n| bag.update(integer(n * 7_919 % 200_003), -1, &dictionary));
    assert_eq!((bag.shape(), bag.len(), bag.distinct()), ((1, 0), 0, 0));
}

#[test]
fn the_order_of_prefixes_is_that_of_terms() {
    let mut dictionary = Dictionary::new(3);
    let typed = |text: &str, datatype| Term::from(Literal::new_typed_literal(text, datatype));
    let moments =
        ["0001-01-01T00:00:00Z", "2026-11-18T07:00:00Z", "2026-11-18T07:00:00.001Z", "-99999-01-01T00:00:00Z"];
    let others = moments.map(|text| typed(text, xsd::DATE_TIME)).into_iter().chain([
        typed("2026-11-18", xsd::DATE),
        typed("07:00:00", xsd::TIME),
        typed("-P7000000000Y", xsd::DURATION),
        typed("P1D", xsd::DURATION),
        typed("9007199254740993", xsd::INTEGER),
        typed("9007199254740992.5", xsd::DECIMAL),
        NamedNode::new_unchecked("http://example.org/abc").into(),
        Literal::from("abcdefgh").into(),
        Literal::from("abcdefghi").into(),
        Literal::from("b").into(),
    ]);
    let terms: Vec<Term> = anything().into_iter().flatten().chain(others).collect();
    let ids: Vec<TermId> = terms.iter().map(|term| dictionary.intern(term.as_ref())).collect();
    for (a, b) in ids.iter().flat_map(|a| ids.iter().map(move |b| (*a, *b))) {
        let order = Ranked::of(a, &dictionary).order(&Ranked::of(b, &dictionary), &dictionary);
        assert_eq!(order, compare_terms(a, b, &dictionary), "{} {}", dictionary.term(a), dictionary.term(b));
    }
}

#[test]
fn values_that_leave_in_turn_are_never_put_in_order() {
    let dictionary = Dictionary::new(0);
    let mut dice = Dice(11);
    for greatest in [false, true] {
        let mut extreme = Extreme::new(greatest, 64);
        let mut present: VecDeque<usize> = VecDeque::new();
        for step in 0..20_000 {
            let value = dice.roll(1_000);
            present.push_back(value);
            extreme.update(integer(value), 1, &dictionary);
            if step >= 2_000 {
                // Two neighbours change places now and then, as after a late event.
                let late = usize::from(dice.roll(10) == 0);
                let gone = present.remove(late).expect("it is there");
                extreme.update(integer(gone), -1, &dictionary);
            }
            if step % 97 == 0 {
                let best = if greatest { present.iter().max() } else { present.iter().min() };
                assert_eq!(extreme.value(), best.map(|value| integer(*value)), "step {step}");
            }
        }
        assert!(extreme.is_in_turn());
    }
}

#[test]
fn values_that_leave_in_any_order_are_put_in_order_until_there_are_none() {
    let dictionary = Dictionary::new(0);
    let mut dice = Dice(12);
    let mut extreme = Extreme::new(true, 2);
    for round in 0..20 {
        let mut present: Vec<usize> = Vec::new();
        for _ in 0..300 {
            let (value, copies) = (dice.roll(50), 1 + dice.roll(3));
            present.extend(std::iter::repeat_n(value, copies));
            extreme.update(integer(value), copies as i64, &dictionary);
        }
        assert!(extreme.is_in_turn());
        // The last value to arrive is the first to leave.
        let mut was_put_in_order = false;
        while let Some(gone) = present.pop() {
            extreme.update(integer(gone), -1, &dictionary);
            was_put_in_order |= !extreme.is_in_turn();
            assert_eq!(extreme.value(), present.iter().max().map(|value| integer(*value)), "round {round}");
            assert_eq!(extreme.len(), present.len() as i64);
        }
        assert!(was_put_in_order && extreme.is_in_turn());
    }
}

#[test]
fn what_goes_before_it_has_come_is_made_good_by_what_comes() {
    let dictionary = Dictionary::new(0);
    let mut extreme = Extreme::new(false, 64);
    extreme.update(integer(3), 1, &dictionary);
    extreme.update(integer(1), -1, &dictionary);
    extreme.update(integer(1), 1, &dictionary);
    assert_eq!((extreme.value(), extreme.len()), (Some(integer(3)), 1));
}

#[test]
fn what_waits_in_turn_is_saved_as_it_waits() {
    let dictionary = Dictionary::new(0);
    let mut extreme = Extreme::new(false, 64);
    [2, 1, 2].into_iter().for_each(|value| extreme.update(integer(value), 1, &dictionary));
    // Two runs of one value meet.
    extreme.update(integer(1), -1, &dictionary);
    let saved = |extreme: &Extreme| {
        let mut to = Writer::default();
        extreme.save(&mut to);
        to.into_bytes()
    };
    let bytes = saved(&extreme);
    let mut restored = Extreme::new(false, 64);
    restored.restore(&mut Reader::new(&bytes), &dictionary).unwrap();
    assert_eq!(saved(&restored), bytes);
    assert_eq!((restored.value(), restored.len()), (Some(integer(2)), 2));
}
