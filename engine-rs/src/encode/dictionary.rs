//! The dictionary: terms that do not fit into an id, each with the time of its last use.
//!
//! Terms are texts in an arena (`arena.rs`), found by one hash of their bytes; looking up a known term allocates nothing.
//! Query constants are pinned. A stream term carries the sequence number of the last event that used
//! it; [`Dictionary::sweep`] frees the slots no window can reach, so a stream of ever-new IRIs runs
//! in flat memory. A freed slot is reused, which is safe because its id is no longer held anywhere: every
//! id in a window, an operator or a result was used at or after the oldest reachable event, or is
//! among those that are held.
//!
//! A term of static data stays until [`Dictionary::release_static`] finds that no graph contains it any
//! more; then it becomes a stream term last used by the newest event.

use super::arena::Arena;
use super::entry::{Entry, PINNED, STATIC, as_saved, from_saved};
use super::inline;
use super::language::with_tags_in_form;
use super::placement::partition_of;
use super::raw::{RawTerm, TermKind};
use crate::codec::{Decoded, Reader, Writer, ensure};
use crate::model::TermId;
use crate::rare::Rare;
use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashTable};
use oxrdf::{Term, TermRef, Triple};
use std::hash::{BuildHasher, Hasher};

#[derive(Debug)]
pub struct Dictionary {
    slots: Vec<Entry>,
    free: Vec<u32>,
    by_term: HashTable<u32>,
    arena: Arena,
    /// The triple terms among the slots, for operators that read their components.
    triples: HashMap<u32, Box<Term>, FixedState>,
    hasher: FixedState,
    epoch: u64,
    /// Terms that are pinned or static.
    lasting: usize,
    next_blank: u64,
}

impl Dictionary {
    /// The seed protects against crafted collisions; it never affects the output.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            by_term: HashTable::new(),
            arena: Arena::new(usize::MAX),
            triples: HashMap::default(),
            hasher: FixedState::with_seed(seed),
            epoch: 0,
            lasting: 0,
            next_blank: 0,
        }
    }

    /// An empty dictionary whose arena has chunks of this many bytes.
    #[must_use]
    pub(crate) fn in_chunks_of(self, bytes: usize) -> Self {
        debug_assert!(self.slots.is_empty(), "texts stay in the chunks they are in");
        Self { arena: Arena::new(bytes), ..self }
    }

    /// Hashes what senders choose: under the seed of this dictionary.
    pub(crate) fn hasher(&self) -> FixedState {
        self.hasher.clone()
    }

    /// From now on, terms are used by the event with this sequence number.
    pub fn set_epoch(&mut self, event_seq: u64) {
        self.epoch = event_seq;
    }

    pub fn intern(&mut self, term: TermRef<'_>) -> TermId {
        self.intern_at(term, self.epoch)
    }

    /// Interns a term that is never freed: a constant of a query.
    pub fn intern_pinned(&mut self, term: TermRef<'_>) -> TermId {
        self.intern_at(term, PINNED)
    }

    /// Interns a term of static data: it stays until [`Dictionary::release_static`].
    pub(crate) fn intern_static(&mut self, term: TermRef<'_>) -> TermId {
        self.intern_at(term, STATIC)
    }

    /// Turns static terms that are not `in_use` into stream terms last used by the newest event: an event that is still
    /// in a window may contain them.
    pub(crate) fn release_static(&mut self, in_use: impl Iterator<Item = TermId>) {
        let is_used = self.marked(in_use);
        for (entry, is_used) in self.slots.iter_mut().zip(is_used) {
            if entry.last_use() == STATIC && !is_used {
                entry.set_last_use(self.epoch);
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
        self.lookup_raw(RawTerm::of(term, &mut String::new()))
    }

    /// The same for a term as text; its language tag must be normalised.
    #[inline]
    pub(crate) fn lookup_raw(&self, term: RawTerm<'_>) -> Option<TermId> {
        inline::of_raw(term).or_else(|| self.find(term, self.hash(term)).map(TermId::from_slot))
    }

    /// Interns a term of static data as text; it must not be a triple, and its language tag must be normalised.
    pub(crate) fn intern_static_raw(&mut self, term: RawTerm<'_>) -> TermId {
        inline::of_raw(term).unwrap_or_else(|| self.intern_text(term, STATIC))
    }

    /// Interns a term as text; it must not be a triple, and its language tag must be normalised.
    #[inline]
    pub(crate) fn intern_raw(&mut self, term: RawTerm<'_>) -> TermId {
        inline::of_raw(term).unwrap_or_else(|| self.intern_text(term, self.epoch))
    }

    /// The same for a number that is known not to fit into an id.
    pub(crate) fn intern_long_number(&mut self, term: RawTerm<'_>) -> TermId {
        debug_assert!(inline::of_raw(term).is_none(), "dictionary: a number that fits into an id is stored");
        self.intern_text(term, self.epoch)
    }

    /// The term behind an id.
    ///
    /// # Panics
    /// When the id is unbound or was swept: an operator kept an id beyond its windows.
    #[must_use]
    pub fn term(&self, id: TermId) -> Term {
        inline::inlined_term(id).unwrap_or_else(|| self.stored(id).into_owned())
    }

    /// The term of an id that is not inlined, without copying it.
    pub(crate) fn stored(&self, id: TermId) -> TermRef<'_> {
        let slot = id.slot().expect("the id is bound and not inlined");
        self.term_in(slot)
    }

    /// The text of the term of an id that is not inlined.
    pub(crate) fn stored_raw(&self, id: TermId) -> RawTerm<'_> {
        let slot = id.slot().expect("the id is bound and not inlined");
        self.arena.get(self.entry(slot).place())
    }

    fn term_in(&self, slot: u32) -> TermRef<'_> {
        let raw = self.arena.get(self.entry(slot).place());
        raw.to_term().unwrap_or_else(|| self.triples[&slot].as_ref().as_ref())
    }

    fn entry(&self, slot: u32) -> Entry {
        let entry = self.slots[slot as usize];
        assert!(entry.is_filled(), "ids in use are not swept");
        entry
    }

    fn kind(&self, slot: u32) -> TermKind {
        self.arena.kind(self.entry(slot).place())
    }

    /// The partition the term of an id belongs to.
    pub(crate) fn partition_of(&self, id: TermId, partitions: u32) -> u32 {
        match inline::inlined_term(id) {
            Some(term) => partition_of(term.as_ref(), partitions),
            None => partition_of(self.stored(id), partitions),
        }
    }

    #[must_use]
    pub fn is_iri(&self, id: TermId) -> bool {
        id.slot().is_some_and(|slot| self.kind(slot) == TermKind::IRI)
    }

    #[must_use]
    pub fn is_blank(&self, id: TermId) -> bool {
        match id.slot() {
            Some(slot) => self.kind(slot) == TermKind::BLANK,
            None => id.blank_number().is_some(),
        }
    }

    /// Whether these terms can form a triple.
    pub(crate) fn is_triple(&self, [s, p, o]: [TermId; 3]) -> bool {
        let bound = s.is_bound() && p.is_bound() && o.is_bound();
        bound && self.is_iri(p) && (self.is_iri(s) || self.is_blank(s))
    }

    /// The triple term with these components, if they can form one.
    pub(crate) fn intern_triple(&mut self, parts: [TermId; 3]) -> Option<TermId> {
        if !self.is_triple(parts) {
            return None;
        }
        let [subject, predicate, object] = parts.map(|part| self.term(part));
        let triple = Triple::from_terms(subject, predicate, object).ok()?;
        Some(self.intern(Term::from(triple).as_ref()))
    }

    /// Marks the term as used by the current event, whose number is the epoch.
    pub(crate) fn use_again(&mut self, id: TermId) {
        if let Some(slot) = id.slot() {
            self.touch(slot, self.epoch);
        }
    }

    /// The number of the last blank node that the dictionary created.
    pub(crate) fn blanks_so_far(&self) -> u64 {
        self.next_blank
    }

    /// A fresh blank node.
    pub fn fresh_blank(&mut self) -> TermId {
        self.next_blank += 1;
        TermId::blank(self.next_blank)
    }

    /// Frees the terms last used before the oldest event any window can still reach, except those
    /// that are held elsewhere.
    pub fn sweep(&mut self, oldest_reachable: u64, held: impl Iterator<Item = TermId>) {
        for (slot, is_held) in self.marked(held).into_iter().enumerate() {
            let entry = self.slots[slot];
            if entry.is_filled() && entry.last_use() < oldest_reachable && !is_held {
                self.release(slot as u32);
            }
        }
        if self.by_term.is_empty() {
            self.slots = Vec::new();
            self.free = Vec::new();
            self.arena = self.arena.emptied();
        }
        self.move_texts_together();
    }

    /// Empties the sparse chunks of the arena.
    fn move_texts_together(&mut self) {
        let Some(sparse) = self.arena.sparse() else { return };
        for entry in self.slots.iter_mut().filter(|entry| entry.is_filled()) {
            if let Some(place) = self.arena.move_from(entry.place(), &sparse) {
                *entry = Entry::new(place, entry.last_use());
                Rare::TextsMoved.note();
            }
        }
        self.arena.drop_sparse(&sparse);
    }

    /// Shrinks the table if it is much larger than its terms, or this many, need.
    pub(crate) fn shrink(&mut self, terms_min: usize) {
        let Self { slots, by_term, arena, hasher, .. } = self;
        if by_term.capacity() > 4 * by_term.len().max(terms_min) {
            by_term.shrink_to(2 * by_term.len(), |slot| hash_of(hasher, arena, slots[*slot as usize]));
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

    /// Saves every slot at its position: ids, and the order they define, are the same after a restore.
    pub(crate) fn save(&self, to: &mut Writer) {
        // The epoch comes first: a restore reads it by itself.
        to.u64(self.epoch);
        to.u64(self.next_blank);
        to.list(self.slots.iter().enumerate(), |to, (slot, entry)| {
            to.option(Some(entry).filter(|entry| entry.is_filled()), |to, entry| {
                to.u64(as_saved(entry.last_use()));
                to.term(self.term_in(slot as u32));
            });
        });
        to.list(self.free.iter(), |to, slot| to.u32(*slot));
    }

    /// The dictionary that was saved, in place of an empty one; tells the reader which ids there are.
    pub(crate) fn restored(mut dictionary: Self, from: &mut Reader<'_>) -> Decoded<Self> {
        dictionary.epoch = from.u64()?;
        dictionary.next_blank = from.u64()?;
        // Hash each term while its text is at hand; the table is built once all slots are known.
        let mut hashes = Vec::new();
        let Self { slots, arena, triples, hasher, .. } = &mut dictionary;
        *slots = from.long_list(1, |from| {
            let Some((last_use, term)) = from.option(|from| Ok((from.u64()?, from.term()?)))? else {
                hashes.push(0);
                return Ok(Entry::FREE);
            };
            let mut buffer = String::new();
            let raw = RawTerm::of(term.as_ref(), &mut buffer);
            let slot = hashes.len() as u32;
            hashes.push(hash_raw(hasher, raw));
            let entry = Entry::new(arena.add(raw), from_saved(last_use));
            if raw.kind == TermKind::TRIPLE {
                triples.insert(slot, Box::new(term));
            }
            Ok(entry)
        })?;
        ensure(u32::try_from(dictionary.slots.len()).is_ok(), "there are too many terms")?;
        dictionary.free = from.list(4, Reader::u32)?;
        let filled: Vec<bool> = dictionary.slots.iter().map(|entry| entry.is_filled()).collect();
        let mut known = filled.clone();
        for slot in &dictionary.free {
            let is_known = known.get_mut(*slot as usize).map(|known| std::mem::replace(known, true));
            ensure(is_known == Some(false), "a slot is not free, or is listed twice")?;
        }
        ensure(known.into_iter().all(|known| known), "a slot is lost")?;
        from.know_slots(filled);
        dictionary.index(&hashes);
        Ok(dictionary)
    }

    /// Rebuilds the table from the slots.
    fn index(&mut self, hashes: &[u64]) {
        let Self { slots, by_term, .. } = self;
        let rehash = |slot: &u32| hashes[*slot as usize];
        by_term.reserve(slots.len(), rehash);
        for slot in (0..slots.len() as u32).filter(|slot| slots[*slot as usize].is_filled()) {
            by_term.insert_unique(hashes[slot as usize], slot, rehash);
        }
        self.lasting = slots.iter().filter(|entry| entry.last_use() >= STATIC).count();
    }

    /// Panics if the table, the free slots and the terms are inconsistent, or one of these ids has no term.
    pub(crate) fn check(&self, in_use: impl Iterator<Item = TermId>) {
        let filled = self.slots.iter().filter(|entry| entry.is_filled()).count();
        assert_eq!(self.by_term.len(), filled, "dictionary: a term is not in the table");
        assert_eq!(filled + self.free.len(), self.slots.len(), "dictionary: a slot is lost");
        let lasting = self.slots.iter().filter(|entry| entry.last_use() >= STATIC).count();
        assert_eq!(self.lasting, lasting, "dictionary: the number of terms that stay");
        self.arena.check(self.slots.iter().filter(|entry| entry.is_filled()).map(|entry| entry.place()));
        for slot in in_use.filter_map(TermId::slot) {
            assert!(self.slots[slot as usize].is_filled(), "dictionary: a term in use was swept");
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
        let mut buffer = String::new();
        let raw = RawTerm::of(term, &mut buffer);
        if let Some(id) = inline::of_raw(raw) {
            return id;
        }
        let id = self.intern_text(raw, last_use);
        if let (TermKind::TRIPLE, Some(slot)) = (raw.kind, id.slot()) {
            self.triples.entry(slot).or_insert_with(|| Box::new(term.into_owned()));
        }
        id
    }

    /// Interns a term that does not fit into an id.
    #[inline]
    fn intern_text(&mut self, term: RawTerm<'_>, last_use: u64) -> TermId {
        let hash = self.hash(term);
        match self.find(term, hash) {
            Some(slot) => {
                self.touch(slot, last_use);
                TermId::from_slot(slot)
            }
            None => self.insert(term, hash, last_use),
        }
    }

    fn hash(&self, term: RawTerm<'_>) -> u64 {
        hash_raw(&self.hasher, term)
    }

    #[inline]
    fn find(&self, term: RawTerm<'_>, hash: u64) -> Option<u32> {
        let is_same = |slot: &u32| self.arena.is_at(self.slots[*slot as usize].place(), term);
        self.by_term.find(hash, is_same).copied()
    }

    fn touch(&mut self, slot: u32, last_use: u64) {
        let entry = &mut self.slots[slot as usize];
        let before = entry.last_use();
        if last_use > before {
            self.lasting += usize::from(last_use >= STATIC && before < STATIC);
            entry.set_last_use(last_use);
        }
    }

    fn insert(&mut self, term: RawTerm<'_>, hash: u64, last_use: u64) -> TermId {
        let entry = Entry::new(self.arena.add(term), last_use);
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = entry;
                slot
            }
            None => self.push(entry),
        };
        if last_use >= STATIC {
            self.lasting += 1;
        }
        let Self { slots, by_term, arena, hasher, .. } = self;
        by_term.insert_unique(hash, slot, |slot| hash_of(hasher, arena, slots[*slot as usize]));
        TermId::from_slot(slot)
    }

    /// Slots grow by a quarter: doubling would leave half of them empty.
    fn push(&mut self, entry: Entry) -> u32 {
        if self.slots.len() == self.slots.capacity() {
            self.slots.reserve_exact((self.slots.len() / 4).max(32));
        }
        self.slots.push(entry);
        u32::try_from(self.slots.len() - 1).expect("fewer than 2³² terms at a time")
    }

    fn release(&mut self, slot: u32) {
        let entry = self.slots[slot as usize];
        let hash = hash_of(&self.hasher, &self.arena, entry);
        if let Ok(found) = self.by_term.find_entry(hash, |other| *other == slot) {
            found.remove();
        }
        if self.kind(slot) == TermKind::TRIPLE {
            self.triples.remove(&slot);
        }
        self.arena.release(entry.place());
        self.slots[slot as usize] = Entry::FREE;
        self.free.push(slot);
    }
}

fn hash_of(hasher: &FixedState, arena: &Arena, entry: Entry) -> u64 {
    hash_raw(hasher, arena.get(entry.place()))
}

#[inline]
fn hash_raw(hasher: &FixedState, term: RawTerm<'_>) -> u64 {
    let mut hasher = hasher.build_hasher();
    hasher.write(term.text.as_bytes());
    hasher.write_u8(term.kind.as_byte());
    hasher.finish()
}

#[cfg(test)]
#[path = "dictionary_tests.rs"]
mod tests;
