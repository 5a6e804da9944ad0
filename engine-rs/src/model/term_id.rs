//! `TermId`: sixty-four bits that stand for one RDF term. Same term ⇔ same id.
//!
//! ```text
//! bit 63      1 = the value is in the id, 0 = the id names a dictionary slot (0 = unbound)
//! bits 58–62  type of the inlined value (see `encode/inline.rs`, which alone reads them)
//! bits 0–57   the value
//! ```

use std::fmt;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TermId(u64);

const INLINE_BIT: u64 = 1 << 63;
const KIND_SHIFT: u32 = 58;
const VALUE_MASK: u64 = (1 << KIND_SHIFT) - 1;

impl TermId {
    /// No term: the variable is not bound in this mapping.
    pub const UNBOUND: Self = Self(0);

    #[must_use]
    pub const fn is_bound(self) -> bool {
        self.0 != 0
    }

    #[must_use]
    pub const fn to_bits(self) -> u64 {
        self.0
    }

    #[must_use]
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    pub(crate) const fn from_slot(slot: u32) -> Self {
        Self(slot as u64 + 1)
    }

    /// The dictionary slot, or `None` if the id holds a value or is unbound.
    pub(crate) const fn slot(self) -> Option<u32> {
        if self.0 == 0 || self.0 & INLINE_BIT != 0 { None } else { Some((self.0 - 1) as u32) }
    }

    pub(crate) const fn inline(kind: u8, value: u64) -> Self {
        Self(INLINE_BIT | ((kind as u64) << KIND_SHIFT) | (value & VALUE_MASK))
    }

    /// Type and value bits of an inlined term.
    pub(crate) const fn inlined(self) -> Option<(u8, u64)> {
        if self.0 & INLINE_BIT == 0 {
            None
        } else {
            Some((((self.0 & !INLINE_BIT) >> KIND_SHIFT) as u8, self.0 & VALUE_MASK))
        }
    }
}

impl fmt::Debug for TermId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{:x}", self.0)
    }
}
