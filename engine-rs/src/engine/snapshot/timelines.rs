//! A timeline in a snapshot: its progress in time, its windows, its leaves, and the state of its queries.
//!
//! Leaves are found again by what they match, because their numbers depend on removed queries. The order in which a
//! window offers triples to its leaves is kept, because results are created in that order.

use super::super::place::WindowPlace;
use super::super::timeline::{Timeline, TimelineKey};
use crate::codec::{Reader, Writer};
use crate::encode::Dictionary;
use crate::error::EngineError;
use crate::leaf::{Leaf, LeafId};
use crate::parse::{Bounds, ContentSemantics, Report, Tick};
use crate::thresholds::Thresholds;
use crate::time::Timestamp;
use crate::window::InView;
use std::collections::{HashMap, VecDeque};

impl Timeline {
    /// A timeline without queries, with places for this number of them.
    pub(super) fn unused(places: usize, thresholds: Thresholds) -> Self {
        let key = TimelineKey {
            windows: Vec::new(),
            report: Report::default(),
            tick: Tick::Time,
            bounds: Bounds::ClosedOpen,
            semantics: ContentSemantics::Set,
        };
        let mut timeline = Self::new(key, thresholds);
        timeline.make_room(places);
        timeline
    }

    /// `clock`, `n_reports` and `view` are the values that the timeline would have if it were awake.
    pub(super) fn save(&self, clock: Timestamp, n_reports: u64, view: Option<&VecDeque<InView>>, to: &mut Writer) {
        [clock, self.read_before, self.begins_at, self.last_period].into_iter().for_each(|at| to.at(at));
        let flags = [self.started, self.pristine, self.changed, self.unreported, self.is_over, self.has_stragglers];
        flags.into_iter().for_each(|flag| to.bool(flag));
        self.windows.iter().for_each(|window| window.save(view, to));
        for place in &self.places {
            to.list(place.leaves().map(|leaf| &self.leaves[leaf.at()]), |to, leaf| {
                to.blob(&leaf_key(leaf));
                leaf.save(to);
            });
        }
        self.queries.iter().flatten().for_each(|query| query.save_state(n_reports, to));
    }

    /// Its queries exist already, without state.
    pub(super) fn restore(&mut self, dictionary: &mut Dictionary, from: &mut Reader<'_>) -> Result<(), EngineError> {
        (self.clock, self.read_before, self.begins_at, self.last_period) =
            (from.at()?, from.at()?, from.at()?, from.at()?);
        (self.started, self.pristine, self.changed, self.unreported) =
            (from.bool()?, from.bool()?, from.bool()?, from.bool()?);
        (self.is_over, self.has_stragglers) = (from.bool()?, from.bool()?);
        self.windows.iter_mut().try_for_each(|window| window.restore(from))?;
        self.places.iter_mut().try_for_each(|place| restore_leaves(place, &mut self.leaves, from))?;
        self.queries.iter_mut().flatten().try_for_each(|query| query.restore_state(dictionary, from))?;
        (0..self.queries.len()).for_each(|query| self.route_query(query));
        Ok(())
    }
}

fn restore_leaves(place: &mut WindowPlace, leaves: &mut [Leaf], from: &mut Reader<'_>) -> Result<(), EngineError> {
    let other_plan = || EngineError::SnapshotVersion { reason: "its queries read other patterns".to_owned() };
    let mut planned: HashMap<Vec<u8>, LeafId> =
        place.leaves().map(|leaf| (leaf_key(&leaves[leaf.at()]), leaf)).collect();
    let mut ordered = Vec::new();
    for _ in 0..from.count(24)? {
        let leaf = planned.remove(from.blob()?).ok_or_else(other_plan)?;
        leaves[leaf.at()].restore(from)?;
        ordered.push(leaf);
    }
    if !planned.is_empty() {
        return Err(other_plan());
    }
    ordered.iter().for_each(|leaf| place.remove(*leaf, &mut leaves[leaf.at()]));
    ordered.iter().for_each(|leaf| place.add(*leaf, &mut leaves[leaf.at()]));
    Ok(())
}

/// Identifies a leaf of a window: the pattern and the condition.
fn leaf_key(leaf: &Leaf) -> Vec<u8> {
    let mut key = Writer::default();
    leaf.pattern.save(&mut key);
    key.option(leaf.condition.as_ref(), |to, condition| to.text(&condition.text));
    key.into_bytes()
}
