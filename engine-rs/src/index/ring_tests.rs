//! The ring store against a plain list, through random appends, renewals, expiries and removals.

use super::*;
use crate::codec::{Reader, Writer};

fn id(n: u64) -> TermId {
    TermId::from_bits(n + 1)
}

struct Model {
    rows: Vec<(SlotId, u64, u64, i64)>,
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n
    }
}

fn assert_same(store: &RingStore, model: &Model, index: IndexId, keys: u64) {
    assert_eq!(store.live(), model.rows.len());
    for key in 0..keys {
        let expected: Vec<_> = model.rows.iter().rev().filter(|r| r.1 == key).map(|r| r.0).collect();
        let probe = store.probe(index, |_| id(key));
        assert_eq!(probe.count as usize, expected.len(), "the counter is exact");
        let mut found = Vec::new();
        store.walk(index, probe, |slot, _| found.push(slot));
        assert_eq!(found, expected, "newest first, live ones only");
    }
}

fn at_least(term: TermId) -> ValueRange {
    ValueRange { at_least: Some(term), at_most: None }
}

fn at_most(term: TermId) -> ValueRange {
    ValueRange { at_least: None, at_most: Some(term) }
}

#[test]
fn a_ring_store_behaves_like_a_list() {
    for seed in 1..60 {
        let mut random = Random(seed);
        let keys = 1 + random.below(8);
        let mut store = RingStore::new(2, Thresholds::default());
        let index = store.acquire_index(&[0]);
        store.acquire_index(&[1, 0]);
        let mut model = Model { rows: Vec::new() };
        for step in 0..400_i64 {
            match random.below(6) {
                0..=2 => {
                    let (key, value) = (random.below(keys), random.below(100));
                    let expiry = step - random.below(6) as i64;
                    let slot = store.append(&[id(key), id(value)], expiry);
                    model.rows.push((slot, key, value, expiry));
                }
                3 if !model.rows.is_empty() => {
                    let gone = random.below(model.rows.len() as u64) as usize;
                    store.kill(model.rows.remove(gone).0);
                }
                4 => {
                    let bound = step - 10 + random.below(12) as i64;
                    let whole = !model.rows.is_empty() && model.rows.iter().all(|row| row.3 < bound);
                    assert!(!store.expires_whole(bound) || whole, "what is still there does not go");
                    if store.expires_whole(bound) {
                        store.clear();
                        model.rows.clear();
                    }
                    while let Some(slot) = store.next_expired(bound) {
                        store.kill(slot);
                        let at = model.rows.iter().position(|r| r.0 == slot).expect("a live row expired");
                        assert!(model.rows.remove(at).3 < bound, "what is not below the bound stays");
                    }
                    assert!(model.rows.iter().all(|r| r.3 >= bound), "everything below the bound went");
                }
                _ => {
                    if let Some(Moved { from, to }) = store.move_oldest_if_sparse() {
                        let at = model.rows.iter().position(|r| r.0 == from).expect("a live row moved");
                        let row = model.rows.remove(at);
                        model.rows.push((to, row.1, row.2, row.3));
                    }
                }
            }
            assert_same(&store, &model, index, keys);
            if step % 16 == 0 {
                store.check();
            }
        }
    }
}

#[test]
fn a_renewed_mapping_moves_to_the_end_instead_of_expiring() {
    let mut store = RingStore::new(1, Thresholds::default());
    let index = store.acquire_index(&[0]);
    let first = store.append(&[id(1)], 10);
    store.renew(first, 14);
    assert_eq!(store.next_expired(11), Some(first));
    let moved = store.move_if_renewed(first, 11).expect("renewed past the bound");
    assert_eq!(store.probe(index, |_| id(1)).count, 1);
    assert_eq!(store.next_expired(14), None);
    assert_eq!(moved.from, first);
    assert_eq!(store.next_expired(15), Some(moved.to));
    assert_eq!(store.move_if_renewed(moved.to, 15), None);
}

#[test]
fn an_index_made_late_sees_what_is_there_and_one_without_users_is_dropped() {
    let mut store = RingStore::new(2, Thresholds::default());
    for n in 0..100 {
        store.append(&[id(n % 5), id(n)], 0);
    }
    let index = store.acquire_index(&[0]);
    assert_eq!(store.probe(index, |_| id(3)).count, 20);
    assert_eq!(store.acquire_index(&[0]), index);
    store.release_index(index);
    assert_eq!(store.indexes().count(), 1);
    store.release_index(index);
    assert_eq!(store.indexes().count(), 0);
}

#[test]
fn the_array_shrinks_after_a_burst() {
    let mut store = RingStore::new(1, Thresholds::default());
    store.acquire_index(&[0]);
    for n in 0..100_000 {
        store.append(&[id(n)], n as i64);
    }
    let full = store.bytes();
    for n in 100_000..300_000 {
        while let Some(slot) = store.next_expired(n as i64 - 10) {
            store.kill(slot);
        }
        store.append(&[id(n)], n as i64);
    }
    assert!(store.bytes() * 16 < full, "{} {full}", store.bytes());
}

#[test]
fn a_store_that_grows_leaves_what_is_there_where_it_is() {
    let mut store = RingStore::new(2, Thresholds { first_position: u32::MAX - 40, ..Thresholds::default() });
    let index = store.acquire_index(&[0]);
    let slots: Vec<SlotId> = (0..1000).map(|n| store.append(&[id(n % 7), id(n)], n as i64)).collect();
    assert_eq!(store.array.n_segments(), 6, "each is twice as large as the one before");
    for (n, slot) in slots.iter().enumerate() {
        assert_eq!((store.term(*slot, 0), store.term(*slot, 1)), (id(n as u64 % 7), id(n as u64)));
    }
    store.renew(slots[3], 2000);
    assert_eq!(store.last_expiry_key(slots[3]), 2000);
    assert_eq!(store.probe(index, |_| id(6)).count, 142);
    for n in 1000..4000 {
        while let Some(slot) = store.next_expired(n as i64 - 999) {
            store.kill(slot);
        }
        store.append(&[id(n % 7), id(n)], n as i64);
    }
    assert_eq!((store.array.n_segments(), store.live()), (1, 1000), "a window of one size is one ring");
    store.check();
}

#[test]
fn every_key_is_found_while_keys_move_to_another_table() {
    let mut store = RingStore::new(1, Thresholds::default());
    let index = store.acquire_index(&[0]);
    let mut slots = std::collections::VecDeque::new();
    let counted = |store: &RingStore, keys: std::ops::Range<u64>| {
        keys.filter(|key| store.probe(index, |_| id(*key)).count == 1).count()
    };
    for key in 0..700 {
        slots.push_back(store.append(&[id(key)], 0));
        assert_eq!(counted(&store, 0..key + 2), key as usize + 1);
    }
    for key in 0..700 {
        slots.pop_front().into_iter().for_each(|slot| store.kill(slot));
        assert_eq!(counted(&store, 0..700), 699 - key as usize);
        store.check();
    }
}

#[test]
fn a_range_walk_gives_every_number_in_the_range() {
    let mut store = RingStore::new(1, Thresholds::default());
    store.acquire_order(0);
    let number = |n: i64| TermId::integer(n).expect("small");
    for n in -5..=5 {
        store.append(&[number(n)], 0);
    }
    let mut found = Vec::new();
    store.walk_range(at_least(number(3)), |slot| found.push(store.term(slot, 0)));
    assert_eq!(found, [number(3), number(4), number(5)]);
    let mut below = 0;
    store.walk_range(at_most(number(-4)), |_| below += 1);
    assert_eq!(below, 2);
}

#[test]
fn a_store_expires_as_a_whole_when_its_last_mapping_does() {
    let mut store = RingStore::new(1, Thresholds::default());
    let index = store.acquire_index(&[0]);
    assert!(!store.expires_whole(i64::MAX), "nothing is there");
    let slots: Vec<_> = [3, 1, 2].into_iter().map(|key| store.append(&[id(7)], key)).collect();
    assert!(!store.expires_whole(3));
    assert!(store.expires_whole(4));
    store.renew(slots[1], 9);
    assert!(!store.expires_whole(9));
    assert!(store.expires_whole(10));
    store.clear();
    assert_eq!((store.live(), store.slots().count(), store.probe(index, |_| id(7)).count), (0, 0, 0));
    let again = store.append(&[id(7)], 4);
    assert_eq!(store.newest(index, store.probe(index, |_| id(7))), Some(again));
    assert!(store.expires_whole(5), "keys from before the clearing do not count");
}

#[test]
fn equal_mappings_that_go_newest_first_leave_no_longer_way_to_the_next() {
    let mut store = RingStore::new(2, Thresholds::default());
    let (one, both) = (store.acquire_index(&[0]), store.acquire_index(&[0, 1]));
    let slots: Vec<SlotId> = (0..40).map(|n| store.append(&[id(n % 2), id(7)], 0)).collect();
    for left in (1..20).rev() {
        let probe = store.probe(both, |column| [id(0), id(7)][column]);
        let newest = store.newest(both, probe).expect("some are left");
        assert_eq!((newest, probe.newest), (slots[2 * left], slots[2 * left]), "what is dead is passed over once");
        store.kill(newest);
        assert_eq!(store.walk(one, store.probe(one, |_| id(0)), |_, _| {}), 0);
    }
    // Mappings that left from the middle are skipped, and the skipping is counted.
    store.kill(slots[21]);
    assert_eq!(store.walk(one, store.probe(one, |_| id(1)), |_, _| {}), 1);
}

#[test]
fn a_mapping_renewed_to_a_key_that_has_passed_is_not_moved() {
    let mut store = RingStore::new(1, Thresholds::default());
    let slot = store.append(&[id(1)], 10);
    store.renew(slot, 12);
    assert_eq!(store.move_if_renewed(slot, 13), None);
    assert!(store.move_if_renewed(slot, 12).is_some());
}

#[test]
fn mappings_before_the_epoch_are_renewed_too() {
    let mut store = RingStore::new(1, Thresholds::default());
    let slot = store.append(&[id(1)], -10);
    store.renew(slot, -5);
    assert_eq!(store.last_expiry_key(slot), -5);
    assert!(store.expires_whole(-4) && !store.expires_whole(-5));
}

#[test]
fn only_a_store_with_renewals_has_room_for_them() {
    let mut store = RingStore::new(1, Thresholds::default());
    let slot = store.append(&[id(1)], 1);
    let without = store.bytes();
    store.renew(slot, 2);
    assert_eq!((without, store.bytes()), (16 * 2 * 8, 16 * 3 * 8));
}

#[test]
fn mappings_with_equal_keys_are_no_stragglers() {
    let mut store = RingStore::new(1, Thresholds::default());
    for key in [4, 4, 3] {
        store.append(&[id(1)], key);
    }
    assert_eq!(store.stragglers.len(), 1);
    assert_eq!(store.first_key(), Some(3));
}

/// The slot of a removed straggler is reused by a mapping with the same expiry key.
#[test]
fn a_straggler_that_has_gone_is_not_taken_for_the_mapping_in_its_place() {
    let mut store = RingStore::new(1, Thresholds { ring_slots_min: 2, ..Thresholds::default() });
    let first = store.append(&[id(1)], 9);
    let straggler = store.append(&[id(2)], 5);
    store.kill(first);
    let late = store.append(&[id(3)], 9);
    store.kill(straggler);
    let in_its_place = store.append(&[id(4)], 5);
    assert_eq!(in_its_place.0, straggler.0 + 2);
    assert_eq!(store.next_expired(6), Some(in_its_place));
    store.kill(in_its_place);
    assert_eq!((store.next_expired(6), store.next_expired(10)), (None, Some(late)));
}

#[test]
fn mappings_that_go_out_of_order_leave_at_most_the_gaps_allowed() {
    let mut store = RingStore::new(1, Thresholds { ring_gaps_max: 3, ..Thresholds::default() });
    let oldest = store.append(&[id(0)], 0);
    let more: Vec<_> = (1..4).map(|n| store.append(&[id(n)], 0)).collect();
    // Seven slots for two live mappings is the maximum.
    let others: Vec<_> = (4..7).map(|n| store.append(&[id(n)], 0)).collect();
    more.iter().chain(&others[..2]).for_each(|slot| store.kill(*slot));
    assert_eq!((store.used(), store.live(), store.move_oldest_if_sparse()), (7, 2, None));
    let next = store.append(&[id(7)], 0);
    store.kill(next);
    let moved = store.move_oldest_if_sparse().expect("eight are too many");
    assert_eq!((moved.from, store.used(), store.oldest()), (oldest, 3, others[2]));
    assert_eq!(store.move_oldest_if_sparse(), None);
    store.clear();
    assert_eq!(store.move_oldest_if_sparse(), None, "an empty store has nothing to move");
}

/// Both keys have the same hash: `mix(a) ^ b` is that of `mix(c) ^ d`.
#[test]
fn two_keys_with_one_hash_are_two_keys() {
    use crate::index::table::mix;
    let mut store = RingStore::new(2, Thresholds::default());
    let index = store.acquire_index(&[0, 1]);
    let (a, b, c) = (1, 2, 3);
    let d = mix(a) ^ b ^ mix(c);
    let keys = [[a, b].map(TermId::from_bits), [c, d].map(TermId::from_bits)];
    let slots = keys.map(|key| store.append(&key, 0));
    store.append(&keys[1], 0);
    let count = |store: &RingStore, n: usize| store.probe(index, |i| keys[n][i]).count;
    assert_eq!((count(&store, 0), count(&store, 1)), (1, 2));
    store.kill(slots[0]);
    assert_eq!((count(&store, 0), count(&store, 1)), (0, 2));
    store.check();
}

#[test]
fn a_store_has_one_order() {
    let mut store = RingStore::new(3, Thresholds::default());
    assert_eq!(store.ordered_on(), None);
    assert!(store.acquire_order(2) && store.acquire_order(2) && !store.acquire_order(0) && !store.acquire_order(1));
    assert_eq!(store.ordered_on(), Some(2));
    store.append(&[id(1), id(2), id(3)], 0);
    store.clear();
    store.walk_range(at_least(id(0)), |_| panic!("what was cleared is not walked"));
}

/// A recount that never fails would make every test that relies on one worthless.
#[test]
fn a_recount_sees_what_is_broken() {
    type Break = fn(&mut RingStore);
    let breaks: [(&str, Break); 9] = [
        ("ring: the number of live mappings", |store| store.live += 1),
        ("ring: the oldest slot is dead", |store| {
            let front = store.oldest();
            store.array.set_expiry_key(front, DEAD);
            store.live -= 1;
        }),
        ("ring: a straggler would never expire", |store| store.stragglers.clear()),
        ("ring: a key is greater than the greatest", |store| store.greatest_key = 6),
        ("ring: a key is greater than the greatest", |store| store.greatest_renewal = 8),
        ("keyed index: the counter of a key", |store| {
            store.indexes[1].as_mut().expect("it is there").clear();
        }),
        ("keyed index: the chain of a key", |store| {
            let newest = SlotId(store.head - 1);
            store.array.set_link(newest, 0, 1);
        }),
        ("ordered index: the number of mappings", |store| {
            store.ordered.as_mut().expect("it is there").clear();
        }),
        ("ordered index: a mapping is missing", |store| {
            let (newest, ordered) = (SlotId(store.head - 1), store.ordered.as_mut().expect("it is there"));
            ordered.remove(&store.array, newest);
            ordered.insert(&store.array, SlotId(store.head));
        }),
    ];
    for (message, broken) in breaks {
        let mut store = RingStore::new(2, Thresholds::default());
        store.acquire_index(&[0]);
        store.acquire_index(&[1]);
        store.acquire_order(1);
        for (n, key) in [5, 7, 6, 7].into_iter().enumerate() {
            let number = TermId::integer(n as i64).expect("small");
            store.append(&[id(n as u64 % 2 * 3), number], key);
        }
        store.renew(SlotId(1), 9);
        store.check();
        broken(&mut store);
        let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| store.check()));
        let panic = panic.expect_err(message);
        let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
        assert!(text.is_some_and(|text| text.contains(message)), "{text:?} is not about: {message}");
    }
}

#[test]
fn a_range_walk_leaves_out_decimals_and_doubles_beyond_it() {
    let mut dictionary = crate::encode::Dictionary::new(1);
    let mut decimal =
        |text| dictionary.intern(oxrdf::LiteralRef::new_typed_literal(text, oxrdf::vocab::xsd::DECIMAL).into());
    let double = |value| TermId::double(value).expect("few bits");
    let terms = [double(-0.0), decimal("0.5"), decimal("-0.5"), double(-2.5), double(2.5)];
    let mut store = RingStore::new(1, Thresholds::default());
    store.acquire_order(0);
    for term in terms {
        store.append(&[term], 0);
    }
    let walk = |bound| {
        let mut found = Vec::new();
        store.walk_range(bound, |slot| found.push(slot.0));
        found
    };
    let zero = TermId::integer(0).expect("small");
    assert_eq!(walk(at_least(zero)), [0, 1, 4], "-0.0 is not below zero");
    assert_eq!(walk(at_most(zero)), [3, 2, 0]);
}

/// `0.1` and `"0.1"^^xsd:float` are equal in SPARQL, although the float is greater as a double.
#[test]
fn a_range_walk_leaves_no_float_out() {
    let mut dictionary = crate::encode::Dictionary::new(1);
    let mut literal = |text: &str, datatype| {
        let literal = oxrdf::LiteralRef::new_typed_literal(text, datatype);
        dictionary.intern(literal.into())
    };
    let (float, decimal) = (literal("0.1", oxrdf::vocab::xsd::FLOAT), literal("0.1", oxrdf::vocab::xsd::DECIMAL));
    let mut store = RingStore::new(1, Thresholds::default());
    store.acquire_order(0);
    let slot = store.append(&[float], 0);
    let mut found = Vec::new();
    store.walk_range(at_most(decimal), |slot| found.push(slot));
    assert_eq!(found, [slot]);
}

#[test]
fn a_slot_is_present_until_the_one_behind_the_last() {
    let mut store = RingStore::new(1, Thresholds { first_position: u32::MAX, ..Thresholds::default() });
    let slots: Vec<SlotId> = (0..3).map(|key| store.append(&[TermId::UNBOUND], key)).collect();
    store.kill(slots[0]);
    let is_present = |slot: u32| store.is_present(SlotId(slot));
    assert_eq!([u32::MAX, 0, 1, 2].map(is_present), [false, true, true, false]);
}

#[test]
fn mappings_move_once_dead_slots_outnumber_live_ones() {
    let mut store = RingStore::new(1, Thresholds { ring_gaps_max: 0, ..Thresholds::default() });
    let slots: Vec<SlotId> = (0..8).map(|_| store.append(&[TermId::UNBOUND], 0)).collect();
    slots[1..5].iter().for_each(|slot| store.kill(*slot));
    assert_eq!(store.move_oldest_if_sparse(), None, "four of eight are live");
    store.kill(slots[5]);
    assert!(store.move_oldest_if_sparse().is_some(), "three of eight are");
}

#[test]
#[should_panic(expected = "keyed index: the chain of a key is shorter than its counter")]
fn a_chain_that_ends_too_early_is_named() {
    let mut store = RingStore::new(1, Thresholds::default());
    let index = store.acquire_index(&[0]);
    for _ in 0..2 {
        store.append(&[TermId::UNBOUND], 0);
    }
    let newest = store.newest(index, store.probe(index, |_| TermId::UNBOUND)).expect("two");
    store.array.set_link(newest, 0, 0);
    store.walk(index, store.probe(index, |_| TermId::UNBOUND), |_, _| {});
}

#[test]
#[should_panic(expected = "ring: a mapping is read that is not kept any more")]
fn a_mapping_that_is_not_kept_is_not_read() {
    let mut store = RingStore::new(1, Thresholds { ring_slots_min: 1, ring_shrink_min: 1, ..Thresholds::default() });
    let slots: Vec<SlotId> = (0..4).map(|key| store.append(&[TermId::UNBOUND], key)).collect();
    store.kill(slots[0]);
    let _ = store.row(slots[0]).count();
}

#[test]
fn a_store_with_a_straggler_that_is_not_there_is_refused() {
    let mut store = RingStore::new(1, Thresholds::default());
    store.append(&[TermId::UNBOUND], 5);
    let straggler = store.append(&[TermId::UNBOUND], 3);
    let restored = |store: &RingStore| {
        let mut bytes = Writer::default();
        store.save(&mut bytes);
        let mut bytes = bytes.into_bytes();
        let at = bytes.len() - 4;
        (bytes.clone(), {
            bytes[at..].copy_from_slice(&(straggler.0 + 1).to_le_bytes());
            bytes
        })
    };
    let (whole, damaged) = restored(&store);
    let read = |bytes: &[u8]| RingStore::new(1, Thresholds::default()).restore(&mut Reader::new(bytes));
    assert!(read(&whole).is_ok());
    assert!(read(&damaged).is_err(), "it names a slot behind the last");
}
