//! Several windows under one name: `WINDOW ?w`, and `STREAM ?s` whose streams static data names.

use super::Engine;
use crate::error::EngineError;
use crate::limits::{Breach, Budget, within};
use crate::parse::{ContinuousQuery, StreamName};
use crate::plan::{Costly, PlanError, Unsupported, WindowFamily, streams_of};
use crate::reevaluate::{Question, Source, Sources};
use oxrdf::{NamedNode, Term, Variable};
use spargebra::Query;
use spargebra::algebra::GraphPattern;
use std::collections::BTreeSet;

const STREAMS_MAX: usize = 1_000;

impl Engine {
    /// For each window of a variable stream, the streams that static data names now.
    pub(super) fn named_streams(&self, definition: &ContinuousQuery) -> Result<Vec<Vec<NamedNode>>, EngineError> {
        let names: Vec<NamedNode> = definition.windows.iter().map(|window| window.name.clone()).collect();
        let variables = definition.windows.iter().filter_map(|window| match &window.stream {
            StreamName::Variable(variable) => Some(variable),
            StreamName::Iri(_) => None,
        });
        variables.map(|variable| Ok(self.streams_named(variable, definition, &names)?)).collect()
    }

    fn streams_named(
        &self,
        variable: &Variable,
        definition: &ContinuousQuery,
        windows: &[NamedNode],
    ) -> Result<Vec<NamedNode>, PlanError> {
        let dataset = definition.query.dataset();
        let id = |name: &NamedNode| self.dictionary.lookup(name.as_ref().into());
        let from = dataset.map(|dataset| dataset.default.as_slice()).filter(|graphs| !graphs.is_empty());
        let default = from.map_or_else(
            || vec![Source::StaticDefault],
            |graphs| graphs.iter().filter_map(id).map(Source::Graph).collect(),
        );
        let named = dataset.and_then(|dataset| dataset.named.as_ref());
        let named = named.map(|names| names.iter().filter_map(id).collect());
        let sources = Sources { default, named, windows: vec![] };
        let mut budget = Budget::new(self.options.limits);
        let mut ask = |pattern: &GraphPattern| {
            let base = definition.query.base_iri().cloned();
            let question =
                Question::new(pattern.clone(), vec![variable.clone()], sources.clone(), base, &self.options.limits);
            let Ok(question) = question else { return BTreeSet::new() };
            let solutions = question.solutions(&self.dictionary, &self.graphs, &[], &mut budget);
            let solutions = solutions.into_iter().flatten().flatten();
            solutions.filter_map(|term| if let Term::NamedNode(node) = term { Some(node) } else { None }).collect()
        };
        let (Query::Select { pattern, .. }
        | Query::Construct { pattern, .. }
        | Query::Describe { pattern, .. }
        | Query::Ask { pattern, .. }) = &definition.query;
        let streams = within(|| streams_of(variable, pattern, windows, &mut ask));
        let too_costly = |breach: Breach| Costly::Streams { variable: variable.clone(), limit: breach.limit() };
        let streams = streams.map_err(too_costly)?.unwrap_or_default();
        match streams.len() {
            0 => Err(PlanError::NoStream { variable: variable.clone() }),
            1..=STREAMS_MAX => Ok(streams.into_iter().collect()),
            found => Err(Unsupported::Streams { variable: variable.clone(), found, most: STREAMS_MAX }.into()),
        }
    }
}

/// Replaces each window of a variable stream by windows of these streams.
pub(super) fn stream_families(definition: &mut ContinuousQuery, streams: &[Vec<NamedNode>]) -> Vec<WindowFamily> {
    let mut families = Vec::new();
    let mut streams = streams.iter();
    for at in 0..definition.windows.len() {
        let StreamName::Variable(variable) = definition.windows[at].stream.clone() else { continue };
        let name = definition.windows[at].name.clone();
        let mut members = Vec::new();
        for (number, stream) in streams.next().into_iter().flatten().enumerate() {
            let mut window = definition.windows[at].clone();
            window.name = NamedNode::new_unchecked(format!("{}:{}", name.as_str(), number + 1));
            window.stream = StreamName::Iri(stream.clone());
            if number == 0 {
                members.push((at, stream.clone()));
                definition.windows[at] = window;
            } else {
                members.push((definition.windows.len(), stream.clone()));
                definition.windows.push(window);
            }
        }
        families.push(WindowFamily { name: name.into(), variable, members });
    }
    families
}

/// `WINDOW ?w` ranges over the windows that were declared by name.
pub(super) fn window_families(definition: &ContinuousQuery) -> Vec<WindowFamily> {
    let in_default = |at: &usize| definition.default_graph.windows.contains(at);
    let named = || definition.windows.iter().enumerate().filter(|(at, _)| !in_default(at));
    let members = || named().map(|(at, window)| (at, window.name.clone())).collect();
    let family = |variable: &Variable| WindowFamily {
        name: variable.clone().into(),
        variable: variable.clone(),
        members: members(),
    };
    definition.window_variables.iter().map(family).collect()
}
