//! The meaning of names while a body is processed: blank node labels, and the ids of a batch.

use crate::encode::{Dictionary, TermKind};
use crate::intake::{Blanks, Encoder, Intake, Token, TokenTerm};
use crate::model::{EncodedTriple, TermId};

/// Names with a meaning within one body.
#[derive(Default)]
pub(super) struct Names {
    pub blanks: Blanks,
    scope: u64,
    pub translation: Translation,
    pub recent: Recent,
    pub encoded: Vec<EncodedTriple>,
}

impl Names {
    /// The names of a batch, and whether every triple of it is known to be read.
    pub(super) fn of_pruned(is_pruned: bool) -> Self {
        Self { translation: Translation { is_pruned, ..Translation::default() }, ..Self::default() }
    }

    pub(super) fn clear(&mut self) {
        self.blanks.clear();
        self.translation.clear();
        self.recent.clear();
    }

    /// Begins an event of this scope.
    pub(super) fn begin(&mut self, scope: u64) {
        if std::mem::replace(&mut self.scope, scope) != scope {
            self.blanks.clear();
        }
    }
}

/// Recently used IRIs: consecutive triples often share a subject, and predicates recur. Comparing two texts costs a
/// third of a lookup.
#[derive(Default)]
pub(super) struct Recent {
    places: [Option<(Token, TermId)>; Self::PLACES],
    sweeps: u64,
}

impl Recent {
    const PLACES: usize = 32;

    /// A sweep frees terms that no window shows, so cached ids may denote other terms now.
    pub(super) fn forget_swept(&mut self, sweeps: u64) {
        if std::mem::replace(&mut self.sweeps, sweeps) != sweeps {
            self.clear();
        }
    }

    fn clear(&mut self) {
        self.places = [None; Self::PLACES];
    }

    /// The id of a term, if it is cached.
    #[inline]
    pub(super) fn find(&self, token: Token, intake: &Intake<'_>) -> Option<TermId> {
        let text = iri(token, intake)?;
        let (known, id) = self.places[Self::place(text)]?;
        (iri(known, intake) == Some(text)).then_some(id)
    }

    /// Caches the id of a term and returns it.
    #[inline]
    pub(super) fn noted(&mut self, token: Token, id: TermId, intake: &Intake<'_>) -> TermId {
        if let Some(text) = iri(token, intake) {
            self.places[Self::place(text)] = Some((token, id));
        }
        id
    }

    /// Names under one prefix differ in their length and their last characters.
    #[inline]
    fn place(text: &str) -> usize {
        let ends =
            text.as_bytes().last_chunk().map_or(0, |[before, last]| usize::from(*before) * 5 + usize::from(*last));
        (text.len() + ends * 3) % Self::PLACES
    }
}

#[inline]
fn iri<'a>(token: Token, intake: &'a Intake<'_>) -> Option<&'a str> {
    match intake.term(token) {
        TokenTerm::Raw(raw) if raw.kind == TermKind::IRI => Some(raw.text),
        _ => None,
    }
}

/// Maps the ids of a batch to those of the engine, looking each up once between two sweeps.
#[derive(Default)]
pub(super) struct Translation {
    /// By slot of the batch's dictionary; unbound where not yet known.
    ids: Vec<TermId>,
    /// The predicates that were looked up, whether or not the engine has them; few enough for a linear search.
    predicates: Vec<(TermId, Option<TermId>)>,
    sweeps: u64,
    /// Whether the batch contains only triples that some query reads.
    pub is_pruned: bool,
}

impl Translation {
    /// A sweep frees terms that no window shows, so cached ids may denote other terms now.
    pub(super) fn forget_swept(&mut self, sweeps: u64) {
        if std::mem::replace(&mut self.sweeps, sweeps) != sweeps {
            self.clear();
        }
    }

    fn clear(&mut self) {
        self.ids.clear();
        self.predicates.clear();
    }

    /// The engine's id of a predicate, cached up to a maximum number. Predicates of queries are in the dictionary, so
    /// an unknown one is not needed.
    pub(super) fn predicate(
        &mut self,
        theirs: TermId,
        dictionary: &Dictionary,
        ours: &Dictionary,
        kept_max: usize,
    ) -> Option<TermId> {
        if let Some((_, known)) = self.predicates.iter().find(|(id, _)| *id == theirs) {
            return *known;
        }
        let found = ours.lookup_raw(dictionary.stored_raw(theirs));
        if self.predicates.len() < kept_max {
            self.predicates.push((theirs, found));
        }
        found
    }

    pub(super) fn id(&mut self, theirs: TermId, dictionary: &Dictionary, encoder: &mut Encoder<'_>) -> TermId {
        let Some(slot) = theirs.slot() else {
            return if dictionary.is_blank(theirs) { encoder.term(dictionary.term(theirs).as_ref()) } else { theirs };
        };
        let slot = slot as usize;
        if slot >= self.ids.len() {
            self.ids.resize(slot + 1, TermId::UNBOUND);
        }
        if self.ids[slot].is_bound() {
            encoder.dictionary.use_again(self.ids[slot]);
        } else {
            self.ids[slot] = match dictionary.stored_raw(theirs) {
                raw if raw.kind == TermKind::TRIPLE => encoder.term(dictionary.stored(theirs)),
                raw => encoder.raw(raw),
            };
        }
        self.ids[slot]
    }
}
