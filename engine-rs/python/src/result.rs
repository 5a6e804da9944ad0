//! Drained results, decoded, as Python values.
//!
//! Ids are decoded while the engine is locked, because they are valid only until the next push. A result is passed as
//! one tuple `(seq, at, windows, kind, variables, inserted, deleted, boolean, skipped)`; `whorl/engine.py` names its
//! members.

use oxrdf::Term;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use whorl_engine::{
    Answered, Dictionary, Engine, EngineError, QueryId, QueryResult, Rows, Skipped, Timestamp, WindowBounds,
};

use crate::arrow::OutRow;
use crate::terms::Factory;

type Decoded = Vec<Vec<Option<Term>>>;

/// The drained results, with the names of their columns.
pub struct Drained {
    pub variables: Vec<String>,
    /// Names of the windows, in the order in which results list their bounds.
    windows: Vec<String>,
    answers: Vec<Answer>,
}

struct Answer {
    seq: u64,
    at: i64,
    windows: Vec<WindowBounds>,
    skipped: Option<Skipped>,
    kind: Kind,
    inserted: Decoded,
    deleted: Decoded,
}

#[derive(Clone, Copy)]
enum Kind {
    Bindings,
    Graph,
    Boolean(bool),
}

impl Drained {
    /// Drains the results of a query.
    pub fn from(engine: &mut Engine, query: QueryId) -> Result<Self, EngineError> {
        let variables = engine.variables(query)?.iter().map(|variable| variable.as_str().to_owned()).collect();
        let windows = engine.window_names(query)?.iter().map(|name| name.as_str().to_owned()).collect();
        let results = engine.drain(query)?;
        let answers = results.into_iter().map(|result| Answer::from(result, engine.dictionary())).collect();
        Ok(Self { variables, windows, answers })
    }

    pub fn to_python<'py>(&self, py: Python<'py>, terms: &str) -> PyResult<Bound<'py, PyList>> {
        let factory = Factory::new(py, terms)?;
        let list = PyList::empty(py);
        for answer in &self.answers {
            list.append(answer.to_python(py, self, &factory)?)?;
        }
        Ok(list)
    }

    /// The rows of all results, for a table. Graphs and booleans have none.
    pub fn rows(&self) -> Vec<OutRow<'_>> {
        let bindings = self.answers.iter().filter(|answer| matches!(answer.kind, Kind::Bindings));
        let rows = bindings.flat_map(|answer| {
            let row = |sign| move |values| OutRow { seq: answer.seq, at: answer.at, sign, values };
            answer
                .inserted
                .iter()
                .map(Vec::as_slice)
                .map(row(1))
                .chain(answer.deleted.iter().map(Vec::as_slice).map(row(-1)))
        });
        rows.collect()
    }
}

impl Answer {
    fn from(result: QueryResult, dictionary: &Dictionary) -> Self {
        let decode = |rows: &Rows| -> Decoded {
            let row = |row: &[whorl_engine::TermId]| {
                row.iter().map(|id| id.is_bound().then(|| dictionary.term(*id))).collect()
            };
            rows.iter().map(row).collect()
        };
        let (kind, inserted, deleted) = match &result.answer {
            Answered::Bindings { inserted, deleted } => (Kind::Bindings, decode(inserted), decode(deleted)),
            Answered::Graph { inserted, deleted } => (Kind::Graph, decode(inserted), decode(deleted)),
            Answered::Boolean(truth) => (Kind::Boolean(*truth), Vec::new(), Vec::new()),
        };
        let QueryResult { seq, at, windows, skipped, .. } = result;
        Self { seq, at: at.as_millis(), windows: windows.to_vec(), skipped, kind, inserted, deleted }
    }

    fn to_python<'py>(&self, py: Python<'py>, of: &Drained, factory: &Factory<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let named = of.windows.iter().zip(&self.windows);
        let windows = named.map(|(name, window)| (name, bound(window.open), bound(window.close)));
        let windows: Vec<_> = windows.collect();
        let rows = |rows: &Decoded| match self.kind {
            Kind::Graph => tuples(py, rows, factory),
            _ => dicts(py, &of.variables, rows, factory),
        };
        let (kind, boolean) = match self.kind {
            Kind::Bindings => ("bindings", None),
            Kind::Graph => ("graph", None),
            Kind::Boolean(truth) => ("boolean", Some(truth)),
        };
        let (inserted, deleted) = (rows(&self.inserted)?, rows(&self.deleted)?);
        let skipped = self.skipped.map(|Skipped { from, to, windows }| (from.as_millis(), to.as_millis(), windows));
        (self.seq, self.at, windows, kind, &of.variables, inserted, deleted, boolean, skipped).into_pyobject(py)
    }
}

/// The ends of time mean "no bound".
fn bound(at: Timestamp) -> Option<i64> {
    (at != Timestamp::MIN && at != Timestamp::MAX).then(|| at.as_millis())
}

fn dicts<'py>(
    py: Python<'py>,
    names: &[String],
    rows: &Decoded,
    factory: &Factory<'py>,
) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for row in rows {
        let dict = PyDict::new(py);
        for (name, value) in names.iter().zip(row) {
            dict.set_item(name, value.as_ref().map(|term| factory.term(term)).transpose()?)?;
        }
        list.append(dict)?;
    }
    Ok(list)
}

fn tuples<'py>(py: Python<'py>, rows: &Decoded, factory: &Factory<'py>) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for row in rows {
        let terms = row.iter().flatten().map(|term| factory.term(term)).collect::<PyResult<Vec<_>>>()?;
        list.append(PyTuple::new(py, terms)?)?;
    }
    Ok(list)
}
