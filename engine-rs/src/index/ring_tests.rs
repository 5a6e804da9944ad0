//! The ring store against a plain list, through random appends, renewals, expiries and removals.

use super::*;

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
        store.walk(index, probe, |slot| found.push(slot));
        assert_eq!(found, expected, "newest first, live ones only");
    }
}

#[test]
fn a_ring_store_behaves_like_a_list() {
    for seed in 1..60 {
        let mut random = Random(seed);
        let keys = 1 + random.below(8);
        let mut store = RingStore::new(2, Thresholds::default());
        let index = store.acquire_index(&[0]);
        let mut model = Model { rows: Vec::new() };
        for step in 0..400_i64 {
            match random.below(6) {
                0..=2 => {
                    let (key, value) = (random.below(keys), random.below(100));
                    let expiry = step - random.below(6) as i64;
                    let slot = store.append([id(key), id(value)].into_iter(), expiry);
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
                        model.rows.retain(|r| r.0 != slot);
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
        }
    }
}

#[test]
fn a_renewed_mapping_moves_to_the_end_instead_of_expiring() {
    let mut store = RingStore::new(1, Thresholds::default());
    let index = store.acquire_index(&[0]);
    let first = store.append([id(1)].into_iter(), 10);
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
        store.append([id(n % 5), id(n)].into_iter(), 0);
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
        store.append([id(n)].into_iter(), n as i64);
    }
    let full = store.bytes();
    for n in 100_000..300_000 {
        while let Some(slot) = store.next_expired(n as i64 - 10) {
            store.kill(slot);
        }
        store.append([id(n)].into_iter(), n as i64);
    }
    assert!(store.bytes() * 16 < full, "{} {full}", store.bytes());
}

#[test]
fn a_store_that_grows_leaves_what_is_there_where_it_is() {
    let mut store = RingStore::new(2, Thresholds { first_position: u32::MAX - 40, ..Thresholds::default() });
    let index = store.acquire_index(&[0]);
    let slots: Vec<SlotId> = (0..1000).map(|n| store.append([id(n % 7), id(n)].into_iter(), n as i64)).collect();
    assert!(store.array.n_segments() > 3, "each is larger than the one before");
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
        store.append([id(n % 7), id(n)].into_iter(), n as i64);
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
        slots.push_back(store.append([id(key)].into_iter(), 0));
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
        store.append([number(n)].into_iter(), 0);
    }
    let mut found = Vec::new();
    store.walk_range(RangeBound::AtLeast(number(3)), |slot| found.push(store.term(slot, 0)));
    assert_eq!(found, [number(3), number(4), number(5)]);
    let mut below = 0;
    store.walk_range(RangeBound::AtMost(number(-4)), |_| below += 1);
    assert_eq!(below, 2);
}

#[test]
fn a_store_expires_as_a_whole_when_its_last_mapping_does() {
    let mut store = RingStore::new(1, Thresholds::default());
    let index = store.acquire_index(&[0]);
    assert!(!store.expires_whole(i64::MAX), "nothing is there");
    let slots: Vec<_> = [3, 1, 2].into_iter().map(|key| store.append([id(7)].into_iter(), key)).collect();
    assert!(!store.expires_whole(3));
    assert!(store.expires_whole(4));
    store.renew(slots[1], 9);
    assert!(!store.expires_whole(9));
    assert!(store.expires_whole(10));
    store.clear();
    assert_eq!((store.live(), store.slots().count(), store.probe(index, |_| id(7)).count), (0, 0, 0));
    let again = store.append([id(7)].into_iter(), 4);
    assert_eq!(store.newest(index, store.probe(index, |_| id(7))), Some(again));
    assert!(store.expires_whole(5), "keys from before the clearing do not count");
}

#[test]
fn equal_mappings_that_go_newest_first_leave_no_longer_way_to_the_next() {
    let mut store = RingStore::new(2, Thresholds::default());
    let (one, both) = (store.acquire_index(&[0]), store.acquire_index(&[0, 1]));
    let slots: Vec<SlotId> = (0..40).map(|n| store.append([id(n % 2), id(7)].into_iter(), 0)).collect();
    for left in (1..20).rev() {
        let probe = store.probe(both, |column| [id(0), id(7)][column]);
        let newest = store.newest(both, probe).expect("some are left");
        assert_eq!((newest, probe.newest), (slots[2 * left], slots[2 * left]), "what is dead is passed over once");
        store.kill(newest);
        assert_eq!(store.walk(one, store.probe(one, |_| id(0)), |_| {}), 0);
    }
    // What goes from the middle is passed over, and said so.
    store.kill(slots[21]);
    assert_eq!(store.walk(one, store.probe(one, |_| id(1)), |_| {}), 1);
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
    let slot = store.append([float].into_iter(), 0);
    let mut found = Vec::new();
    store.walk_range(RangeBound::AtMost(decimal), |slot| found.push(slot));
    assert_eq!(found, [slot]);
}
