//! Which triples of a stream somebody reads: the others are not even encoded.
//!
//! A triple counts when some leaf over the stream could match its predicate and its constants. Where a
//! window needs all triples (it is re-evaluated, compared as a set, or counts triples), or where events
//! wait to be put in order and later queries may still read them, everything counts.

use super::Engine;
use super::timeline::Timeline;
use crate::leaf::LeafPattern;
use crate::model::TermId;
use crate::window::{Rule, Window};
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use oxrdf::{NamedOrBlankNode, TermRef, Triple};

#[derive(Debug, Default)]
pub(super) struct Interest {
    /// By predicate, the constants asked of subject and object.
    ends: HashMap<TermId, Vec<[Option<TermId>; 2]>, FixedState>,
}

impl Interest {
    /// Whether a leaf may match. `end` looks up the subject (0) or the object (2); constants of queries are in the
    /// dictionary, so what is not there is no constant.
    fn covers(&self, predicate: Option<TermId>, end: impl Fn(usize) -> Option<TermId>) -> bool {
        let Some(ends) = predicate.and_then(|predicate| self.ends.get(&predicate)) else { return false };
        let is = |constant: Option<TermId>, place: usize| constant.is_none_or(|constant| end(place) == Some(constant));
        ends.iter().any(|[s, o]| is(*s, 0) && is(*o, 2))
    }

    /// False when the leaf may match any predicate.
    fn add(&mut self, pattern: &LeafPattern) -> bool {
        let [subject, predicate, object] = pattern.constants();
        let Some(predicate) = predicate else { return false };
        let ends = self.ends.entry(predicate).or_default();
        if ends.iter().all(|known| *known != [None, None]) {
            ends.push([subject, object]);
        }
        true
    }
}

/// The three terms of a triple.
pub(super) fn terms(triple: &Triple) -> [TermRef<'_>; 3] {
    let subject = match &triple.subject {
        NamedOrBlankNode::NamedNode(node) => node.as_ref().into(),
        NamedOrBlankNode::BlankNode(node) => node.as_ref().into(),
    };
    [subject, triple.predicate.as_ref().into(), triple.object.as_ref()]
}

impl Engine {
    /// Whether somebody reads every triple, so that asking for each is not needed.
    pub(super) fn wants_all(&self, readings: &[usize]) -> bool {
        readings.iter().any(|reading| self.streams[*reading].interest.is_none())
    }

    /// What is read of each stream, after queries came or went.
    pub(super) fn find_interests(&mut self) {
        for stream in 0..self.streams.len() {
            self.streams[stream].interest = self.interest_in(stream);
        }
    }

    fn interest_in(&self, stream: usize) -> Option<Interest> {
        if self.streams[stream].options.lateness.is_some() {
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

    /// Whether some reading of the stream wants the triple with this predicate and these ends.
    pub(super) fn wants(
        &self,
        readings: &[usize],
        predicate: TermRef<'_>,
        end: impl Fn(usize) -> Option<TermId>,
    ) -> bool {
        let predicate = self.dictionary.lookup(predicate);
        readings.iter().any(|reading| {
            let interest = self.streams[*reading].interest.as_ref();
            interest.is_none_or(|interest| interest.covers(predicate, &end))
        })
    }
}

impl Timeline {
    fn add_interest(&self, stream: usize, interest: &mut Interest) -> bool {
        let windows = self.windows.iter().zip(&self.places).zip(&self.key.windows);
        let mut read = windows.filter(|(_, (of, _))| *of == stream);
        read.all(|((window, place), _)| {
            !needs_all(window) && place.leaves.iter().all(|leaf| interest.add(&self.leaves[*leaf].pattern))
        })
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
