//! The joins that read a leaf, and which of them a mapping concerns.
//!
//! A join with few static rows, such as `?x :name "Ada"` with one, can only use mappings that agree with one of them.
//! Its reader is listed under the values of the shared column, and a mapping with any other value does not visit it:
//! the join would find nothing. A thousand queries that differ in a constant of their static part thus cost an event
//! one lookup. The caller keeps the values up to date ([`Leaf::route`]) whenever the static rows of the join change.

use super::{Leaf, QueryPlace};
use crate::index::SlotId;
use crate::model::TermId;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// A join that reads the leaf, and the role that the leaf plays in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Reader {
    pub query: QueryPlace,
    pub node: u32,
    pub role: u32,
    /// Whether the join retracts results only at instants that request it.
    pub retracts_on_demand: bool,
}

/// The values of a column of the leaf that a reader can use.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct UsableValues {
    pub column: u8,
    /// Each once.
    pub values: SmallVec<[TermId; 2]>,
}

/// Where to find the readers of a leaf if some are listed by value.
#[derive(Debug, Default)]
pub(super) struct ReaderRoutes {
    /// Readers that every mapping concerns.
    unrouted: SmallVec<[Reader; 1]>,
    by_value: HashMap<(u8, TermId), SmallVec<[Reader; 1]>, FixedState>,
    /// The columns by which readers are listed, and how many of them.
    columns: SmallVec<[(u8, usize); 2]>,
    /// What each reader is listed under. A query whose join reads the leaf in several roles is not listed by value.
    routed: BTreeMap<QueryPlace, UsableValues>,
}

impl Leaf {
    pub(crate) fn add_reader(&mut self, reader: Reader) {
        self.readers.push(reader);
        if let Some(routes) = &mut self.routes {
            routes.unrouted.push(reader);
        }
    }

    pub(crate) fn remove_readers(&mut self, query: QueryPlace) {
        let own = self.readers.iter().find(|reader| reader.query == query).copied();
        if let (Some(reader), Some(_)) = (own, self.usable_values(query)) {
            self.route(reader, None);
        }
        self.readers.retain(|reader| reader.query != query);
        if let Some(routes) = &mut self.routes {
            routes.unrouted.retain(|reader| reader.query != query);
        }
    }

    /// From now on a reader is visited for mappings with these values alone; `None`: for every mapping.
    pub(crate) fn route(&mut self, reader: Reader, usable: Option<UsableValues>) {
        if self.routes.is_none() {
            if usable.is_none() {
                return;
            }
            let routes = ReaderRoutes { unrouted: self.readers.clone(), ..ReaderRoutes::default() };
            self.routes = Some(Box::new(routes));
        }
        let Some(routes) = &mut self.routes else { return };
        if routes.routed.get(&reader.query) == usable.as_ref() {
            return;
        }
        routes.unlist(reader);
        match usable {
            Some(usable) => routes.list(reader, usable),
            None => routes.unrouted.push(reader),
        }
        if routes.routed.is_empty() {
            self.routes = None;
        }
    }

    /// The readers that every mapping concerns.
    #[inline]
    pub(crate) fn unrouted(&self) -> &[Reader] {
        self.routes.as_ref().map_or(&self.readers, |routes| &routes.unrouted)
    }

    /// The reader that every mapping concerns, if there is no other.
    #[inline]
    pub(crate) fn lone_reader(&self) -> Option<Reader> {
        match self.readers[..] {
            [lone] if self.routes.is_none() => Some(lone),
            _ => None,
        }
    }

    /// Whether there are other readers: those that are [listed](Leaf::listed) by value.
    #[inline]
    pub(crate) fn is_routed(&self) -> bool {
        self.routes.is_some()
    }

    /// The readers that are listed under a value of a mapping.
    pub(crate) fn listed(&self, slot: SlotId) -> impl Iterator<Item = Reader> + '_ {
        self.routes.as_deref().into_iter().flat_map(move |routes| {
            let readers = move |column: u8| {
                let value = self.store.row(slot).nth(usize::from(column)).unwrap_or(TermId::UNBOUND);
                routes.by_value.get(&(column, value)).map_or(&[][..], SmallVec::as_slice)
            };
            routes.columns.iter().flat_map(move |(column, _)| readers(*column)).copied()
        })
    }

    /// What a query is listed under.
    pub(crate) fn usable_values(&self, query: QueryPlace) -> Option<&UsableValues> {
        self.routes.as_ref()?.routed.get(&query)
    }
}

impl ReaderRoutes {
    fn list(&mut self, reader: Reader, usable: UsableValues) {
        for value in &usable.values {
            self.by_value.entry((usable.column, *value)).or_default().push(reader);
        }
        match self.columns.iter_mut().find(|(column, _)| *column == usable.column) {
            Some((_, readers)) => *readers += 1,
            None => self.columns.push((usable.column, 1)),
        }
        self.routed.insert(reader.query, usable);
    }

    fn unlist(&mut self, reader: Reader) {
        let Some(UsableValues { column, values }) = self.routed.remove(&reader.query) else {
            // It was usually added last.
            if let Some(at) = self.unrouted.iter().rposition(|other| *other == reader) {
                self.unrouted.remove(at);
            }
            return;
        };
        for value in values {
            if let Some(readers) = self.by_value.get_mut(&(column, value)) {
                readers.retain(|other| *other != reader);
                if readers.is_empty() {
                    self.by_value.remove(&(column, value));
                }
            }
        }
        self.columns.iter_mut().filter(|(of, _)| *of == column).for_each(|(_, readers)| *readers -= 1);
        self.columns.retain(|(_, readers)| *readers > 0);
    }
}
