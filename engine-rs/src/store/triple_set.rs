//! A set of encoded triples in three orders, so that any pattern is one range.

use crate::codec::{Decoded, Reader, Writer};
use crate::model::{EncodedTriple, TermId};
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

#[derive(Clone, Debug, Default)]
pub(crate) struct TripleSet {
    spo: BTreeSet<EncodedTriple>,
    pos: BTreeSet<EncodedTriple>,
    osp: BTreeSet<EncodedTriple>,
}

const LEAST: TermId = TermId::UNBOUND;
const GREATEST: TermId = TermId::from_bits(u64::MAX);

impl TripleSet {
    pub(crate) fn insert(&mut self, [s, p, o]: EncodedTriple) -> bool {
        self.pos.insert([p, o, s]);
        self.osp.insert([o, s, p]);
        self.spo.insert([s, p, o])
    }

    pub(crate) fn remove(&mut self, [s, p, o]: &EncodedTriple) -> bool {
        self.pos.remove(&[*p, *o, *s]);
        self.osp.remove(&[*o, *s, *p]);
        self.spo.remove(&[*s, *p, *o])
    }

    pub(crate) fn contains(&self, triple: &EncodedTriple) -> bool {
        self.spo.contains(triple)
    }

    pub(crate) fn len(&self) -> usize {
        self.spo.len()
    }

    pub(crate) fn save(&self, to: &mut Writer) {
        to.list(self.spo.iter(), |to, triple| to.ids(triple.iter().copied()));
    }

    pub(crate) fn restored(from: &mut Reader<'_>) -> Decoded<Self> {
        let triples: Vec<EncodedTriple> = from.list(24, |from| Ok([from.id()?, from.id()?, from.id()?]))?;
        Ok(triples.into_iter().collect())
    }

    /// The triples that match, as subject, predicate, object.
    pub(crate) fn matching(
        &self,
        s: Option<TermId>,
        p: Option<TermId>,
        o: Option<TermId>,
    ) -> impl Iterator<Item = EncodedTriple> + '_ {
        // In which order the bound terms form a prefix: with three rotations every combination is one in some order.
        //
        //   s  sp  spo → spo      p  po → pos      o  os → osp
        let (set, range, order): (_, _, fn(&EncodedTriple) -> EncodedTriple) = match (s, p, o) {
            (Some(_), None, Some(_)) | (None, None, Some(_)) => {
                (&self.osp, prefix([o, s, p]), |[o, s, p]| [*s, *p, *o])
            }
            (None, Some(_), _) => (&self.pos, prefix([p, o, s]), |[p, o, s]| [*s, *p, *o]),
            _ => (&self.spo, prefix([s, p, o]), |triple| *triple),
        };
        set.range(range).map(order)
    }
}

/// Builds the trees from all triples at once, which is faster than inserting them one by one.
impl FromIterator<EncodedTriple> for TripleSet {
    fn from_iter<I: IntoIterator<Item = EncodedTriple>>(triples: I) -> Self {
        let spo: BTreeSet<EncodedTriple> = triples.into_iter().collect();
        let pos = spo.iter().map(|[s, p, o]| [*p, *o, *s]).collect();
        let osp = spo.iter().map(|[s, p, o]| [*o, *s, *p]).collect();
        Self { spo, pos, osp }
    }
}

/// The range of triples with this prefix; everything after the first `None` is unconstrained.
fn prefix(pattern: [Option<TermId>; 3]) -> RangeInclusive<EncodedTriple> {
    pattern.map(|term| term.unwrap_or(LEAST))..=pattern.map(|term| term.unwrap_or(GREATEST))
}
