//! A triple pattern on ids.

use crate::model::{EncodedTriple, TermId};

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum PatternSlot {
    Constant(TermId),
    /// The column of the mapping; the same column twice asks for the same term twice.
    Column(u8),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct LeafPattern {
    slots: [PatternSlot; 3],
    width: u8,
}

impl LeafPattern {
    /// Columns must be numbered in the order of their first appearance.
    pub(crate) fn new(slots: [PatternSlot; 3]) -> Self {
        let mut width = 0;
        for slot in slots {
            if let PatternSlot::Column(column) = slot {
                debug_assert!(column <= width);
                width = width.max(column + 1);
            }
        }
        Self { slots, width }
    }

    pub(crate) fn width(&self) -> usize {
        self.width as usize
    }

    /// The predicate by which triples are routed here, if it is fixed.
    pub(crate) fn predicate(&self) -> Option<TermId> {
        match self.slots[1] {
            PatternSlot::Constant(term) => Some(term),
            PatternSlot::Column(_) => None,
        }
    }

    /// Appends the mapping of a triple that matches; what was appended is void otherwise.
    #[inline]
    pub(crate) fn matches(&self, triple: &EncodedTriple, mapping: &mut Vec<TermId>) -> bool {
        let start = mapping.len();
        for (slot, term) in self.slots.iter().zip(triple) {
            match slot {
                PatternSlot::Constant(constant) if constant != term => return false,
                PatternSlot::Constant(_) => {}
                PatternSlot::Column(column) => {
                    let at = start + *column as usize;
                    if at == mapping.len() {
                        mapping.push(*term);
                    } else if mapping[at] != *term {
                        return false;
                    }
                }
            }
        }
        true
    }
}
