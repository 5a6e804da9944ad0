//! Results on their way out: queued results as envelopes, and the current result as a document.

use super::Engine;
use super::asking::write_found;
use super::query::Surroundings;
use super::registry::{QueryId, failed};
use super::static_data::decode;
use super::timeline::Timeline;
use crate::encode::Dictionary;
use crate::error::EngineError;
use crate::model::TermId;
use crate::plan::Answer;
use crate::reevaluate::Found;
use crate::sink::{AnswerFormat, Sender, envelope_json};
use crate::time::Timestamp;
use oxrdf::{GraphName, Quad, Term};

/// One result as bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Envelope {
    pub seq: u64,
    pub at: Timestamp,
    pub json: Vec<u8>,
}

impl Engine {
    /// Drains the results as JSON envelopes.
    ///
    /// # Errors
    /// Those of [`Engine::drain`].
    pub fn drain_json(&mut self, id: QueryId, name: &str) -> Result<Vec<Vec<u8>>, EngineError> {
        let envelopes = self.take_envelopes(id, name, None)?;
        Ok(envelopes.into_iter().map(|envelope| envelope.json).collect())
    }

    /// Drains the results as JSON envelopes that also name the incarnation of the query and carry a token with which a
    /// reader can resume after them.
    ///
    /// # Errors
    /// Those of [`Engine::drain`].
    pub fn drain_envelopes(
        &mut self,
        id: QueryId,
        name: &str,
        incarnation: &str,
    ) -> Result<Vec<Envelope>, EngineError> {
        self.take_envelopes(id, name, Some(incarnation))
    }

    fn take_envelopes(
        &mut self,
        id: QueryId,
        name: &str,
        incarnation: Option<&str>,
    ) -> Result<Vec<Envelope>, EngineError> {
        let results = self.drain(id)?;
        if results.is_empty() {
            return Ok(vec![]);
        }
        let (variables, windows) = (self.variables(id)?, self.window_names(id)?);
        let sender = Sender { query: name, incarnation, windows: &windows, variables: &variables };
        let envelopes = results.iter().map(|result| Envelope {
            seq: result.seq,
            at: result.at,
            json: envelope_json(&sender, result, &self.dictionary),
        });
        Ok(envelopes.collect())
    }

    /// The full result of the last evaluation, whichever part of it the query reports. The queue is left as it is.
    ///
    /// # Errors
    /// When there is no such query, it has failed, it does not keep its answer
    /// ([`crate::ParseOptions::keep_answer`]), or the format is not one for its form.
    pub fn answer(&mut self, id: QueryId, format: AnswerFormat) -> Result<Vec<u8>, EngineError> {
        write_found(self.current_answer(id)?, format)
    }

    pub(super) fn current_answer(&mut self, id: QueryId) -> Result<Found, EngineError> {
        let (timeline, place) = self.place(id)?;
        // Sorting is charged to the query's budget, which only an evaluation refills.
        self.rouse(timeline);
        self.timelines[timeline].wake(place);
        let Self { timelines, dictionary, graphs, search, .. } = self;
        let Timeline { queries, leaves, windows, clock, .. } = &mut timelines[timeline];
        let query = queries[place].as_mut().expect("the registry knows which queries run");
        if let Some(failure) = &query.failed {
            return Err(failed(id, failure));
        }
        let rows = if query.keeps_answer() {
            query.whole_answer(dictionary)
        } else if query.enumerates_answer() {
            let around = &mut Surroundings { dictionary, leaves, windows, graphs, search, now: *clock };
            let rows = query.enumerated_answer(around);
            rows.map_err(|breach| EngineError::question_too_costly(&breach))?
        } else {
            return Err(EngineError::AnswerNotKept { query: id.0 });
        };
        let (answer, variables, dictionary) = (&query.answer, &query.variables, &self.dictionary);
        Ok(match answer {
            Answer::Boolean => Found::Boolean(!rows.is_empty()),
            Answer::Bindings(_) => {
                let term = |id: &TermId| id.is_bound().then(|| dictionary.term(*id));
                let rows = rows.iter().map(|row| row.iter().map(term).collect()).collect();
                Found::Solutions { variables: variables.clone(), rows }
            }
            Answer::Graph(_) => Found::Graph(rows.iter().filter_map(|row| quad(row, dictionary)).collect()),
        })
    }
}

/// A row of a graph: a triple, or a triple and the name of its graph.
fn quad(row: &[TermId], dictionary: &Dictionary) -> Option<Quad> {
    let graph = match row.get(3).filter(|graph| graph.is_bound()).map(|graph| dictionary.term(*graph)) {
        Some(Term::NamedNode(name)) => name.into(),
        Some(Term::BlankNode(name)) => name.into(),
        _ => GraphName::DefaultGraph,
    };
    Some(decode(&[row[0], row[1], row[2]], dictionary)?.in_graph(graph))
}
