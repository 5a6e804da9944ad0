//! SPARQL 1.1 Update over the static graphs.
//!
//! The operations of a request run one after the other, each on the result of the previous one, within one transaction:
//! a request that fails changes nothing, and queries see none of the intermediate states. Updates cannot affect streams
//! and windows.

use super::Engine;
use super::static_data::{UpdateReport, unknown_graph};
use crate::encode::Dictionary;
use crate::error::EngineError;
use crate::limits::{Breach, Budget, within};
use crate::model::{EncodedTriple, TermId};
use crate::parse::{Source, UpdateOperation, parse_update};
use crate::plan::evaluable;
use crate::reevaluate::{Kept, Solutions, Where, ask_static};
use crate::store::{GraphId, Transaction};
use oxiri::Iri;
use oxrdf::{BlankNode, NamedNode, NamedOrBlankNode, Term, Triple, Variable};
use spargebra::GraphUpdateOperation as Step;
use spargebra::algebra::{GraphTarget, QueryDataset};
use spargebra::term::{
    GraphName, GraphNamePattern, GroundQuad, GroundQuadPattern, GroundTermPattern, NamedNodePattern, Quad, QuadPattern,
    TermPattern, TriplePattern,
};
use std::collections::HashMap;

/// Units of work for each triple that an update deletes or inserts: as many as it has terms in the indexes of a graph.
const TRIPLE_UNITS: u64 = 24;

impl Engine {
    /// Performs a SPARQL 1.1 Update on the static graphs: as a whole, or not at all. `base` resolves
    /// relative IRIs. Running queries follow at their next evaluation; windows are not touched. Ids
    /// of results taken before are not valid any more.
    ///
    /// ```
    /// use whorl_engine::{Engine, EngineOptions};
    ///
    /// let mut engine = Engine::new(EngineOptions::default());
    /// let report = engine.update("INSERT DATA { <http://ex/a> <http://ex/limit> 20, 30 }", None)?;
    /// assert_eq!(report.inserted, 2);
    /// let report = engine.update("DELETE WHERE { ?room <http://ex/limit> 20 }", None)?;
    /// assert_eq!(report.deleted, 1);
    /// # Ok::<(), whorl_engine::EngineError>(())
    /// ```
    ///
    /// # Errors
    /// When the text does not parse, asks another server (LOAD, SERVICE), or names a graph that does
    /// not exist (for CREATE: that does) without SILENT.
    pub fn update(&mut self, text: &str, base: Option<&str>) -> Result<UpdateReport, EngineError> {
        self.update_using(text, base, None)
    }

    /// Like [`Engine::update`]; `using` is the dataset of every WHERE, in place of USING clauses.
    ///
    /// # Errors
    /// Those of [`Engine::update`], and if the text has USING or WITH of its own.
    pub fn update_using(
        &mut self,
        text: &str,
        base: Option<&str>,
        using: Option<&QueryDataset>,
    ) -> Result<UpdateReport, EngineError> {
        let mut operations = parse_update(text, base)?;
        if let Some(using) = using {
            let mut steps = operations.iter_mut().flat_map(|operation| &mut operation.steps);
            steps.try_for_each(|step| set_using(step, using))?;
        }
        let report = self.perform(&operations);
        self.release_static_terms();
        report
    }

    fn perform(&mut self, operations: &[UpdateOperation]) -> Result<UpdateReport, EngineError> {
        let budget = Budget::new(self.options.limits);
        let mut update = Update { graphs: self.graphs.begin(), dictionary: &mut self.dictionary, budget };
        operations.iter().try_for_each(|operation| update.perform(operation))?;
        Ok(update.graphs.commit().into())
    }
}

fn set_using(step: &mut Step, dataset: &QueryDataset) -> Result<(), EngineError> {
    if let Step::DeleteInsert { using, .. } = step {
        if using.is_some() {
            let reason = "it has USING or WITH, and the request names graphs too".to_owned();
            return Err(EngineError::UpdateFailed { reason });
        }
        *using = Some(dataset.clone());
    }
    Ok(())
}

struct Update<'a> {
    graphs: Transaction<'a>,
    dictionary: &'a mut Dictionary,
    /// For all operations together.
    budget: Budget,
}

impl Update<'_> {
    fn perform(&mut self, operation: &UpdateOperation) -> Result<(), EngineError> {
        match &operation.source {
            Some(Source { graph, silent }) if self.known(graph).is_none() => match silent {
                true => Ok(()),
                false => Err(unknown_graph(graph.as_ref().into())),
            },
            _ => operation.steps.iter().try_for_each(|step| self.step(step, operation.base_iri.as_ref())),
        }
    }

    fn step(&mut self, step: &Step, base_iri: Option<&Iri<String>>) -> Result<(), EngineError> {
        match step {
            Step::InsertData { data } => self.insert_data(data),
            Step::DeleteData { data } => self.delete_data(data),
            Step::DeleteInsert { delete, insert, using, pattern } => {
                self.delete_insert(delete, insert, Where { pattern, using: using.as_ref(), base_iri })?;
            }
            Step::Create { silent, graph } => self.create(graph, *silent)?,
            Step::Clear { silent, graph } => {
                let targets = self.targets(graph, *silent)?;
                targets.into_iter().for_each(|graph| self.graphs.clear(graph));
            }
            Step::Drop { silent, graph } => {
                let targets = self.targets(graph, *silent)?;
                targets.into_iter().for_each(|graph| self.graphs.drop_graph(graph));
            }
            // The parser refuses LOAD, and drops LOAD SILENT.
            Step::Load { .. } => {}
        }
        Ok(())
    }

    fn insert_data(&mut self, data: &[Quad]) {
        let mut terms = Terms { dictionary: self.dictionary, blanks: HashMap::new() };
        for quad in data {
            let graph = terms.graph_name(&quad.graph_name);
            let subject = terms.own(&quad.subject.clone().into());
            let predicate = quad.predicate.clone().into();
            let object = terms.own(&quad.object);
            let triple = [subject, predicate, object].map(|term| terms.intern(&term));
            self.graphs.insert(graph, triple);
        }
    }

    fn delete_data(&mut self, data: &[GroundQuad]) {
        for quad in data {
            let terms = [quad.subject.clone().into(), quad.predicate.clone().into(), quad.object.clone().into()];
            if let (Some(graph), Some(triple)) = (self.known_name(&quad.graph_name), self.lookup(&terms)) {
                self.graphs.remove(graph, triple);
            }
        }
    }

    /// All solutions are found first; then everything is deleted, then everything inserted.
    fn delete_insert(
        &mut self,
        delete: &[GroundQuadPattern],
        insert: &[QuadPattern],
        asked: Where<'_>,
    ) -> Result<(), EngineError> {
        let delete: Vec<Template> = delete.iter().map(Template::from_ground).collect();
        let insert: Vec<Template> = insert.iter().map(Template::from_pattern).collect();
        let (pattern, mut variables) = (evaluable(asked.pattern), Vec::new());
        delete.iter().chain(&insert).for_each(|template| template.variables(&mut variables));
        let solutions = within(|| {
            ask_static(
                Where { pattern: &pattern, ..asked },
                &variables,
                &self.graphs,
                self.dictionary,
                &mut self.budget,
            )
        });
        let solutions = solutions.map_err(too_costly)?;
        let solutions = solutions.map_err(|error| EngineError::UpdateFailed { reason: error.to_string() })?;
        let triples = (solutions.count() as u64).saturating_mul((delete.len() + insert.len()) as u64);
        within(|| self.budget.spend(triples.saturating_mul(TRIPLE_UNITS))).map_err(too_costly)?;
        self.replace(&delete, &insert, &variables, &solutions);
        Ok(())
    }

    /// Deletes and inserts the quads that the templates produce for the solutions. Ids are buffered, because everything
    /// is deleted before anything is inserted.
    fn replace(&mut self, delete: &[Template], insert: &[Template], variables: &[Variable], solutions: &Solutions) {
        let mut terms = Terms { dictionary: self.dictionary, blanks: HashMap::new() };
        let (mut deletions, mut insertions) = (Vec::new(), Vec::new());
        for solution in solutions.iter() {
            let bound = Bound { variables, solution };
            for template in delete {
                let quad = template.fill(&bound, &mut terms);
                deletions.extend(quad.and_then(|quad| terms.known(&quad)));
            }
            for template in insert {
                let quad = template.fill(&bound, &mut terms);
                insertions.extend(quad.map(|quad| terms.interned(&quad)));
            }
            terms.blanks.clear();
        }
        for (graph, triple) in deletions {
            self.graphs.remove(graph, triple);
        }
        for (graph, triple) in insertions {
            self.graphs.insert(graph, triple);
        }
    }

    fn create(&mut self, graph: &NamedNode, silent: bool) -> Result<(), EngineError> {
        let name = self.dictionary.intern_static(graph.as_ref().into());
        if self.graphs.create(name) || silent {
            return Ok(());
        }
        Err(EngineError::GraphExists { graph: graph.to_string() })
    }

    /// The graphs that CLEAR or DROP names.
    fn targets(&self, target: &GraphTarget, silent: bool) -> Result<Vec<GraphId>, EngineError> {
        let named = || self.graphs.named().keys().map(|name| Some(*name));
        match target {
            GraphTarget::DefaultGraph => Ok(vec![None]),
            GraphTarget::NamedGraphs => Ok(named().collect()),
            GraphTarget::AllGraphs => Ok(std::iter::once(None).chain(named()).collect()),
            GraphTarget::NamedNode(graph) => match self.known(graph) {
                None if silent => Ok(vec![]),
                None => Err(unknown_graph(graph.as_ref().into())),
                name => Ok(vec![name]),
            },
        }
    }

    /// A named graph, if it exists.
    fn known(&self, graph: &NamedNode) -> Option<TermId> {
        let id = self.dictionary.lookup(graph.as_ref().into())?;
        self.graphs.named().contains_key(&id).then_some(id)
    }

    fn known_name(&self, graph: &GraphName) -> Option<GraphId> {
        match graph {
            GraphName::DefaultGraph => Some(None),
            GraphName::NamedNode(node) => self.known(node).map(Some),
        }
    }

    /// A triple that may exist: all its terms are known.
    fn lookup(&self, triple: &[Term; 3]) -> Option<EncodedTriple> {
        lookup(self.dictionary, triple)
    }
}

fn too_costly(breach: Breach) -> EngineError {
    EngineError::TooCostly { what: "the update".to_owned(), reason: breach.to_string() }
}

fn lookup(dictionary: &Dictionary, [s, p, o]: &[Term; 3]) -> Option<EncodedTriple> {
    let known = |term: &Term| dictionary.lookup(term.as_ref());
    Some([known(s)?, known(p)?, known(o)?])
}

/// A graph name (unless it is the default graph) and a triple.
type FilledQuad = (Option<Term>, [Term; 3]);

/// Encodes terms for the graphs; a blank node label denotes one node, within one operation or for one solution.
struct Terms<'a> {
    dictionary: &'a mut Dictionary,
    blanks: HashMap<BlankNode, Term>,
}

impl Terms<'_> {
    fn intern(&mut self, term: &Term) -> TermId {
        self.dictionary.intern_static(term.as_ref())
    }

    /// The ids of a quad that may exist.
    fn known(&self, (graph, triple): &FilledQuad) -> Option<(GraphId, EncodedTriple)> {
        let graph = match graph {
            None => None,
            Some(name) => Some(self.dictionary.lookup(name.as_ref())?),
        };
        Some((graph, lookup(self.dictionary, triple)?))
    }

    fn interned(&mut self, (graph, [s, p, o]): &FilledQuad) -> (GraphId, EncodedTriple) {
        let graph = graph.as_ref().map(|name| self.intern(name));
        (graph, [s, p, o].map(|term| self.intern(term)))
    }

    fn graph_name(&mut self, graph: &GraphName) -> GraphId {
        match graph {
            GraphName::DefaultGraph => None,
            GraphName::NamedNode(node) => Some(self.dictionary.intern_static(node.as_ref().into())),
        }
    }

    fn fresh(&mut self, label: &BlankNode) -> Term {
        let dictionary = &mut *self.dictionary;
        let fresh = || {
            let id = dictionary.fresh_blank();
            dictionary.term(id)
        };
        self.blanks.entry(label.clone()).or_insert_with(fresh).clone()
    }

    /// A term of the request itself, whose blank nodes are new.
    fn own(&mut self, term: &Term) -> Term {
        match term {
            Term::BlankNode(label) => self.fresh(label),
            Term::Triple(triple) => {
                let subject = self.own(&triple.subject.clone().into());
                let object = self.own(&triple.object);
                triple_term(subject, triple.predicate.clone(), object).unwrap_or_else(|| term.clone())
            }
            other => other.clone(),
        }
    }

    /// A term of a solution: an unknown blank node was created by BNODE(), with a random label.
    fn found(&mut self, term: &Kept) -> Option<Term> {
        match term {
            Kept::Unbound => None,
            Kept::Known(id) => Some(self.dictionary.term(*id)),
            Kept::Made(term) => match term.as_ref() {
                Term::BlankNode(label) => Some(self.fresh(label)),
                other => Some(other.clone()),
            },
        }
    }
}

/// A solution with its variables.
struct Bound<'a> {
    variables: &'a [Variable],
    solution: &'a [Kept],
}

impl Bound<'_> {
    fn get(&self, variable: &Variable, terms: &mut Terms<'_>) -> Option<Term> {
        let at = self.variables.iter().position(|v| v == variable)?;
        terms.found(&self.solution[at])
    }
}

/// A quad of DELETE or INSERT.
struct Template {
    graph: GraphNamePattern,
    triple: TriplePattern,
}

impl Template {
    fn from_pattern(quad: &QuadPattern) -> Self {
        let triple = TriplePattern {
            subject: quad.subject.clone(),
            predicate: quad.predicate.clone(),
            object: quad.object.clone(),
        };
        Self { graph: quad.graph_name.clone(), triple }
    }

    fn from_ground(quad: &GroundQuadPattern) -> Self {
        let triple = TriplePattern {
            subject: from_ground(&quad.subject),
            predicate: quad.predicate.clone(),
            object: from_ground(&quad.object),
        };
        Self { graph: quad.graph_name.clone(), triple }
    }

    fn variables(&self, found: &mut Vec<Variable>) {
        if let GraphNamePattern::Variable(variable) = &self.graph {
            note(variable, found);
        }
        variables_of(&self.triple, found);
    }

    /// The quad for a solution; `None` if a term is unbound or not allowed in its position.
    fn fill(&self, bound: &Bound<'_>, terms: &mut Terms<'_>) -> Option<FilledQuad> {
        let graph = match &self.graph {
            GraphNamePattern::DefaultGraph => None,
            GraphNamePattern::NamedNode(node) => Some(node.clone().into()),
            GraphNamePattern::Variable(variable) => Some(bound.get(variable, terms).filter(is_node)?),
        };
        let triple = fill_triple(&self.triple, bound, terms)?;
        Some((graph, [triple.subject.into(), triple.predicate.into(), triple.object]))
    }
}

fn is_node(term: &Term) -> bool {
    matches!(term, Term::NamedNode(_) | Term::BlankNode(_))
}

fn note(variable: &Variable, found: &mut Vec<Variable>) {
    if !found.contains(variable) {
        found.push(variable.clone());
    }
}

fn variables_of(triple: &TriplePattern, found: &mut Vec<Variable>) {
    for term in [&triple.subject, &triple.object] {
        match term {
            TermPattern::Variable(variable) => note(variable, found),
            TermPattern::Triple(inner) => variables_of(inner, found),
            _ => {}
        }
    }
    if let NamedNodePattern::Variable(variable) = &triple.predicate {
        note(variable, found);
    }
}

fn fill_triple(triple: &TriplePattern, bound: &Bound<'_>, terms: &mut Terms<'_>) -> Option<Triple> {
    let subject = fill_term(&triple.subject, bound, terms)?;
    let predicate = match &triple.predicate {
        NamedNodePattern::NamedNode(node) => node.clone(),
        NamedNodePattern::Variable(variable) => match bound.get(variable, terms)? {
            Term::NamedNode(node) => node,
            _ => return None,
        },
    };
    triple_of(subject, predicate, fill_term(&triple.object, bound, terms)?)
}

fn fill_term(term: &TermPattern, bound: &Bound<'_>, terms: &mut Terms<'_>) -> Option<Term> {
    Some(match term {
        TermPattern::NamedNode(node) => node.clone().into(),
        TermPattern::Literal(literal) => literal.clone().into(),
        TermPattern::BlankNode(label) => terms.fresh(label),
        TermPattern::Triple(inner) => fill_triple(inner, bound, terms)?.into(),
        TermPattern::Variable(variable) => bound.get(variable, terms)?,
    })
}

fn triple_of(subject: Term, predicate: NamedNode, object: Term) -> Option<Triple> {
    let subject: NamedOrBlankNode = match subject {
        Term::NamedNode(node) => node.into(),
        Term::BlankNode(node) => node.into(),
        _ => return None,
    };
    Some(Triple { subject, predicate, object })
}

fn triple_term(subject: Term, predicate: NamedNode, object: Term) -> Option<Term> {
    triple_of(subject, predicate, object).map(Term::from)
}

fn from_ground(term: &GroundTermPattern) -> TermPattern {
    match term {
        GroundTermPattern::NamedNode(node) => node.clone().into(),
        GroundTermPattern::Literal(literal) => literal.clone().into(),
        GroundTermPattern::Variable(variable) => variable.clone().into(),
        GroundTermPattern::Triple(triple) => TermPattern::Triple(Box::new(TriplePattern {
            subject: from_ground(&triple.subject),
            predicate: triple.predicate.clone(),
            object: from_ground(&triple.object),
        })),
    }
}
