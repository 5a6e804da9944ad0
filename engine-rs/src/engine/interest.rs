//! Which triples of a stream some query reads; the others are not even encoded.

use super::Engine;
use super::stream::Stream;
use super::timeline::Timeline;
use crate::encode::Dictionary;
use crate::leaf::LeafPattern;
use crate::model::TermId;
use crate::window::{Rule, Window};
use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashSet};
use oxrdf::Term;

/// The constants of a pattern: subject, predicate and object.
pub(crate) type Constants = [Option<Term>; 3];

#[derive(Debug, Default)]
pub(super) struct Interest {
    by_predicate: HashMap<TermId, Ends, FixedState>,
}

/// The constants that leaves with one predicate require of subject and object. A test costs one lookup per set, however
/// many leaves there are.
#[derive(Debug, Default)]
struct Ends {
    any: bool,
    subjects: Terms,
    objects: Terms,
    both: HashSet<[TermId; 2], FixedState>,
}

type Terms = HashSet<TermId, FixedState>;

impl Ends {
    fn add(&mut self, subject: Option<TermId>, object: Option<TermId>) {
        match (subject, object) {
            (None, None) => self.any = true,
            (Some(subject), None) => self.subjects.extend([subject]),
            (None, Some(object)) => self.objects.extend([object]),
            (Some(subject), Some(object)) => self.both.extend([[subject, object]]),
        }
    }

    fn cover(&self, end: impl Fn(usize) -> Option<TermId>) -> bool {
        let asked =
            |terms: &Terms, place: usize| !terms.is_empty() && end(place).is_some_and(|term| terms.contains(&term));
        let both = || end(0).zip(end(2)).is_some_and(|(subject, object)| self.both.contains(&[subject, object]));
        self.any || asked(&self.subjects, 0) || asked(&self.objects, 2) || (!self.both.is_empty() && both())
    }
}

impl Interest {
    /// Whether a leaf may match. `end` looks up the subject (0) or the object (2). Constants of queries are always in
    /// the dictionary, so a term that is not there equals none of them.
    fn covers(&self, predicate: Option<TermId>, end: impl Fn(usize) -> Option<TermId>) -> bool {
        let ends = predicate.and_then(|predicate| self.by_predicate.get(&predicate));
        ends.is_some_and(|ends| ends.cover(end))
    }

    /// False when the leaf may match any predicate.
    fn add(&mut self, pattern: &LeafPattern) -> bool {
        let [subject, predicate, object] = pattern.constants();
        let Some(predicate) = predicate else { return false };
        self.by_predicate.entry(predicate).or_default().add(subject, object);
        true
    }
}

impl Engine {
    /// Whether every triple is read, so that testing each is unnecessary.
    pub(super) fn wants_all(&self, readings: &[usize]) -> bool {
        readings.iter().any(|reading| self.streams[*reading].interest.is_none())
    }

    /// Computes which triples of each stream are read, after queries were registered or removed.
    pub(super) fn find_interests(&mut self) {
        for stream in 0..self.streams.len() {
            self.streams[stream].interest = self.interest_in(stream);
        }
    }

    /// Like [`Engine::find_interests`], after one query was registered: everything that was read is still read.
    pub(super) fn widen_interests(&mut self, timeline: usize, place: usize) {
        for stream in 0..self.streams.len() {
            let Stream { interest, readers, .. } = &mut self.streams[stream];
            let is_read = readers.binary_search(&timeline).is_ok();
            match interest {
                Some(_) if !is_read => {}
                // One of its other readers needs every triple, and still does.
                None if readers.len() > 1 => {}
                Some(_) => {
                    let interest = interest.take().unwrap_or_default();
                    let widened = self.timelines[timeline].widened_interest(stream, place, interest);
                    self.streams[stream].interest = widened;
                }
                // All of it is read, or its interest has not been computed yet.
                None => self.streams[stream].interest = self.interest_in(stream),
            }
        }
    }

    /// Like [`Engine::find_interests`], after a query was removed that read what this timeline reads.
    pub(super) fn narrow_interests(&mut self, timeline: usize) {
        for stream in 0..self.streams.len() {
            let is_read = self.timelines[timeline].key().windows.iter().any(|(of, _)| *of == stream);
            if is_read || self.streams[stream].interest.is_none() {
                self.streams[stream].interest = self.interest_in(stream);
            }
        }
    }

    fn interest_in(&self, stream: usize) -> Option<Interest> {
        if !self.options.pruning || self.streams[stream].options.lateness.is_some() {
            return None;
        }
        let mut interest = Interest::default();
        for timeline in &self.streams[stream].readers {
            if !self.timelines[*timeline].add_interest(stream, &mut interest) {
                return None;
            }
        }
        Some(interest)
    }

    /// The patterns over a stream, for a router outside this engine; `None`: every triple counts. Unlike
    /// [`Engine::find_interests`], this ignores waiting events, because no query will be registered meanwhile.
    pub(crate) fn patterns_read(&self, iri: &str) -> Option<Vec<Constants>> {
        let mut patterns = Vec::new();
        for reading in self.stream_names.readings(iri) {
            let stream = &self.streams[*reading];
            // The time of an event is read on arrival.
            patterns.extend(stream.by_predicate.clone().map(|predicate| [None, Some(predicate.into()), None]));
            for timeline in &stream.readers {
                patterns.extend(self.timelines[*timeline].patterns_of(*reading, &self.dictionary)?);
            }
        }
        Some(patterns)
    }

    /// Whether some reading of the stream wants the triple with this predicate and these ends.
    pub(super) fn wants(
        &self,
        readings: &[usize],
        predicate: Option<TermId>,
        end: impl Fn(usize) -> Option<TermId>,
    ) -> bool {
        readings.iter().any(|reading| {
            let interest = self.streams[*reading].interest.as_ref();
            interest.is_none_or(|interest| interest.covers(predicate, &end))
        })
    }
}

impl Timeline {
    fn patterns_of(&self, stream: usize, dictionary: &Dictionary) -> Option<Vec<Constants>> {
        let windows = self.windows.iter().zip(&self.places).zip(&self.key.windows);
        let mut patterns = Vec::new();
        for ((window, place), _) in windows.filter(|(_, (of, _))| *of == stream) {
            if needs_all(window) {
                return None;
            }
            let constants = place.leaves().map(|leaf| self.leaves[leaf.at()].pattern.constants());
            patterns.extend(constants.map(|ids| ids.map(|id| id.map(|id| dictionary.term(id)))));
        }
        Some(patterns)
    }

    fn add_interest(&self, stream: usize, interest: &mut Interest) -> bool {
        let windows = self.windows.iter().zip(&self.places).zip(&self.key.windows);
        let mut read = windows.filter(|(_, (of, _))| *of == stream);
        read.all(|((window, place), _)| {
            !needs_all(window) && place.leaves().all(|leaf| interest.add(&self.leaves[leaf.at()].pattern))
        })
    }

    /// What was read of a stream, and what one query reads of it now; `None`: everything.
    fn widened_interest(&self, stream: usize, place: usize, mut interest: Interest) -> Option<Interest> {
        let mut windows = self.windows.iter().zip(&self.key.windows).filter(|(_, (of, _))| *of == stream);
        let leaves = self.query(place).leaves_of().map(|(_, _, leaf)| &self.leaves[leaf]);
        let mut read = leaves.filter(|leaf| self.key.windows[leaf.window].0 == stream);
        let is_some = !windows.any(|(window, _)| needs_all(window)) && read.all(|leaf| interest.add(&leaf.pattern));
        is_some.then_some(interest)
    }
}

fn needs_all(window: &Window) -> bool {
    window.content().is_some() || matches!(window.rule(), Rule::Triples { .. })
}

#[cfg(test)]
mod tests {
    use crate::{Engine, EngineOptions, ParseOptions, RdfFormat, Timestamp};

    const EVENT: &[u8] =
        b"@prefix : <http://ex/> . :a :temp 5 . :a :unread :very-long-name-of-something . :b :in :cellar .";

    fn terms_after(bodies: &[&str], window: &str) -> usize {
        let mut engine = Engine::new(EngineOptions::default());
        for body in bodies {
            let text = format!(
                "PREFIX : <http://ex/> SELECT * FROM NAMED WINDOW :w ON :s [{window}] WHERE {{ WINDOW :w {{ {body} }} }}"
            );
            engine.register(&text, &ParseOptions::default()).expect("a query");
        }
        engine.push("http://ex/s", Some(Timestamp::EPOCH), EVENT, RdfFormat::Turtle).expect("an event");
        engine.dictionary().stream_terms()
    }

    #[test]
    fn only_triples_that_some_leaf_may_match_are_encoded() {
        assert_eq!(terms_after(&["?s :temp ?t"], "RANGE 10s"), 1, ":a alone");
        assert_eq!(terms_after(&["?s :in :hall"], "RANGE 10s"), 0, "another object");
        assert_eq!(terms_after(&["?s :in :cellar"], "RANGE 10s"), 1, ":b alone");
        assert_eq!(terms_after(&["?s :temp ?t", "?s :in ?o"], "RANGE 10s"), 3, "what either query reads");
        assert_eq!(terms_after(&["?s ?p ?t"], "RANGE 10s"), 7, "any predicate");
        assert_eq!(terms_after(&["?s :temp+ ?t"], "RANGE 10s"), 7, "re-evaluated");
        assert_eq!(terms_after(&["?s :temp ?t"], "TRIPLES 5"), 6, "triples are counted");
    }
}
