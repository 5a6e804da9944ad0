//! Describes a query and its plan, before and after registration.

use super::Engine;
use super::registry::{QueryId, build_apart, families_of};
use crate::error::EngineError;
use crate::parse::{ContinuousQuery, ParseOptions, WindowClause};
use crate::plan::{
    Answer, Explained, Part, PlanError, PlanView, PlannedQuery, Warning, WindowView, parse_with_stable_names,
};
use crate::sink::{facts_json, validation_json};
use crate::window::Rule;
use oxrdf::NamedNode;

impl Engine {
    /// Plans a query without registering it; returns its description, its plan and its warnings as JSON. The engine
    /// stays unchanged.
    ///
    /// # Errors
    /// As [`Engine::register`].
    pub fn validate(&self, text: &str, options: &ParseOptions) -> Result<String, EngineError> {
        let preview = self.preview(text, options);
        let mut plan = preview.map_err(|error| error.located(text, |shorter| self.refusal(shorter, options)))?;
        let undeclared = self.undeclared_streams(&plan);
        plan.warnings.extend(undeclared);
        Ok(validation_json(&plan))
    }

    /// The error that registering a query would return, without its position.
    pub(super) fn refusal(&self, text: &str, options: &ParseOptions) -> Option<EngineError> {
        self.preview(text, options).err()
    }

    /// The description of a registered query, as JSON.
    ///
    /// # Errors
    /// When there is no such query.
    pub fn describe(&self, id: QueryId) -> Result<String, EngineError> {
        let plan = self.plan_view(id)?;
        let graphs: Vec<_> = (0..plan.windows.len()).map(|clause| self.window_graph(id, clause)).collect();
        Ok(facts_json(&plan, &graphs))
    }

    /// Builds the query on a scratch timeline with a scratch dictionary.
    fn preview(&self, text: &str, options: &ParseOptions) -> Result<PlanView, EngineError> {
        let mut definition = parse_with_stable_names(text, options)?;
        if definition.windows.is_empty() {
            return Err(PlanError::NoWindow.into());
        }
        let named_streams = self.named_streams(&definition)?;
        let families = families_of(&mut definition, &named_streams);
        let planned = PlannedQuery::new(&definition, &families, &Part::Whole, &self.options.plan())?;
        let output = self.check_output(&definition)?;
        let (built, timeline) = build_apart(&definition, &planned, self.options.plan())?;
        let variables = match &built.answer {
            Answer::Bindings(variables) => variables.as_slice(),
            _ => &[],
        };
        let explained = Explained {
            definition: &definition,
            nodes: &built.nodes,
            vars: &built.vars,
            meanings: &built.meanings,
            leaves: timeline.leaves(),
            variables,
            output: output.as_ref().map(NamedNode::as_str),
        };
        Ok(explained.view())
    }

    fn undeclared_streams(&self, plan: &PlanView) -> Vec<Warning> {
        let mut windows: Vec<&WindowView> = plan.windows.iter().collect();
        windows.sort_by_key(|window| &window.stream.iri);
        windows.dedup_by_key(|window| &window.stream.iri);
        let warning = |window: &WindowView| Warning {
            code: "stream.undeclared",
            message: format!("the stream <{}> is not declared", window.stream.iri),
            hint: "check its IRI; registering the query declares it with default settings".to_owned(),
            position: Some(window.position),
        };
        let is_new = |window: &&WindowView| self.stream_at(&window.stream.iri).is_none();
        windows.into_iter().filter(is_new).map(warning).collect()
    }
}

/// Each clause with its rule and a number for its stream: equal streams, equal numbers.
pub(super) fn numbered_windows(definition: &ContinuousQuery) -> Vec<(usize, Rule)> {
    let same = |a: &WindowClause, b: &WindowClause| a.stream == b.stream && a.time_predicate == b.time_predicate;
    let first = |clause: &WindowClause| definition.windows.iter().position(|other| same(other, clause));
    let clauses = definition.windows.iter();
    clauses.map(|clause| (first(clause).unwrap_or_default(), Rule::new(&clause.kind, definition))).collect()
}
