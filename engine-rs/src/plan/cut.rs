//! Cuts a plan in two for streams that are partitioned by the value of one variable.
//!
//! Input: a plan and a variable. Output: what each partition computes from its share of the streams (*below*) and what
//! is computed once from the rows of all partitions (*above*), or the reason why the plan cannot be cut.
//!
//! ```text
//!   above    ORDER BY, final groups, DISTINCT, LIMIT        once
//!   ──────── cut: rows travel ─────────────────────────
//!   below    partial groups, joins, filters, leaves         once per partition
//! ```
//!
//! The cut is as high as possible: below is everything whose rows belong to exactly one partition, plus the half of a
//! group, DISTINCT or top-k that a partition can compute alone.
//!
//! Invariant: both halves come from the plan of the whole query and keep its columns and their order. Therefore ties,
//! sums and row order are those of a run without partitions.

use super::blanks::is_hidden;
use super::error::{PlanError, Unsupported};
use super::logical::{LeafPlan, Place, Plan, Stage};
use super::modifiers::{Answer, Top, projected};
use super::root::{Evaluation, root_of};
use super::scope::draws_values;
use super::wording::{aggregate_text, leaf_text};
use crate::aggregate::{AggregateKind, AggregateSpec};
use crate::expr::IN_PARTITION;
use crate::parse::{ContinuousQuery, StreamName};
use oxrdf::{Literal, NamedNode, Variable};
use spargebra::Query;
use spargebra::algebra::{AggregateExpression, Expression, Function};

/// Which part of a query an engine runs.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) enum Part {
    #[default]
    Whole,
    /// The whole plan, over one partition's share of the streams.
    Share(Share),
    /// The plan below the cut, over one share of the streams; reports every evaluation as changes.
    Below(Share),
    /// The plan above the cut. The columns are those of the rows from below; the flag says whether a column is always
    /// bound.
    Above { variable: Variable, columns: Vec<(Variable, bool)> },
}

/// One partition: the mappings whose value of `variable` hashes to it.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Share {
    pub variable: Variable,
    pub partitions: u32,
    pub partition: u32,
    /// Whether triples of other partitions may be present, so that leaves must check ownership.
    pub is_checked: bool,
}

/// What remains to be done with the rows of the partitions, cheapest first: `min_by_key` picks by this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Cut {
    /// The cut is at the top: the result is the union of all rows.
    Top,
    TopK,
    Distinct,
    Groups,
}

/// How a query can be partitioned.
#[derive(Clone, Debug)]
pub(crate) struct Spread {
    pub variable: Variable,
    pub cut: Cut,
    /// Whether a result row shows which partition it belongs to.
    pub shows_variable: bool,
    /// Whether rows of several partitions must be merged into an order.
    pub has_order: bool,
    pub leaves: Vec<RoutedLeaf>,
    /// Whether two partitions may need the same triple.
    pub is_doubled: bool,
}

/// A pattern over a stream.
#[derive(Clone, Debug)]
pub(crate) struct RoutedLeaf {
    pub window: usize,
    pub places: [Place; 3],
    pub text: String,
    /// Where the variable stands: subject (0) or object (2).
    pub place: usize,
    /// The variable is both subject and object.
    pub is_twice: bool,
}

/// How the rows of a plan are distributed over partitions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Placement {
    /// Every partition has all rows.
    Everywhere,
    /// Each row is in the partition of its value of the variable.
    Keyed,
    /// Each row is in exactly one partition, which its columns no longer reveal.
    Split,
}

/// Finds the variable by which the streams of a query can be partitioned, or the reason why there is none.
pub(crate) fn spread(query: &ContinuousQuery) -> Result<Result<Spread, String>, PlanError> {
    if !query.window_variables.is_empty() {
        return Ok(Err(String::from("WINDOW with a variable reads several windows by one pattern")));
    }
    let (top, plan, _) = root_of(query, &[], Evaluation::Incremental)?;
    if draws_values(&top.pattern) {
        return Ok(Err(String::from("RAND, UUID, STRUUID and BNODE would produce different values in each partition")));
    }
    let mut leaves = Vec::new();
    gather_leaves(&plan, &mut leaves);
    let candidates = candidates(&leaves);
    if candidates.is_empty() {
        return Ok(Err(why_no_candidate(&leaves)));
    }
    let tried: Vec<_> = candidates.iter().map(|variable| try_variable(&plan, &top, query, &leaves, variable)).collect();
    let refusal = tried.iter().find_map(|tried| tried.as_ref().err().cloned());
    // Prefer the least work above the cut, then results that name their partition.
    let best = tried.into_iter().flatten().min_by_key(|spread| (spread.cut, !spread.shows_variable));
    Ok(best.ok_or_else(|| refusal.unwrap_or_default()))
}

fn try_variable(
    plan: &Plan,
    top: &Top,
    query: &ContinuousQuery,
    leaves: &[LeafPlan],
    variable: &Variable,
) -> Result<Spread, String> {
    let pieces = pieces(plan, variable, &Plan::Given { columns: vec![] })?;
    let shows = matches!(&top.answer, Answer::Bindings(shown) if shown.contains(variable));
    let is_keyed = placement(&pieces.below, variable) == Ok(Placement::Keyed);
    let leaves: Vec<RoutedLeaf> = leaves.iter().map(|leaf| routed(leaf, variable)).collect();
    Ok(Spread {
        variable: variable.clone(),
        cut: pieces.cut,
        shows_variable: shows && is_keyed && pieces.cut == Cut::Top,
        has_order: !top.order.is_empty() || top.shows_once,
        is_doubled: is_doubled(&leaves, query),
        leaves,
    })
}

fn gather_leaves(plan: &Plan, leaves: &mut Vec<LeafPlan>) {
    if let Plan::Leaf(leaf) = plan {
        leaves.push(leaf.clone());
    }
    plan.inputs().into_iter().for_each(|input| gather_leaves(input, leaves));
}

/// The variables that are subject or object of every pattern over a stream, in the order of the first pattern.
fn candidates(leaves: &[LeafPlan]) -> Vec<Variable> {
    let Some(first) = leaves.first() else { return vec![] };
    let mut found: Vec<Variable> = Vec::new();
    for place in [&first.places[0], &first.places[2]] {
        if let Place::Variable(variable) = place
            && !found.contains(variable)
            && leaves.iter().all(|leaf| place_of(leaf, variable).is_some())
        {
            found.push(variable.clone());
        }
    }
    found
}

fn place_of(leaf: &LeafPlan, variable: &Variable) -> Option<usize> {
    [0, 2].into_iter().find(|at| matches!(&leaf.places[*at], Place::Variable(v) if v == variable))
}

fn routed(leaf: &LeafPlan, variable: &Variable) -> RoutedLeaf {
    RoutedLeaf {
        window: leaf.window,
        places: leaf.places.clone(),
        text: leaf_text(leaf),
        place: place_of(leaf, variable).unwrap_or_default(),
        is_twice: leaf.places[0] == leaf.places[2],
    }
}

fn why_no_candidate(leaves: &[LeafPlan]) -> String {
    let Some(first) = leaves.first() else { return String::from("no pattern reads a stream by its triples") };
    let ends = |leaf: &LeafPlan| [leaf.places[0].clone(), leaf.places[2].clone()];
    let shares = |a: &LeafPlan, b: &LeafPlan| {
        ends(a).iter().any(|place| matches!(place, Place::Variable(_)) && ends(b).contains(place))
    };
    for (at, a) in leaves.iter().enumerate() {
        if let Some(b) = leaves[at + 1..].iter().find(|b| !shares(a, b)) {
            let (a, b) = (leaf_text(a), leaf_text(b));
            return format!("the patterns {a} and {b} share no variable as subject or object");
        }
    }
    let first = leaf_text(first);
    match leaves.len() {
        1 => format!("the pattern {first} has no variable as subject or object"),
        _ => format!("no variable of {first} is subject or object in every other pattern over a stream"),
    }
}

/// Whether one triple may match two patterns that have the variable at different positions.
fn is_doubled(leaves: &[RoutedLeaf], query: &ContinuousQuery) -> bool {
    let stream = |leaf: &RoutedLeaf| query.windows[leaf.window].stream.clone();
    let meets = |a: &Place, b: &Place| match (a, b) {
        (Place::Term(a), Place::Term(b)) => a == b,
        _ => true,
    };
    let both = |a: &RoutedLeaf, b: &RoutedLeaf| {
        a.place != b.place && stream(a) == stream(b) && a.places.iter().zip(&b.places).all(|(a, b)| meets(a, b))
    };
    leaves.iter().enumerate().any(|(at, a)| leaves[at + 1..].iter().any(|b| both(a, b)))
}

/// The two halves of a plan; `given` stands in for the rows from below.
pub(super) struct Pieces {
    pub below: Plan,
    pub above: Plan,
    pub cut: Cut,
}

/// Cuts at the highest point where each row still belongs to one partition.
pub(super) fn pieces(plan: &Plan, variable: &Variable, given: &Plan) -> Result<Pieces, String> {
    let refusal = match placement(plan, variable) {
        Ok(Placement::Keyed | Placement::Split) => {
            return Ok(Pieces { below: plan.clone(), above: given.clone(), cut: Cut::Top });
        }
        Ok(Placement::Everywhere) => return Err(String::from("the result does not depend on a stream")),
        Err(refusal) => refusal,
    };
    let Some(inner) = plan.only_input() else { return Err(refusal) };
    if placement(inner, variable).is_ok()
        && let Some(pieces) = cut_here(plan, inner, given)?
    {
        return Ok(pieces);
    }
    // If something further down had to move above the cut, so does everything over it. With `Cut::Top` nothing moved,
    // and this operator itself is the obstacle.
    let pieces = pieces(inner, variable, given)?;
    match pieces.cut {
        Cut::Top => Err(refusal),
        cut => Ok(Pieces { below: pieces.below, above: plan.over(pieces.above), cut }),
    }
}

/// The two halves of an operator that needs the rows of all partitions, if it can be halved.
fn cut_here(plan: &Plan, inner: &Plan, given: &Plan) -> Result<Option<Pieces>, String> {
    let pieces = match plan {
        Plan::Distinct { .. } => {
            Pieces { below: plan.over(inner.clone()), above: plan.over(given.clone()), cut: Cut::Distinct }
        }
        Plan::Group { keys, aggregates, .. } => {
            if let Some((_, whole)) = aggregates.iter().find(|(_, aggregate)| !has_parts(aggregate)) {
                return Err(format!("{} cannot be computed from parts", aggregate_text(whole)));
            }
            let stage = |inner: Plan, stage: Stage| Plan::Group {
                inner: inner.into(),
                keys: keys.clone(),
                aggregates: aggregates.clone(),
                stage,
            };
            let (below, above) = (stage(inner.clone(), Stage::Partial), stage(given.clone(), Stage::Final));
            Pieces { below, above, cut: Cut::Groups }
        }
        Plan::TopK { each, order, shown, offset, limit, .. } => {
            // The overall top k are among the top k of each partition, where k includes the offset: any partition may
            // hold all the rows that OFFSET skips.
            let best = limit.map(|limit| limit.saturating_add(*offset));
            let below = match best {
                Some(_) => {
                    let (each, order, shown) = (each.clone(), order.clone(), shown.clone());
                    Plan::TopK { inner: inner.clone().into(), each, order, shown, offset: 0, limit: best }
                }
                None => inner.clone(),
            };
            Pieces { below, above: plan.over(given.clone()), cut: Cut::TopK }
        }
        _ => return Ok(None),
    };
    Ok(Some(pieces))
}

/// Whether an aggregate can be computed from partial aggregates. Copies do not matter to MIN, MAX and SAMPLE, so
/// DISTINCT is harmless for them.
fn has_parts(aggregate: &AggregateExpression) -> bool {
    match aggregate {
        AggregateExpression::CountSolutions { distinct } => !distinct,
        AggregateExpression::FunctionCall { name, distinct, .. } => AggregateSpec::of(name).is_some_and(|spec| {
            use AggregateKind as Kind;
            let by_presence = matches!(spec.kind, Kind::Min | Kind::Max | Kind::Sample);
            spec.kind.in_parts().is_some() && (by_presence || !(spec.distinct || *distinct))
        }),
    }
}

/// How the rows are distributed, or why a row would not belong to one partition.
fn placement(plan: &Plan, variable: &Variable) -> Result<Placement, String> {
    use Placement::{Everywhere, Keyed, Split};
    match plan {
        Plan::Leaf(leaf) if leaf.graph.is_some() => Err(format!("{} asks for the graphs of events", leaf_text(leaf))),
        Plan::Leaf(leaf) => match place_of(leaf, variable) {
            Some(_) => Ok(Keyed),
            None => {
                Err(format!("the pattern {} does not have {} as subject or object", leaf_text(leaf), named(variable)))
            }
        },
        Plan::Static { .. } | Plan::Now { .. } => Ok(Everywhere),
        Plan::Given { .. } => Ok(Split),
        Plan::Reevaluated { reason, .. } => Err(format!("a part is re-evaluated at each instant ({reason})")),
        Plan::Filter { inner, .. } | Plan::Extend { inner, .. } => placement(inner, variable),
        Plan::Project { inner, variables } => Ok(match placement(inner, variable)? {
            Keyed if !variables.contains(variable) => Split,
            other => other,
        }),
        Plan::Join { inputs, .. } => {
            let placements = inputs.iter().map(|input| placement(input, variable)).collect::<Result<Vec<_>, _>>()?;
            match placements.as_slice() {
                [only] => Ok(*only),
                // A row that no longer names its partition might join with rows of any other partition.
                _ if placements.contains(&Split) => Err(joined_without(variable)),
                _ if placements.contains(&Keyed) => Ok(Keyed),
                _ => Ok(Everywhere),
            }
        }
        Plan::Union { inputs } => {
            let placements = inputs.iter().map(|input| placement(input, variable)).collect::<Result<Vec<_>, _>>()?;
            let all = |wanted: Placement| placements.iter().all(|placement| *placement == wanted);
            match placements.contains(&Everywhere) {
                // Static rows are in every partition, so a union would contain them once per partition.
                true if all(Everywhere) => Ok(Everywhere),
                true => {
                    Err(String::from("an alternative of a UNION, or of the default graph, reads static data alone"))
                }
                false if all(Keyed) => Ok(Keyed),
                false => Ok(Split),
            }
        }
        Plan::Optional { left, right, .. } | Plan::Minus { left, right, .. } | Plan::Mark { left, right, .. } => {
            match (placement(left, variable)?, placement(right, variable)?) {
                (Keyed, Keyed | Everywhere) => Ok(Keyed),
                (left, Everywhere) => Ok(left),
                (Everywhere, _) => Err(String::from(
                    "the left side of OPTIONAL, MINUS or EXISTS reads static data alone and its right side a stream",
                )),
                _ => Err(joined_without(variable)),
            }
        }
        Plan::Distinct { inner } => match placement(inner, variable)? {
            Split => Err(format!("DISTINCT without {}", named(variable))),
            other => Ok(other),
        },
        Plan::Group { inner, keys, .. } => match placement(inner, variable)? {
            Everywhere => Ok(Everywhere),
            Keyed if keys.contains(variable) => Ok(Keyed),
            _ => Err(format!("groups without {}", named(variable))),
        },
        Plan::TopK { inner, .. } => match placement(inner, variable)? {
            Everywhere => Ok(Everywhere),
            _ => Err(String::from("LIMIT or OFFSET in a sub-query")),
        },
    }
}

fn joined_without(variable: &Variable) -> String {
    format!("a sub-query that does not show {} is joined with something else", named(variable))
}

/// A variable as messages name it.
pub(crate) fn named(variable: &Variable) -> String {
    if is_hidden(variable) { String::from("the blank node they have in common") } else { variable.to_string() }
}

/// The part of a plan that this engine runs.
pub(super) fn part_of(plan: Plan, part: &Part, top: &Top) -> Result<Plan, PlanError> {
    let refused = |why: String| PlanError::from(Unsupported::Cut { why });
    match part {
        Part::Whole => Ok(plan),
        Part::Share(share) => Ok(owned(plan, share)),
        Part::Below(share) => {
            let given = Plan::Given { columns: vec![] };
            let Pieces { below, cut, .. } = pieces(&plan, &share.variable, &given).map_err(refused)?;
            let below = owned(below, share);
            Ok(match &top.answer {
                // The order is not needed above, so columns that are not shown need not travel.
                Answer::Bindings(shown) if cut == Cut::Top && top.order.is_empty() => {
                    Plan::Project { inner: below.into(), variables: shown.clone() }
                }
                _ => below,
            })
        }
        Part::Above { variable, columns } => {
            let given = Plan::Given { columns: columns.clone() };
            pieces(&plan, variable, &given).map(|pieces| pieces.above).map_err(refused)
        }
    }
}

/// Restricts a plan to what belongs to the partition: a triple that is here because of one pattern must not match
/// another one that would find it in a different partition.
fn owned(plan: Plan, share: &Share) -> Plan {
    if !share.is_checked {
        return plan;
    }
    let number = |n: u32| Expression::Literal(Literal::from(i64::from(n)));
    let condition = Expression::FunctionCall(
        Function::Custom(NamedNode::new_unchecked(IN_PARTITION)),
        vec![share.variable.clone().into(), number(share.partitions), number(share.partition)],
    );
    checked(plan, &condition)
}

fn checked(plan: Plan, condition: &Expression) -> Plan {
    match plan {
        Plan::Leaf(_) => Plan::Join { inputs: vec![plan], filters: vec![condition.clone()] },
        Plan::Join { inputs, mut filters } => {
            if inputs.iter().any(|input| matches!(input, Plan::Leaf(_))) {
                filters.push(condition.clone());
            }
            let deeper = |input: Plan| if matches!(input, Plan::Leaf(_)) { input } else { checked(input, condition) };
            Plan::Join { inputs: inputs.into_iter().map(deeper).collect(), filters }
        }
        other => other.map_inputs(&mut |input| checked(input, condition)),
    }
}

/// Whether some pattern reads the graph names of events.
pub(crate) fn asks_event_graphs(query: &ContinuousQuery) -> Result<bool, PlanError> {
    if !query.window_variables.is_empty() {
        return Ok(false);
    }
    let (_, plan, _) = root_of(query, &[], Evaluation::Incremental)?;
    let mut leaves = Vec::new();
    gather_leaves(&plan, &mut leaves);
    Ok(leaves.iter().any(|leaf| leaf.graph.is_some()))
}

/// The variables that a SELECT shows.
pub(crate) fn shown_variables(query: &ContinuousQuery) -> Vec<Variable> {
    match &query.query {
        Query::Select { pattern, .. } => projected(pattern),
        _ => vec![],
    }
}

/// The streams of a query, if every window names one.
pub(crate) fn named_streams(query: &ContinuousQuery) -> Option<Vec<NamedNode>> {
    let mut streams = Vec::new();
    for window in &query.windows {
        let StreamName::Iri(iri) = &window.stream else { return None };
        if !streams.contains(iri) {
            streams.push(iri.clone());
        }
    }
    Some(streams)
}
