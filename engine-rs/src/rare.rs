//! Counts how often rare paths were taken, in builds with debug assertions, so that a campaign can show that it covered
//! them.
//!
//! Each thread has its own counts. A release build counts nothing.

use std::cell::Cell;

/// A path that ordinary streams rarely take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rare {
    RingGrew,
    RingGrewInMove,
    RingShrank,
    PositionWrapped,
    MappingMoved,
    ResultsTransplanted,
    StragglerDied,
    KeyMovedUp,
    KeysLaidOut,
    OldTableProbed,
    SegmentDropped,
    TermsSwept,
    TermsSweptInBatch,
    TextsMoved,
    StaticTermsReleased,
    StaticFollowed,
    TurnedOver,
    StretchShortened,
    Breached,
    Restored,
    AdmittedDirectly,
    WentStraight,
    FellAsleep,
    WokenUp,
    Joined,
    FoldedAhead,
    ExpiredAhead,
}

impl Rare {
    pub const ALL: [Self; 27] = [
        Self::RingGrew,
        Self::RingGrewInMove,
        Self::RingShrank,
        Self::PositionWrapped,
        Self::MappingMoved,
        Self::ResultsTransplanted,
        Self::StragglerDied,
        Self::KeyMovedUp,
        Self::KeysLaidOut,
        Self::OldTableProbed,
        Self::SegmentDropped,
        Self::TermsSwept,
        Self::TermsSweptInBatch,
        Self::TextsMoved,
        Self::StaticTermsReleased,
        Self::StaticFollowed,
        Self::TurnedOver,
        Self::StretchShortened,
        Self::Breached,
        Self::Restored,
        Self::AdmittedDirectly,
        Self::WentStraight,
        Self::FellAsleep,
        Self::WokenUp,
        Self::Joined,
        Self::FoldedAhead,
        Self::ExpiredAhead,
    ];

    /// How often this thread took the path.
    #[must_use]
    pub fn count(self) -> u64 {
        COUNTS.with(|counts| counts[self as usize].get())
    }

    #[inline]
    pub(crate) fn note(self) {
        if cfg!(debug_assertions) {
            COUNTS.with(|counts| counts[self as usize].set(counts[self as usize].get() + 1));
        }
    }
}

thread_local! {
    static COUNTS: [Cell<u64>; Rare::ALL.len()] = const { [const { Cell::new(0) }; Rare::ALL.len()] };
}
