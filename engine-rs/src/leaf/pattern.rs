//! A triple pattern over term ids.

use crate::codec::Writer;
use crate::model::{EncodedTriple, TermId};
use crate::window::Element;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum PatternSlot {
    Constant(TermId),
    /// A column of the mapping; the same column twice requires equal terms.
    Column(u8),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct LeafPattern {
    slots: [PatternSlot; 3],
    origin: OriginPattern,
    width: u8,
}

/// What the pattern requires of the event that contains the triple.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct OriginPattern {
    /// `GRAPH ?g` or `GRAPH <g>` inside a window.
    pub graph: Option<PatternSlot>,
    /// The column that receives the event's time, in milliseconds.
    pub time: Option<u8>,
}

impl LeafPattern {
    /// Columns must be numbered in the order of their first appearance.
    pub(crate) fn new(slots: [PatternSlot; 3], origin: OriginPattern) -> Self {
        let mut width = 0;
        let time = origin.time.map(PatternSlot::Column);
        for slot in slots.into_iter().chain(origin.graph).chain(time) {
            if let PatternSlot::Column(column) = slot {
                debug_assert!(column <= width);
                width = width.max(column + 1);
            }
        }
        Self { slots, origin, width }
    }

    pub(crate) fn width(&self) -> usize {
        self.width as usize
    }

    /// The constants at subject, predicate and object.
    pub(crate) fn constants(&self) -> [Option<TermId>; 3] {
        self.slots.map(|slot| match slot {
            PatternSlot::Constant(term) => Some(term),
            PatternSlot::Column(_) => None,
        })
    }

    /// The pattern as bytes, by which a snapshot finds its leaf again.
    pub(crate) fn save(&self, to: &mut Writer) {
        self.slots.iter().for_each(|slot| slot.save(to));
        to.option(self.origin.graph, |to, slot| slot.save(to));
        to.option(self.origin.time, Writer::u8);
    }

    /// Appends the mapping of a matching triple. If it does not match, the caller must discard what was appended.
    #[inline]
    pub(crate) fn matches(&self, triple: &EncodedTriple, event: &Element, mapping: &mut Vec<TermId>) -> bool {
        let start = mapping.len();
        let matched = self.slots.iter().zip(triple).all(|(slot, term)| slot.takes(*term, start, mapping));
        matched && self.origin.matches(event, start, mapping)
    }
}

impl PatternSlot {
    fn save(self, to: &mut Writer) {
        match self {
            Self::Constant(term) => {
                to.bool(true);
                to.id(term);
            }
            Self::Column(column) => {
                to.bool(false);
                to.u8(column);
            }
        }
    }

    /// Compares a term with the slot, or stores it in its column of the mapping that starts at `start`.
    #[inline]
    fn takes(self, term: TermId, start: usize, mapping: &mut Vec<TermId>) -> bool {
        match self {
            Self::Constant(constant) => constant == term,
            Self::Column(column) => {
                let at = start + column as usize;
                if at == mapping.len() {
                    mapping.push(term);
                }
                mapping[at] == term
            }
        }
    }
}

impl OriginPattern {
    /// A triple of an unnamed event is in no named graph.
    #[inline]
    fn matches(self, event: &Element, start: usize, mapping: &mut Vec<TermId>) -> bool {
        let named = self.graph.is_none_or(|slot| event.graph.is_bound() && slot.takes(event.graph, start, mapping));
        let time = |column: PatternSlot| {
            TermId::integer(event.at.as_millis()).is_some_and(|ms| column.takes(ms, start, mapping))
        };
        named && self.time.map(PatternSlot::Column).is_none_or(time)
    }
}
