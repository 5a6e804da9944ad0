//! The dictionary: terms that do not fit into an id, each with the time of its last use.
//!
//! Query constants are pinned. A stream term carries the sequence number of the last event that used
//! it; [`Dictionary::sweep`] frees the slots no window can reach, so a stream of ever-new IRIs runs
//! in flat memory. A freed slot is reused, which is safe because nobody holds its id any more: every
//! id in a window, an operator or a result was used at or after the oldest reachable event, or is
//! among those that are held.
//!
//! A term of static data stays until [`Dictionary::release_static`] finds that no graph has it any
//! more; then it is a stream term that the last event has used.

use super::inline;
use super::language::with_tags_in_form;
use super::placement::partition_of;
use crate::codec::{Decoded, Reader, Writer, ensure};
use crate::model::TermId;
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use oxrdf::{Term, TermRef, Triple};
use std::hash::BuildHasher;

const PINNED: u64 = u64::MAX;
/// Stays until no static graph has it; more than any event's number, less than pinned.
const STATIC: u64 = u64::MAX - 1;

#[derive(Debug)]
struct Entry {
    term: Term,
    last_use: u64,
}

#[derive(Debug)]
pub struct Dictionary {
    slots: Vec<Option<Entry>>,
    free: Vec<u32>,
    by_term: HashTable<u32>,
    hasher: FixedState,
    epoch: u64,
    /// Terms that are pinned or static.
    lasting: usize,
    next_blank: u64,
}

impl Dictionary {
    /// The seed protects against crafted collisions; it never shows in the output.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            by_term: HashTable::new(),
            hasher: FixedState::with_seed(seed),
            epoch: 0,
            lasting: 0,
            next_blank: 0,
        }
    }

    /// From now on, terms are used by the event with this sequence number.
    pub fn set_epoch(&mut self, event_seq: u64) {
        self.epoch = event_seq;
    }

    pub fn intern(&mut self, term: TermRef<'_>) -> TermId {
        self.intern_at(term, self.epoch)
    }

    /// Interns a term that stays for ever: a constant of a query.
    pub fn intern_pinned(&mut self, term: TermRef<'_>) -> TermId {
        self.intern_at(term, PINNED)
    }

    /// Interns a term of static data: it stays until [`Dictionary::release_static`].
    pub(crate) fn intern_static(&mut self, term: TermRef<'_>) -> TermId {
        self.intern_at(term, STATIC)
    }

    /// Static terms that are not `in_use` become stream terms, as if the last event had used them:
    /// that event, or an earlier one, may have, and windows may show it.
    pub(crate) fn release_static(&mut self, in_use: impl Iterator<Item = TermId>) {
        let is_used = self.marked(in_use);
        for (entry, is_used) in self.slots.iter_mut().zip(is_used) {
            if let Some(entry) = entry.as_mut().filter(|entry| entry.last_use == STATIC && !is_used) {
                entry.last_use = self.epoch;
                self.lasting -= 1;
            }
        }
    }

    /// The id of a term if it has one: inlined, or already in the dictionary.
    #[must_use]
    pub fn lookup(&self, term: TermRef<'_>) -> Option<TermId> {
        if let Some(term) = with_tags_in_form(term) {
            return self.lookup(term.as_ref());
        }
        if let Some(id) = inlined(term) {
            return Some(id);
        }
        let hash = self.hasher.hash_one(term);
        self.by_term.find(hash, |slot| self.is_term(*slot, term)).map(|slot| TermId::from_slot(*slot))
    }

    /// The term behind an id.
    ///
    /// # Panics
    /// When the id is unbound or was swept: an operator kept an id beyond its windows.
    #[must_use]
    pub fn term(&self, id: TermId) -> Term {
        inline::to_term(id).unwrap_or_else(|| self.stored(id).clone())
    }

    /// The term of an id that is not inlined, without copying it.
    pub(crate) fn stored(&self, id: TermId) -> &Term {
        let slot = id.slot().expect("the id is bound and not inlined");
        &self.slots[slot as usize].as_ref().expect("ids in use are not swept").term
    }

    /// The partition the term of an id belongs to.
    pub(crate) fn partition_of(&self, id: TermId, partitions: u32) -> u32 {
        match inline::to_term(id) {
            Some(term) => partition_of(term.as_ref(), partitions),
            None => partition_of(self.stored(id).as_ref(), partitions),
        }
    }

    #[must_use]
    pub fn is_iri(&self, id: TermId) -> bool {
        id.slot().is_some() && matches!(self.stored(id), Term::NamedNode(_))
    }

    #[must_use]
    pub fn is_blank(&self, id: TermId) -> bool {
        match id.inline_value() {
            Some(value) => matches!(value, inline::Inline::Blank(_)),
            None => matches!(self.stored(id), Term::BlankNode(_)),
        }
    }

    /// Whether these can be the terms of a triple.
    pub(crate) fn is_triple(&self, [s, p, o]: [TermId; 3]) -> bool {
        let bound = s.is_bound() && p.is_bound() && o.is_bound();
        bound && self.is_iri(p) && (self.is_iri(s) || self.is_blank(s))
    }

    /// The triple term of these terms, if they can make one.
    pub(crate) fn intern_triple(&mut self, parts: [TermId; 3]) -> Option<TermId> {
        if !self.is_triple(parts) {
            return None;
        }
        let [subject, predicate, object] = parts.map(|part| self.term(part));
        let triple = Triple::from_terms(subject, predicate, object).ok()?;
        Some(self.intern(Term::from(triple).as_ref()))
    }

    /// The text of a literal that other literals may equal in value; inlined ones are canonical.
    pub(crate) fn text_beyond_value(&self, id: TermId) -> Option<Box<str>> {
        match id.slot().map(|_| self.stored(id)) {
            Some(Term::Literal(literal)) => Some(literal.to_string().into()),
            _ => None,
        }
    }

    /// The event whose number is the epoch uses the term.
    pub(crate) fn use_again(&mut self, id: TermId) {
        if let Some(slot) = id.slot() {
            self.touch(slot, self.epoch);
        }
    }

    /// The number of the last blank node that was named here.
    pub(crate) fn blanks_so_far(&self) -> u64 {
        self.next_blank
    }

    /// A blank node no one has seen before.
    pub fn fresh_blank(&mut self) -> TermId {
        self.next_blank += 1;
        TermId::blank(self.next_blank)
    }

    /// Frees the terms last used before the oldest event any window can still reach, except those
    /// that are held elsewhere.
    pub fn sweep(&mut self, oldest_reachable: u64, held: impl Iterator<Item = TermId>) {
        for (slot, is_held) in self.marked(held).into_iter().enumerate() {
            let is_old = self.slots[slot].as_ref().is_some_and(|entry| entry.last_use < oldest_reachable);
            if is_old && !is_held {
                self.release(slot as u32);
            }
        }
        if self.by_term.is_empty() {
            self.slots = Vec::new();
            self.free = Vec::new();
        }
    }

    /// Gives back room of the table, where it has much more than its terms, or than this many, need.
    pub(crate) fn shrink(&mut self, terms_min: usize) {
        let Self { slots, by_term, hasher, .. } = self;
        if by_term.capacity() > 4 * by_term.len().max(terms_min) {
            by_term.shrink_to(2 * by_term.len(), |slot| hash_of(hasher, slots, *slot));
        }
    }

    /// For each slot, whether it is among these ids.
    fn marked(&self, ids: impl Iterator<Item = TermId>) -> Vec<bool> {
        let mut marks = vec![false; self.slots.len()];
        ids.filter_map(TermId::slot).for_each(|slot| marks[slot as usize] = true);
        marks
    }

    /// Terms that came with the streams and are still reachable.
    #[must_use]
    pub fn stream_terms(&self) -> usize {
        self.by_term.len() - self.lasting
    }

    /// Terms of queries and of static data.
    #[must_use]
    pub fn pinned_terms(&self) -> usize {
        self.lasting
    }

    /// Every slot as it is: ids mean the same after a restore, and so does the order they give.
    pub(crate) fn save(&self, to: &mut Writer) {
        // The epoch comes first: a restore reads it by itself.
        to.u64(self.epoch);
        to.u64(self.next_blank);
        to.list(self.slots.iter(), |to, slot| {
            to.option(slot.as_ref(), |to, entry| {
                to.u64(entry.last_use);
                to.term(&entry.term);
            });
        });
        to.list(self.free.iter(), |to, slot| to.u32(*slot));
    }

    /// The dictionary that was saved; tells the reader which ids there are.
    pub(crate) fn restored(seed: u64, from: &mut Reader<'_>) -> Decoded<Self> {
        let mut dictionary = Self::new(seed);
        dictionary.epoch = from.u64()?;
        dictionary.next_blank = from.u64()?;
        // A term is hashed while it is at hand.
        let mut hashes = Vec::new();
        dictionary.slots = from.long_list(1, |from| {
            let entry = from.option(|from| Ok(Entry { last_use: from.u64()?, term: from.term()? }))?;
            hashes.push(entry.as_ref().map_or(0, |entry| dictionary.hasher.hash_one(entry.term.as_ref())));
            Ok(entry)
        })?;
        ensure(u32::try_from(dictionary.slots.len()).is_ok(), "there are too many terms")?;
        dictionary.free = from.list(4, Reader::u32)?;
        let filled: Vec<bool> = dictionary.slots.iter().map(Option::is_some).collect();
        ensure(dictionary.free.iter().all(|slot| filled.get(*slot as usize) == Some(&false)), "a slot is not free")?;
        from.know_slots(filled);
        dictionary.index(&hashes);
        Ok(dictionary)
    }

    /// Makes the table of the terms there are.
    fn index(&mut self, hashes: &[u64]) {
        let Self { slots, by_term, .. } = self;
        let rehash = |slot: &u32| hashes[*slot as usize];
        by_term.reserve(slots.len(), rehash);
        for slot in (0..slots.len() as u32).filter(|slot| slots[*slot as usize].is_some()) {
            by_term.insert_unique(hashes[slot as usize], slot, rehash);
        }
        self.lasting = slots.iter().flatten().filter(|entry| entry.last_use >= STATIC).count();
    }

    /// Panics where the table, the free slots and the terms do not add up, or one of these ids has no term.
    pub(crate) fn check(&self, in_use: impl Iterator<Item = TermId>) {
        let filled = self.slots.iter().flatten().count();
        assert_eq!(self.by_term.len(), filled, "dictionary: a term is not in the table");
        assert_eq!(filled + self.free.len(), self.slots.len(), "dictionary: a slot is lost");
        let lasting = self.slots.iter().flatten().filter(|entry| entry.last_use >= STATIC).count();
        assert_eq!(self.lasting, lasting, "dictionary: the number of terms that stay");
        for slot in in_use.filter_map(TermId::slot) {
            assert!(self.slots[slot as usize].is_some(), "dictionary: a term in use was swept");
        }
    }

    /// Terms of all kinds.
    pub(crate) fn len(&self) -> usize {
        self.by_term.len()
    }

    fn intern_at(&mut self, term: TermRef<'_>, last_use: u64) -> TermId {
        if let Some(term) = with_tags_in_form(term) {
            return self.intern_at(term.as_ref(), last_use);
        }
        if let Some(id) = inlined(term) {
            return id;
        }
        let hash = self.hasher.hash_one(term);
        if let Some(slot) = self.by_term.find(hash, |slot| self.is_term(*slot, term)) {
            let slot = *slot;
            self.touch(slot, last_use);
            return TermId::from_slot(slot);
        }
        self.insert(term, hash, last_use)
    }

    fn touch(&mut self, slot: u32, last_use: u64) {
        let entry = self.slots[slot as usize].as_mut().expect("slots in the table are filled");
        if last_use >= STATIC && entry.last_use < STATIC {
            self.lasting += 1;
        }
        entry.last_use = entry.last_use.max(last_use);
    }

    fn insert(&mut self, term: TermRef<'_>, hash: u64, last_use: u64) -> TermId {
        let entry = Some(Entry { term: term.into_owned(), last_use });
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = entry;
                slot
            }
            None => {
                self.slots.push(entry);
                u32::try_from(self.slots.len() - 1).expect("fewer than 2³² terms at a time")
            }
        };
        if last_use >= STATIC {
            self.lasting += 1;
        }
        let Self { slots, by_term, hasher, .. } = self;
        by_term.insert_unique(hash, slot, |slot| hash_of(hasher, slots, *slot));
        TermId::from_slot(slot)
    }

    fn release(&mut self, slot: u32) {
        let hash = hash_of(&self.hasher, &self.slots, slot);
        if let Ok(entry) = self.by_term.find_entry(hash, |other| *other == slot) {
            entry.remove();
        }
        self.slots[slot as usize] = None;
        self.free.push(slot);
    }

    fn is_term(&self, slot: u32, term: TermRef<'_>) -> bool {
        self.slots[slot as usize].as_ref().is_some_and(|entry| entry.term.as_ref() == term)
    }
}

fn hash_of(hasher: &FixedState, slots: &[Option<Entry>], slot: u32) -> u64 {
    let entry = slots[slot as usize].as_ref().expect("slots in the table are filled");
    hasher.hash_one(entry.term.as_ref())
}

fn inlined(term: TermRef<'_>) -> Option<TermId> {
    match term {
        TermRef::Literal(literal) => inline::literal(literal),
        TermRef::BlankNode(node) => inline::blank_number(node.as_str()).map(TermId::blank),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
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
}
