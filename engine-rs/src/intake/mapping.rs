//! Row mappings: a SPARQL CONSTRUCT whose variables are names of columns.
//!
//! Input: the text. Output: the steps that turn one row into triples. The row is the initial solution of the WHERE group;
//! BIND, FILTER and VALUES apply to it. There is no data to match patterns against, so everything else is refused with
//! its position.

use crate::algebra::visit_expression;
use crate::error::EngineError;
use crate::expr::CompileError;
use crate::parse::{parse_mapping, suggestion};
use crate::plan::{PlanError, Unmappable, unknown_function};
use oxiri::Iri;
use oxrdf::Variable;
use spargebra::Query;
use spargebra::algebra::{Expression, GraphPattern};
use spargebra::term::{GroundTerm, NamedNodePattern, TermPattern, TriplePattern};

/// A mapping that has been read and checked.
#[derive(Clone, PartialEq, Debug)]
pub struct RowMapping {
    text: String,
    pub(super) base: Option<Iri<String>>,
    pub(super) template: Vec<TriplePattern>,
    pub(super) steps: Vec<Step>,
    /// The variables that columns bind, in the order of the text.
    columns: Vec<Variable>,
    /// The variables of VALUES that are columns if the data has them.
    tables: Vec<Variable>,
}

/// The steps applied to the solutions of a row, in order.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Step {
    Bind(Variable, Expression),
    Filter(Expression),
    Values(Vec<Variable>, Vec<Vec<Option<GroundTerm>>>),
}

impl RowMapping {
    /// Reads a mapping.
    ///
    /// # Errors
    /// When the text is not a CONSTRUCT query, or does more than BIND, FILTER and VALUES.
    pub fn parse(text: &str) -> Result<Self, EngineError> {
        Self::read(text).map_err(|error| error.located(text, |shorter| Self::read(shorter).err()))
    }

    /// Reads a mapping; errors about its content have no position.
    fn read(text: &str) -> Result<Self, EngineError> {
        let query = parse_mapping(text)?;
        let Query::Construct { template, dataset, pattern, base_iri } = query else {
            return Err(refused(Unmappable::Form));
        };
        if dataset.is_some() {
            return Err(refused(Unmappable::Dataset));
        }
        // The parser wraps the pattern of a CONSTRUCT in one projection to all variables.
        let group = match pattern {
            GraphPattern::Project { inner, .. } => *inner,
            other => other,
        };
        let mut steps = Vec::new();
        flatten(&group, &mut steps).map_err(refused)?;
        check_template(&template).map_err(refused)?;
        let (columns, tables) = find_columns(&steps, &template).map_err(refused)?;
        let mapping = Self { text: text.to_owned(), base: base_iri, template, steps, columns, tables };
        check_functions(&mapping.steps).map_err(refused)?;
        // Report expressions that cannot be compiled now, not at the first row.
        super::rows::RowMapper::new(&mapping).map_err(refused)?;
        Ok(mapping)
    }

    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The columns the mapping reads; those that occur only in VALUES come last and may be missing.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().chain(&self.tables).map(Variable::as_str)
    }

    /// Checks that the data has all columns the mapping reads.
    ///
    /// # Errors
    /// When one is missing.
    pub fn check_columns(&self, given: &[&str]) -> Result<(), EngineError> {
        let mut needed = self.columns.iter().map(Variable::as_str);
        let Some(column) = needed.find(|column| !given.contains(column)) else { return Ok(()) };
        let near = suggestion(column, given.iter().copied()).map(|near| format!("{near} ")).unwrap_or_default();
        let hint = format!("{near}the columns are {}", given.join(", "));
        Err(EngineError::UnknownColumn { column: format!("?{column}"), hint })
    }
}

/// Variables that no step binds are columns; those of VALUES may be.
fn find_columns(steps: &[Step], template: &[TriplePattern]) -> Result<(Vec<Variable>, Vec<Variable>), Unmappable> {
    let (mut columns, mut bound, mut tables) = (Vec::new(), Vec::new(), Vec::new());
    let read = |variable: &Variable, columns: &mut Vec<Variable>, bound: &[Variable]| {
        if !bound.contains(variable) && !columns.contains(variable) {
            columns.push(variable.clone());
        }
    };
    for step in steps {
        match step {
            Step::Bind(variable, expression) => {
                variables_of(expression, &mut |used| read(used, &mut columns, &bound));
                if columns.contains(variable) {
                    return Err(Unmappable::BoundColumn { variable: variable.clone() });
                }
                bound.push(variable.clone());
            }
            Step::Filter(expression) => variables_of(expression, &mut |used| read(used, &mut columns, &bound)),
            Step::Values(variables, _) => {
                let new = variables.iter().filter(|variable| !bound.contains(variable) && !columns.contains(variable));
                tables.extend(new.cloned().collect::<Vec<_>>());
                bound.extend(variables.iter().cloned());
            }
        }
    }
    for pattern in template {
        template_variables(pattern).for_each(|variable| read(variable, &mut columns, &bound));
    }
    Ok((columns, tables))
}

/// A mapping cannot return warnings, so an expression that would fail for every row is refused.
fn check_functions(steps: &[Step]) -> Result<(), CompileError> {
    let mut expressions = steps.iter().filter_map(|step| match step {
        Step::Bind(_, expression) | Step::Filter(expression) => Some(expression),
        Step::Values(..) => None,
    });
    match expressions.find_map(unknown_function) {
        Some(iri) => Err(CompileError::UnknownFunction { iri: iri.clone() }),
        None => Ok(()),
    }
}

fn refused(why: impl Into<PlanError>) -> EngineError {
    why.into().into()
}

fn flatten(pattern: &GraphPattern, steps: &mut Vec<Step>) -> Result<(), Unmappable> {
    match pattern {
        GraphPattern::Bgp { patterns } if patterns.is_empty() => Ok(()),
        GraphPattern::Extend { inner, variable, expression } => {
            flatten(inner, steps)?;
            steps.push(Step::Bind(variable.clone(), expression.clone()));
            Ok(())
        }
        GraphPattern::Filter { expr, inner } => {
            flatten(inner, steps)?;
            steps.push(Step::Filter(expr.clone()));
            Ok(())
        }
        GraphPattern::Values { variables, bindings } => {
            steps.push(Step::Values(variables.clone(), bindings.clone()));
            Ok(())
        }
        GraphPattern::Join { left, right } if matches!(**right, GraphPattern::Values { .. }) => {
            flatten(left, steps)?;
            flatten(right, steps)
        }
        other => Err(unmappable(other)),
    }
}

/// The name of the pattern for messages, and the keyword that introduces it.
fn unmappable(pattern: &GraphPattern) -> Unmappable {
    let (name, keyword) = match pattern {
        GraphPattern::Path { .. } => ("a path in WHERE", "WHERE"),
        GraphPattern::Join { .. } => ("a group or a triple pattern inside WHERE", "WHERE"),
        GraphPattern::LeftJoin { .. } => ("OPTIONAL", "OPTIONAL"),
        GraphPattern::Union { .. } => ("UNION", "UNION"),
        GraphPattern::Graph { .. } => ("GRAPH", "GRAPH"),
        GraphPattern::Minus { .. } => ("MINUS", "MINUS"),
        GraphPattern::OrderBy { .. } => ("ORDER BY", "ORDER"),
        GraphPattern::Distinct { .. } | GraphPattern::Reduced { .. } | GraphPattern::Project { .. } => {
            ("SELECT", "SELECT")
        }
        GraphPattern::Slice { .. } => ("LIMIT", "LIMIT"),
        GraphPattern::Group { .. } => ("GROUP BY", "GROUP"),
        GraphPattern::Service { .. } => ("SERVICE", "SERVICE"),
        _ => ("a triple pattern in WHERE", "WHERE"),
    };
    Unmappable::Pattern { name, keyword }
}

fn check_template(template: &[TriplePattern]) -> Result<(), Unmappable> {
    let is_triple = |term: &TermPattern| matches!(term, TermPattern::Triple(_));
    match template.iter().any(|pattern| is_triple(&pattern.subject) || is_triple(&pattern.object)) {
        true => Err(Unmappable::TripleTerm),
        false => Ok(()),
    }
}

fn template_variables(pattern: &TriplePattern) -> impl Iterator<Item = &Variable> {
    let predicate = match &pattern.predicate {
        NamedNodePattern::Variable(variable) => Some(variable),
        NamedNodePattern::NamedNode(_) => None,
    };
    as_variable(&pattern.subject).into_iter().chain(predicate).chain(as_variable(&pattern.object))
}

fn as_variable(term: &TermPattern) -> Option<&Variable> {
    match term {
        TermPattern::Variable(variable) => Some(variable),
        _ => None,
    }
}

fn variables_of(expression: &Expression, visit: &mut impl FnMut(&Variable)) {
    visit_expression(expression, &mut |e| {
        if let Expression::Variable(variable) | Expression::Bound(variable) = e {
            visit(variable);
        }
    });
}
