//! The arena in which the dictionary stores texts: chunks of texts, each preceded by its kind and length.
//!
//! A text stays in place until a sweep moves it. A sweep empties every chunk of which less than half is in use, so wasted
//! space never exceeds the space in use. Headers are UTF-8 too, so a text can be sliced out of its chunk without being
//! validated again.

use super::raw::{RawTerm, TermKind};

/// The maximum size of a chunk in bytes.
const CHUNK: usize = 1 << OFFSET_BITS;
const OFFSET_BITS: u32 = 16;

/// Where a text is: the number of its chunk and the offset there, 40 bits together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place(u64);

impl Place {
    pub(super) const BITS: u32 = 40;

    pub(super) const fn to_bits(self) -> u64 {
        self.0
    }

    pub(super) const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    fn new(chunk: usize, offset: usize) -> Self {
        let chunk = u64::try_from(chunk).ok().filter(|chunk| chunk >> (Self::BITS - OFFSET_BITS) == 0);
        Self(chunk.expect("fewer than 2⁴⁰ bytes of texts") << OFFSET_BITS | offset as u64)
    }

    const fn chunk(self) -> usize {
        (self.0 >> OFFSET_BITS) as usize
    }

    const fn offset(self) -> usize {
        (self.0 as usize) & (CHUNK - 1)
    }
}

#[derive(Debug, Default)]
struct Chunk {
    text: String,
    /// Bytes of texts that are in use.
    used: usize,
}

#[derive(Debug)]
pub(super) struct Arena {
    /// The size of a chunk; a longer text has one of its own.
    chunk_max: usize,
    chunks: Vec<Chunk>,
    /// The chunk to which new texts are appended.
    current: usize,
    /// Chunks that are empty.
    free: Vec<usize>,
}

impl Arena {
    pub(super) fn new(chunk_max: usize) -> Self {
        Self { chunk_max: chunk_max.clamp(1, CHUNK), chunks: Vec::new(), current: 0, free: Vec::new() }
    }

    /// An empty arena with the same chunk size.
    pub(super) fn emptied(&self) -> Self {
        Self::new(self.chunk_max)
    }

    pub(super) fn add(&mut self, term: RawTerm<'_>) -> Place {
        let room = term.text.len() + header_len(term.text.len());
        let chunk = self.chunk_with_room(room);
        let into = &mut self.chunks[chunk];
        let place = Place::new(chunk, into.text.len());
        push_header(&mut into.text, term);
        into.text.push_str(term.text);
        into.used += room;
        place
    }

    #[inline]
    pub(super) fn get(&self, place: Place) -> RawTerm<'_> {
        let text = &self.chunks[place.chunk()].text;
        let (kind, start, len) = read_header(text.as_bytes(), place.offset());
        RawTerm { kind, text: &text[start..start + len] }
    }

    #[inline]
    pub(super) fn is_at(&self, place: Place, term: RawTerm<'_>) -> bool {
        let bytes = self.chunks[place.chunk()].text.as_bytes();
        let (kind, start, len) = read_header(bytes, place.offset());
        kind == term.kind && bytes[start..start + len] == *term.text.as_bytes()
    }

    pub(super) fn kind(&self, place: Place) -> TermKind {
        TermKind::from_byte(self.chunks[place.chunk()].text.as_bytes()[place.offset()])
    }

    pub(super) fn release(&mut self, place: Place) {
        let len = self.get(place).text.len();
        self.chunks[place.chunk()].used -= len + header_len(len);
    }

    /// The chunks worth emptying; none if that would free little.
    pub(super) fn sparse(&mut self) -> Option<Vec<bool>> {
        let is_sparse = |(at, chunk): (usize, &Chunk)| {
            at != self.current && !chunk.text.is_empty() && chunk.used * 2 < chunk.text.len()
        };
        let sparse: Vec<bool> = self.chunks.iter().enumerate().map(is_sparse).collect();
        sparse.contains(&true).then_some(sparse)
    }

    /// Moves a text out of a sparse chunk.
    pub(super) fn move_from(&mut self, place: Place, sparse: &[bool]) -> Option<Place> {
        if sparse.get(place.chunk()) != Some(&true) {
            return None;
        }
        let text = std::mem::take(&mut self.chunks[place.chunk()].text);
        let (kind, start, len) = read_header(text.as_bytes(), place.offset());
        let moved = self.add(RawTerm { kind, text: &text[start..start + len] });
        self.chunks[place.chunk()].text = text;
        Some(moved)
    }

    /// Frees the chunks whose texts were moved.
    pub(super) fn drop_sparse(&mut self, sparse: &[bool]) {
        for (at, _) in sparse.iter().enumerate().filter(|(_, sparse)| **sparse) {
            self.chunks[at] = Chunk::default();
            self.free.push(at);
        }
    }

    /// Panics if the count of used bytes of a chunk differs from the texts at these places.
    pub(super) fn check(&self, places: impl Iterator<Item = Place>) {
        let mut used = vec![0; self.chunks.len()];
        for place in places {
            let len = self.get(place).text.len();
            used[place.chunk()] += len + header_len(len);
        }
        let noted: Vec<usize> = self.chunks.iter().map(|chunk| chunk.used).collect();
        assert_eq!(noted, used, "arena: the bytes in use of a chunk");
        assert!(self.free.iter().all(|chunk| self.chunks[*chunk].text.is_empty()), "arena: a free chunk has texts");
    }

    /// Bytes allocated by the arena.
    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.text.capacity() + size_of::<Chunk>()).sum()
    }

    fn chunk_with_room(&mut self, room: usize) -> usize {
        let chunk_max = self.chunk_max;
        let fits = |chunk: &Chunk| chunk.text.len() + room <= chunk_max;
        if self.chunks.get(self.current).is_some_and(fits) {
            return self.current;
        }
        let chunk = self.free.pop().unwrap_or_else(|| {
            self.chunks.push(Chunk::default());
            self.chunks.len() - 1
        });
        // The first chunk grows as it is filled: most dictionaries stay small.
        if chunk > 0 {
            self.chunks[chunk].text.reserve_exact(room.max(if room > chunk_max / 4 { 0 } else { chunk_max }));
        }
        // A long text gets a chunk of its own; shorter texts continue to fill the current one.
        if room <= chunk_max / 4 {
            self.current = chunk;
        }
        chunk
    }
}

/// A length is written in digits of six bits, lowest first; the seventh bit is set if another digit follows.
const MORE: usize = 0x40;

fn header_len(len: usize) -> usize {
    2 + len.checked_ilog2().map_or(0, |bits| bits as usize / 6)
}

fn push_header(text: &mut String, term: RawTerm<'_>) {
    text.push(char::from(term.kind.as_byte()));
    let mut len = term.text.len();
    while len >= MORE {
        text.push(char::from(((len % MORE) | MORE) as u8));
        len /= MORE;
    }
    text.push(char::from(len as u8));
}

/// Kind, start and length of the text whose header is here.
#[inline]
fn read_header(bytes: &[u8], at: usize) -> (TermKind, usize, usize) {
    let kind = TermKind::from_byte(bytes[at]);
    let first = bytes[at + 1] as usize;
    if first < MORE {
        return (kind, at + 2, first);
    }
    let (mut len, mut shift, mut next) = (first - MORE, 6, at + 2);
    loop {
        let digit = bytes[next] as usize;
        len |= (digit & (MORE - 1)) << shift;
        (shift, next) = (shift + 6, next + 1);
        if digit < MORE {
            return (kind, next, len);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn iri(text: &str) -> RawTerm<'_> {
        RawTerm::new(TermKind::IRI, text)
    }

    #[test]
    fn texts_of_all_lengths_come_back() {
        let mut arena = Arena::new(CHUNK);
        let texts: Vec<String> = [0, 1, 63, 64, 65, 4095, 4096, 20_000, 65_533, 65_536, 300_000]
            .map(|len| "ä".repeat(len / 2) + &"x".repeat(len % 2))
            .into();
        let places: Vec<Place> = texts.iter().map(|text| arena.add(iri(text))).collect();
        for (text, place) in texts.iter().zip(places) {
            assert_eq!(arena.get(place), iri(text));
            assert!(arena.is_at(place, iri(text)) && !arena.is_at(place, RawTerm::new(TermKind::STRING, text)));
        }
    }

    #[test]
    fn sparse_chunks_are_emptied_and_used_again() {
        let mut arena = Arena::new(CHUNK);
        let texts: Vec<String> = (0..20_000).map(|n| format!("http://example.org/{n}")).collect();
        let mut kept = Vec::new();
        for (n, text) in texts.iter().enumerate() {
            let place = arena.add(iri(text));
            if n % 10 == 0 { kept.push((text, place)) } else { arena.release(place) }
        }
        let before = arena.chunks.iter().filter(|chunk| !chunk.text.is_empty()).count();
        let sparse = arena.sparse().expect("nine of ten are gone");
        for (_, place) in &mut kept {
            *place = arena.move_from(*place, &sparse).unwrap_or(*place);
        }
        arena.drop_sparse(&sparse);
        let after = arena.chunks.iter().filter(|chunk| !chunk.text.is_empty()).count();
        assert!(before > 5 && after <= 2, "{before} {after}");
        assert!(kept.iter().all(|(text, place)| arena.get(*place) == iri(text)));
        let chunks = arena.chunks.len();
        texts.iter().for_each(|text| _ = arena.add(iri(text)));
        assert!(arena.chunks.len() <= chunks + 1);
    }
}
