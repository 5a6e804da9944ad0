//! Refuses queries at registration that are expensive for any data.
//!
//! Input: the algebra of a query and the engine's limits. Output: nothing, or the construct that is refused and why.
//! Only the query text counts here; the work budget (`limits.rs`) stops what turns out to be expensive because of the
//! data.
//!
//! A *group* is a set of parts that are joined with each other: triple patterns, paths, and complete sub-patterns
//! (sub-queries, alternatives, optional parts). Parts are *connected* if they share a variable, or if a FILTER, a BIND
//! or the condition of an OPTIONAL anywhere in the query mentions variables of both: then the author intended the
//! pairs. A part is *narrow* if a constant selects its triples (as subject, or as object of any predicate except
//! rdf:type), if it has one row, or if the query spells out its rows. A group that splits into two or more unconnected
//! parts that are not narrow is a Cartesian product.

use super::blanks::{blank_variable, is_hidden, places};
use super::error::{Costly, PlanError};
use super::logical::{Place, WindowFamily};
use super::scope::{self, Vars, graph_variable, in_scope};
use crate::algebra::{children, children_and_exists, exists, expressions};
use crate::limits::Limits;
use crate::parse::{ContinuousQuery, WindowKind};
use crate::time::Span;
use oxrdf::Variable;
use oxrdf::vocab::rdf;
use spargebra::Query;
use spargebra::algebra::{GraphPattern, PropertyPathExpression};
use spargebra::term::{NamedNodePattern, TermPattern, TriplePattern};

type Checked = Result<(), PlanError>;

/// Refuses a query that exceeds a size limit or, if the limits say so, has an expensive form.
pub(super) fn check(query: &ContinuousQuery, families: &[WindowFamily], limits: &Limits) -> Checked {
    let (Query::Select { pattern, .. }
    | Query::Construct { pattern, .. }
    | Query::Describe { pattern, .. }
    | Query::Ask { pattern, .. }) = &query.query;
    check_windows(query, limits)?;
    let n_patterns = triple_patterns(pattern);
    if let Some(limit) = limits.triple_patterns.filter(|limit| n_patterns > *limit) {
        return Err(Costly::TriplePatterns { found: n_patterns, most: limit }.into());
    }
    if !limits.refuse_costly || query.allow_cartesian {
        return Ok(());
    }
    let mut links = Vec::new();
    gather_links(pattern, &mut links);
    Form { query, families, links }.check(pattern, !query.default_graph.windows.is_empty())
}

/// The expensive form of a query, if it has one, whether or not the limits refuse it.
pub(super) fn costly_form(query: &ContinuousQuery) -> Option<PlanError> {
    let (Query::Select { pattern, .. }
    | Query::Construct { pattern, .. }
    | Query::Describe { pattern, .. }
    | Query::Ask { pattern, .. }) = &query.query;
    let mut links = Vec::new();
    gather_links(pattern, &mut links);
    let form = Form { query, families: &[], links };
    form.check(pattern, !query.default_graph.windows.is_empty()).err()
}

fn check_windows(query: &ContinuousQuery, limits: &Limits) -> Checked {
    let n_windows = query.windows.len();
    if let Some(limit) = limits.windows.filter(|limit| n_windows > *limit) {
        return Err(Costly::Windows { found: n_windows, most: limit }.into());
    }
    let Some(limit) = limits.window_width else { return Ok(()) };
    let is_wide = |kind: &WindowKind| width(kind).is_some_and(|width| width > limit);
    match query.windows.iter().find(|window| is_wide(&window.kind)) {
        None => Ok(()),
        Some(window) => Err(Costly::WindowWidth { window: window.name.clone(), most_ms: limit.as_millis() }.into()),
    }
}

/// How long events stay in a window, if time decides it.
fn width(kind: &WindowKind) -> Option<Span> {
    match kind {
        WindowKind::Step { width, .. } | WindowKind::Sliding { width } => Some(*width),
        WindowKind::Past { from, .. } => Some(*from),
        WindowKind::Elements { .. } | WindowKind::Triples { .. } | WindowKind::Now | WindowKind::All => None,
    }
}

fn triple_patterns(pattern: &GraphPattern) -> usize {
    let own = match pattern {
        GraphPattern::Bgp { patterns } => patterns.len(),
        GraphPattern::Path { .. } => 1,
        _ => 0,
    };
    own + children_and_exists(pattern).into_iter().map(triple_patterns).sum::<usize>()
}

/// Collects the sets of variables that expressions connect. Variables that only EXISTS binds do not count outside it.
fn gather_links(pattern: &GraphPattern, links: &mut Vec<Vars>) {
    match pattern {
        GraphPattern::Filter { expr, inner } => links.push(&scope::mentioned(expr) & &in_scope(inner)),
        GraphPattern::LeftJoin { expression: Some(expression), left, right } => {
            links.push(&scope::mentioned(expression) & &(&in_scope(left) | &in_scope(right)));
        }
        GraphPattern::Extend { variable, expression, inner } => {
            let mut link = &scope::mentioned(expression) & &in_scope(inner);
            link.insert(variable.clone());
            links.push(link);
        }
        _ => {}
    }
    children_and_exists(pattern).into_iter().for_each(|part| gather_links(part, links));
}

/// One of the joined parts of a group.
struct Part {
    vars: Vars,
    /// The ends of a closure path over a window.
    closure: Option<[TermPattern; 2]>,
    is_narrow: bool,
}

struct Form<'a> {
    query: &'a ContinuousQuery,
    families: &'a [WindowFamily],
    links: Vec<Vars>,
}

impl Form<'_> {
    /// Checks the group that this pattern forms, and the groups inside it.
    fn check(&self, pattern: &GraphPattern, in_window: bool) -> Checked {
        let mut parts = Vec::new();
        self.take_apart(pattern, in_window, None, &mut parts)?;
        self.check_closures(&parts)?;
        self.check_product(parts)
    }

    /// Adds the parts of the group, checking nested groups on the way.
    fn take_apart(
        &self,
        pattern: &GraphPattern,
        in_window: bool,
        graph: Option<&Variable>,
        parts: &mut Vec<Part>,
    ) -> Checked {
        match pattern {
            GraphPattern::Bgp { patterns } => {
                for triple in patterns {
                    let placed = places(triple).into_iter().filter_map(|place| match place {
                        Place::Variable(variable) => Some(variable),
                        Place::Term(_) => None,
                    });
                    let vars = placed.chain(graph.cloned()).collect();
                    parts.push(Part { vars, closure: None, is_narrow: is_picked(triple) });
                }
            }
            GraphPattern::Path { subject, path, object } => {
                let ends = [subject.clone(), object.clone()];
                let vars = ends.iter().filter_map(end_variable).chain(graph.cloned()).collect();
                let closure = (in_window && is_closure(path)).then_some(ends);
                parts.push(Part { vars, closure, is_narrow: is_narrow(pattern) });
            }
            GraphPattern::Join { left, right } => {
                self.take_apart(left, in_window, graph, parts)?;
                self.take_apart(right, in_window, graph, parts)?;
            }
            GraphPattern::LeftJoin { left, right, .. } => {
                self.take_apart(left, in_window, graph, parts)?;
                self.whole(right, in_window, graph, parts)?;
            }
            // MINUS adds no rows, so its right side is a group of its own.
            GraphPattern::Minus { left, right } => {
                self.take_apart(left, in_window, graph, parts)?;
                self.check(right, in_window)?;
            }
            GraphPattern::Filter { inner, .. } | GraphPattern::Extend { inner, .. } => {
                self.check_exists(pattern, in_window)?;
                self.take_apart(inner, in_window, graph, parts)?;
            }
            GraphPattern::Graph { name, inner } => {
                let in_window = in_window || self.is_window(name);
                self.take_apart(inner, in_window, graph_variable(name).or(graph), parts)?;
            }
            other => self.whole(other, in_window, graph, parts)?,
        }
        Ok(())
    }

    /// Adds a pattern as one part, and checks the groups inside it.
    fn whole(
        &self,
        pattern: &GraphPattern,
        in_window: bool,
        graph: Option<&Variable>,
        parts: &mut Vec<Part>,
    ) -> Checked {
        let is_group = matches!(
            pattern,
            GraphPattern::Bgp { .. }
                | GraphPattern::Path { .. }
                | GraphPattern::Join { .. }
                | GraphPattern::LeftJoin { .. }
                | GraphPattern::Minus { .. }
                | GraphPattern::Filter { .. }
                | GraphPattern::Extend { .. }
                | GraphPattern::Graph { .. }
        );
        if is_group {
            self.check(pattern, in_window)?;
        } else {
            self.check_exists(pattern, in_window)?;
            children(pattern).into_iter().try_for_each(|child| self.check(child, in_window))?;
        }
        let vars: Vars = in_scope(pattern).into_iter().chain(graph.cloned()).collect();
        parts.push(Part { vars, closure: None, is_narrow: is_narrow(pattern) });
        Ok(())
    }

    fn check_exists(&self, pattern: &GraphPattern, in_window: bool) -> Checked {
        // EXISTS receives outer variables by substitution, so a closure path inside may well have a bound end. Only
        // products are certain here.
        let mut inside = expressions(pattern).into_iter().flat_map(exists);
        inside.try_for_each(|inner| self.check_inside(inner, in_window))
    }

    fn check_inside(&self, pattern: &GraphPattern, in_window: bool) -> Checked {
        let mut parts = Vec::new();
        self.take_apart(pattern, in_window, None, &mut parts)?;
        self.check_product(parts)
    }

    fn is_window(&self, name: &NamedNodePattern) -> bool {
        let declared = |name: &NamedNodePattern| match name {
            NamedNodePattern::NamedNode(name) => self.query.windows.iter().any(|window| window.name == *name),
            NamedNodePattern::Variable(_) => false,
        };
        declared(name) || self.families.iter().any(|family| family.name == *name)
    }

    /// A closure path needs an end that is a constant or that another part binds.
    fn check_closures(&self, parts: &[Part]) -> Checked {
        for (at, part) in parts.iter().enumerate() {
            let Some(ends) = &part.closure else { continue };
            let others = || parts.iter().enumerate().filter(|(other, part)| *other != at && part.closure.is_none());
            let is_bound = |end: &TermPattern| match end_variable(end) {
                None => true,
                Some(variable) => others().any(|(_, other)| other.vars.contains(&variable)),
            };
            if !ends.iter().any(is_bound) {
                return Err(Costly::OpenClosure.into());
            }
        }
        Ok(())
    }

    fn check_product(&self, parts: Vec<Part>) -> Checked {
        let islands = islands(parts, &self.links);
        let mut wide = islands.iter().filter(|island| !island.is_narrow).map(|island| &island.vars);
        let (Some(first), Some(second)) = (wide.next(), wide.next()) else { return Ok(()) };
        Err(Costly::Product { one: shown(first), other: shown(second) }.into())
    }
}

/// Merges connected parts: those that share a variable, directly or through links.
fn islands(parts: Vec<Part>, links: &[Vars]) -> Vec<Part> {
    // A link may reach a part through variables that other links compute, so links take part in the merging and are
    // dropped at the end.
    let mut all: Vec<(Part, bool)> = Vec::new();
    let link = |vars: &Vars| Part { vars: vars.clone(), closure: None, is_narrow: false };
    let linking = links.iter().map(|vars| (link(vars), false));
    let parts = parts.into_iter().filter(|part| !part.vars.is_empty()).map(|part| (part, true));
    for (mut part, mut is_part) in parts.chain(linking) {
        let (touching, apart): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|(other, _)| !other.vars.is_disjoint(&part.vars));
        all = apart;
        for (other, theirs) in touching {
            part.vars.extend(other.vars);
            part.is_narrow |= other.is_narrow;
            is_part |= theirs;
        }
        all.push((part, is_part));
    }
    all.into_iter().filter(|(_, is_part)| *is_part).map(|(part, _)| part).collect()
}

/// A variable of the set that the user wrote.
fn shown(vars: &Vars) -> Option<Variable> {
    vars.iter().find(|variable| !is_hidden(variable)).cloned()
}

fn end_variable(end: &TermPattern) -> Option<Variable> {
    match end {
        TermPattern::Variable(variable) => Some(variable.clone()),
        TermPattern::BlankNode(node) => Some(blank_variable(node)),
        _ => None,
    }
}

fn is_closure(path: &PropertyPathExpression) -> bool {
    use PropertyPathExpression as P;
    match path {
        P::ZeroOrMore(_) | P::OneOrMore(_) => true,
        P::Reverse(inner) | P::ZeroOrOne(inner) => is_closure(inner),
        P::Alternative(one, other) => is_closure(one) || is_closure(other),
        P::Sequence(first, second) => is_closure(first) && is_closure(second),
        P::NamedNode(_) | P::NegatedPropertySet(_) => false,
    }
}

/// Whether a constant selects the triples.
fn is_picked(triple: &TriplePattern) -> bool {
    let [subject, predicate, object] = places(triple);
    let is_type = predicate == Place::Term(rdf::TYPE.into_owned().into());
    matches!(subject, Place::Term(_)) || (!is_type && matches!(object, Place::Term(_)))
}

/// One row, rows that the query spells out, or rows that a constant selects.
fn is_narrow(pattern: &GraphPattern) -> bool {
    match pattern {
        GraphPattern::Values { .. } => true,
        GraphPattern::Bgp { patterns } => patterns.iter().any(is_picked),
        GraphPattern::Path { subject, object, .. } => {
            [subject, object].into_iter().any(|end| end_variable(end).is_none())
        }
        GraphPattern::Group { variables, .. } if variables.is_empty() => true,
        GraphPattern::Slice { length: Some(0 | 1), .. } => true,
        GraphPattern::Union { left, right } => is_narrow(left) && is_narrow(right),
        GraphPattern::LeftJoin { left, .. } | GraphPattern::Minus { left, .. } => is_narrow(left),
        other => children(other).into_iter().any(is_narrow),
    }
}
