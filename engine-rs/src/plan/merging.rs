//! Warns about aggregates over set windows that would count equal readings once.
//!
//! A set window shows a triple once, however often it arrived. An aggregate that depends on copies (any but MIN, MAX,
//! SAMPLE and those with DISTINCT) may then surprise its author. Whether copies occur depends on the data, but the
//! query text gives an indication. A pattern *keeps readings apart* if its subject is a node of its own: neither a
//! constant nor a GROUP BY variable, and described by another pattern of the same window with another predicate. This
//! is the shape of SOSA, SSN and SAREF observations, which have a sensor, a property or a time beside their value. A
//! pattern inside `GRAPH ?g` of a window keeps events apart unless the query groups by ?g. The subject of a pattern is
//! a resource, which users expect to be counted once. What this rule cannot see, the plan counts at run time
//! (`merged`).

use super::blanks::{is_hidden, open_blanks};
use super::scope::{self, Vars};
use super::spelling::Spelling;
use super::warnings::Warning;
use super::wording::aggregate_text;
use crate::algebra::{self, children_and_exists};
use crate::parse::{AGGREGATE_PREFIX, ContentSemantics, ContinuousQuery, Position, WindowKind, position_of_call};
use oxrdf::Variable;
use spargebra::Query;
use spargebra::algebra::{AggregateExpression, AggregateFunction, Expression, GraphPattern};
use spargebra::term::{NamedNodePattern, TermPattern, TriplePattern};

/// The aggregates that count what set windows may have merged.
pub(super) fn merging(definition: &ContinuousQuery, spelling: &Spelling<'_>) -> Vec<Warning> {
    if definition.semantics == ContentSemantics::Bag {
        return vec![];
    }
    let (Query::Select { pattern, .. }
    | Query::Construct { pattern, .. }
    | Query::Describe { pattern, .. }
    | Query::Ask { pattern, .. }) = &definition.query;
    let mut walk = Walk { definition, spelling, found: vec![] };
    walk.groups(pattern, &Source::Default);
    walk.found
}

/// What a pattern reads.
#[derive(Clone)]
enum Source {
    Default,
    Static,
    Window { window: usize, graph: Option<Variable> },
}

/// A triple pattern over a window.
struct Reading {
    triple: TriplePattern,
    window: usize,
    graph: Option<Variable>,
    /// The branch taken at each enclosing UNION: patterns in different branches never share a solution.
    sides: Vec<(usize, bool)>,
}

/// The input of a group.
#[derive(Default)]
struct Counted {
    readings: Vec<Reading>,
    /// The variables that BIND computes, and from which.
    computed: Vec<(Variable, Vars)>,
    n_unions: usize,
}

struct Walk<'a> {
    definition: &'a ContinuousQuery,
    spelling: &'a Spelling<'a>,
    found: Vec<Warning>,
}

impl Walk<'_> {
    fn groups(&mut self, pattern: &GraphPattern, source: &Source) {
        if let GraphPattern::Group { inner, variables, aggregates } = pattern {
            let mut counted = Counted::default();
            self.gather(inner, source, &mut vec![], &mut counted);
            for (_, aggregate) in aggregates {
                let merged = counted.merged(aggregate, variables);
                self.found.extend(merged.map(|reading| self.warning(aggregate, reading)));
            }
        }
        let inside = match pattern {
            GraphPattern::Graph { name, .. } => self.inside(name, source),
            _ => source.clone(),
        };
        children_and_exists(pattern).into_iter().for_each(|child| self.groups(child, &inside));
    }

    fn inside(&self, name: &NamedNodePattern, source: &Source) -> Source {
        let declared = |name: &NamedNodePattern| match name {
            NamedNodePattern::NamedNode(name) => self.definition.windows.iter().position(|w| w.name == *name),
            NamedNodePattern::Variable(name) if self.definition.window_variables.contains(name) => Some(0),
            NamedNodePattern::Variable(_) => None,
        };
        match (declared(name), source) {
            (Some(window), _) => Source::Window { window, graph: None },
            (None, Source::Window { window, .. }) => {
                Source::Window { window: *window, graph: scope::graph_variable(name).cloned() }
            }
            (None, _) => Source::Static,
        }
    }

    /// Collects what the enclosing group counts; nested groups and DISTINCT count for themselves.
    fn gather(&self, pattern: &GraphPattern, source: &Source, sides: &mut Vec<(usize, bool)>, counted: &mut Counted) {
        match pattern {
            GraphPattern::Group { .. } | GraphPattern::Distinct { .. } | GraphPattern::Values { .. } => {}
            GraphPattern::Bgp { patterns } => {
                counted.readings.extend(patterns.iter().filter_map(|triple| self.reading(triple, source, sides)));
            }
            GraphPattern::Union { left, right } => {
                let number = counted.n_unions;
                counted.n_unions += 1;
                for (part, side) in [(left, false), (right, true)] {
                    sides.push((number, side));
                    self.gather(part, source, sides, counted);
                    sides.pop();
                }
            }
            GraphPattern::Minus { left, .. } => self.gather(left, source, sides, counted),
            GraphPattern::Graph { name, inner } => self.gather(inner, &self.inside(name, source), sides, counted),
            other => {
                if let GraphPattern::Extend { variable, expression, .. } = other {
                    counted.computed.push((variable.clone(), scope::mentioned(expression)));
                }
                algebra::children(other).into_iter().for_each(|child| self.gather(child, source, sides, counted));
            }
        }
    }

    fn reading(&self, triple: &TriplePattern, source: &Source, sides: &[(usize, bool)]) -> Option<Reading> {
        let (window, graph) = match source {
            Source::Window { window, graph } => (*window, graph.clone()),
            Source::Default => (*self.definition.default_graph.windows.first()?, None),
            Source::Static => return None,
        };
        // Events of one instant are usually different readings.
        let is_now = self.definition.windows.get(window).is_none_or(|clause| clause.kind == WindowKind::Now);
        let reading = || Reading { triple: open_blanks(triple), window, graph, sides: sides.to_vec() };
        (!is_now).then(reading)
    }

    fn warning(&self, aggregate: &AggregateExpression, reading: &Reading) -> Warning {
        let called = self.spelling.text(&aggregate_text(aggregate));
        let pattern = self.spelling.text(&reading.triple.to_string());
        let window = self.spelling.iri(&self.definition.windows[reading.window].name);
        Warning {
            code: "aggregate.merges",
            message: format!(
                "{called} counts equal readings once: the window {window} is a set, and nothing keeps \
                              two equal triples {pattern} apart"
            ),
            hint: "choose bag semantics (SEMANTICS BAG in the brackets of the window, the option semantics, or \
                   --semantics bag), or give every reading a node of its own, as SOSA observations have"
                .to_owned(),
            position: position_of(aggregate, &self.definition.text),
        }
    }
}

impl Counted {
    /// A pattern whose copies the aggregate does not count.
    fn merged(&self, aggregate: &AggregateExpression, keys: &[Variable]) -> Option<&Reading> {
        if ignores_copies(aggregate) {
            return None;
        }
        let mut values = self.values(aggregate);
        values.retain(|value| !keys.contains(value));
        if values.is_empty() {
            return self.merged_solution(keys);
        }
        self.readings.iter().find(|reading| self.binds_value(reading, &values) && !self.keeps_apart(reading, keys))
    }

    /// For COUNT(*), every variable that is only ever a value counts; a window whose variables are all grouped yields
    /// one.
    fn merged_solution(&self, keys: &[Variable]) -> Option<&Reading> {
        let is_open = |variable: &Variable| !keys.contains(variable);
        let values: Vars =
            self.readings.iter().flat_map(Reading::variables).filter(|variable| is_open(variable)).cloned().collect();
        let is_closed = |reading: &&Reading| {
            let same_window = self.readings.iter().filter(|other| other.window == reading.window);
            same_window.flat_map(|other| other.variables().chain(&other.graph)).all(|variable| !is_open(variable))
        };
        let by_value = |reading: &&Reading| self.binds_value(reading, &values) && !self.keeps_apart(reading, keys);
        self.readings.iter().find(by_value).or_else(|| self.readings.iter().find(is_closed))
    }

    /// The variables of the argument, including those it is computed from.
    fn values(&self, aggregate: &AggregateExpression) -> Vars {
        let mut values = argument(aggregate).map(scope::mentioned).unwrap_or_default();
        let mut waiting: Vec<Variable> = values.iter().cloned().collect();
        while let Some(variable) = waiting.pop() {
            for source in self.computed.iter().filter(|(name, _)| *name == variable).flat_map(|(_, vars)| vars) {
                if values.insert(source.clone()) {
                    waiting.push(source.clone());
                }
            }
        }
        values
    }

    /// Whether the object is one of the values, and not a resource that other patterns describe.
    fn binds_value(&self, reading: &Reading, values: &Vars) -> bool {
        let is_described =
            |value: &Variable| self.readings.iter().any(|reading| variable(&reading.triple.subject) == Some(value));
        variable(&reading.triple.object).is_some_and(|value| values.contains(value) && !is_described(value))
    }

    fn keeps_apart(&self, reading: &Reading, keys: &[Variable]) -> bool {
        if reading.graph.as_ref().is_some_and(|graph| !keys.contains(graph)) {
            return true;
        }
        let Some(subject) = variable(&reading.triple.subject).filter(|subject| !keys.contains(subject)) else {
            return false;
        };
        let speaks_of_it = |other: &&Reading| {
            [&other.triple.subject, &other.triple.object].into_iter().any(|term| variable(term) == Some(subject))
        };
        let others = self.readings.iter().filter(|other| reading.meets(other));
        others.filter(speaks_of_it).any(|other| other.triple.predicate != reading.triple.predicate)
    }
}

impl Reading {
    fn variables(&self) -> impl Iterator<Item = &Variable> {
        [&self.triple.subject, &self.triple.object].into_iter().filter_map(variable)
    }

    /// Whether both can occur in one solution, from the same window.
    fn meets(&self, other: &Self) -> bool {
        let apart = |side: &(usize, bool)| other.sides.contains(&(side.0, !side.1));
        self.window == other.window && !self.sides.iter().any(apart)
    }
}

fn variable(term: &TermPattern) -> Option<&Variable> {
    match term {
        TermPattern::Variable(variable) => Some(variable),
        _ => None,
    }
}

fn ignores_copies(aggregate: &AggregateExpression) -> bool {
    match aggregate {
        AggregateExpression::CountSolutions { distinct } => *distinct,
        AggregateExpression::FunctionCall { name, distinct, .. } => {
            *distinct
                || match name {
                    AggregateFunction::Min | AggregateFunction::Max | AggregateFunction::Sample => true,
                    AggregateFunction::Custom(iri) => iri.as_str().ends_with(":distinct"),
                    _ => false,
                }
        }
    }
}

fn argument(aggregate: &AggregateExpression) -> Option<&Expression> {
    match aggregate {
        AggregateExpression::CountSolutions { .. } => None,
        AggregateExpression::FunctionCall { expr, .. } => Some(expr),
    }
}

fn position_of(aggregate: &AggregateExpression, text: &str) -> Option<Position> {
    let name = match aggregate {
        AggregateExpression::CountSolutions { .. } => "COUNT".to_owned(),
        AggregateExpression::FunctionCall { name: AggregateFunction::Custom(iri), .. } => {
            let own = iri.as_str().strip_prefix(AGGREGATE_PREFIX)?;
            own.split(':').next().unwrap_or(own).to_owned()
        }
        AggregateExpression::FunctionCall { name, .. } => name.to_string(),
    };
    let mentioned = argument(aggregate).map(scope::mentioned).unwrap_or_default();
    let written = mentioned.iter().find(|variable| !is_hidden(variable)).map(Variable::as_str);
    // AVERAGE is another spelling of AVG.
    position_of_call(text, &name, written).or_else(|| position_of_call(text, "AVERAGE", written))
}
