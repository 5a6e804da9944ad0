//! The compiled form of an expression and its evaluation on one mapping.

use super::builtin::Builtin;
use super::casts::DerivedInteger;
use super::compare::{Comparison, compare, compare_instants, equals, equals_by_id};
use super::made::{self, Maker};
use super::numbers::{Number, Operator};
use super::regexes;
use super::scratch::{CallSite, Drawn, Scratch};
use super::strings::{Concat, sub_str_from};
use super::text::Text;
use super::value::{Blank, Value, inlined_number};
use super::{datetimes, temporal, terms};
use crate::encode::Dictionary;
use crate::limits::Budget;
use crate::model::TermId;
use crate::time::Timestamp;
use oxiri::Iri;
use oxrdf::BlankNode;
use std::cmp::Ordering;
use std::sync::Arc;

/// One node; children are boxed so that a node stays small.
pub(super) enum Node {
    /// A constant; numbers and similar values are stored directly, text is read from the dictionary.
    Constant {
        id: TermId,
        scalar: Option<Value<'static>>,
    },
    Column(usize),
    /// A variable that no mapping binds.
    Unbound,
    Bound(usize),
    Or(Vec<Node>),
    And(Vec<Node>),
    Not(Box<Node>),
    Equal(Box<(Node, Node)>),
    SameTerm(Box<(Node, Node)>),
    Compare(Comparison, Box<(Node, Node)>),
    In(Box<Node>, Vec<Node>),
    Arithmetic(Operator, Box<(Node, Node)>),
    If(Box<(Node, Node, Node)>),
    Coalesce(Vec<Node>),
    Call(Builtin, Vec<Node>),
    SubStrFrom(Box<(Node, Node)>),
    Concat(Vec<Node>),
    /// A function whose result is a term.
    Make(Maker, Vec<Node>),
    /// `STR` and `DATATYPE` of a term as it is: its lexical form and its own datatype.
    StrOfTerm(Box<Node>),
    DatatypeOfTerm(Box<Node>),
    /// A cast to a type derived from `xsd:integer`: the value is an integer, the term has that type.
    Derived(DerivedInteger, Box<Node>),
    /// A part of the triple term in a column, as it is written there.
    TriplePart(usize, Vec<TriplePart>),
    /// An unknown function: an error when it is called.
    Unknown,
    Iri(Box<Node>, Option<Iri<String>>),
    LabelledBlank(Box<Node>),
    /// Whether a term belongs to a partition: out of how many, and to which.
    InPartition(Box<Node>, u32, u32),
    /// A function of the whole solution, and the number of its call in the expression.
    Source(Source, u32),
    Regex {
        text: Box<Node>,
        pattern: Pattern,
    },
    Replace {
        text: Box<Node>,
        pattern: Pattern,
        replacement: Box<Node>,
    },
}

/// A step from a triple term to one of its terms.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TriplePart {
    Subject,
    Predicate,
    Object,
}

/// Values that come from outside the mapping.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Source {
    Now,
    Rand,
    Uuid,
    StrUuid,
    FreshBlank,
}

pub(super) enum Pattern {
    Constant(Option<Arc<regexes::Program>>),
    Computed { pattern: Box<Node>, flags: Option<Box<Node>> },
}

/// What evaluation reads: the dictionary, borrowed as long as values live, and the rest of the context.
pub(super) struct Scope<'v, 's> {
    pub dictionary: &'v Dictionary,
    pub now: Timestamp,
    pub scratch: &'s mut Scratch,
    /// Which expression of the query this is.
    pub expression: u32,
    /// How many columns identify a solution; later ones were computed from them.
    pub identity: usize,
}

impl Scope<'_, '_> {
    fn solution<'r>(&self, row: &'r [TermId]) -> &'r [TermId] {
        &row[..self.identity.min(row.len())]
    }
}

impl Node {
    pub(super) fn value<'v>(&'v self, row: &[TermId], scope: &mut Scope<'v, '_>) -> Option<Value<'v>> {
        match self {
            Self::Constant { scalar: Some(scalar), .. } => Some(scalar.clone()),
            Self::Constant { id, .. } => Some(Value::of(*id, scope.dictionary)),
            Self::Column(column) => {
                Some(row[*column]).filter(|id| id.is_bound()).map(|id| Value::of(id, scope.dictionary))
            }
            Self::Unbound | Self::Unknown => None,
            Self::Arithmetic(operator, sides) => compute(*operator, sides, row, scope),
            Self::If(branches) => {
                let branch = if branches.0.truth(row, scope)? { &branches.1 } else { &branches.2 };
                branch.value(row, scope)
            }
            Self::Coalesce(choices) => choices.iter().find_map(|choice| choice.value(row, scope)),
            Self::Call(builtin, arguments) => admitted(call(*builtin, arguments, row, scope)?, scope),
            Self::SubStrFrom(arguments) => {
                sub_str_from(argument(&arguments.0, row, scope)?, argument(&arguments.1, row, scope)?)
            }
            Self::Concat(arguments) => concat(arguments, row, scope),
            Self::StrOfTerm(argument) => made::str_of(argument.made(row, scope)?, scope.dictionary),
            Self::DatatypeOfTerm(argument) => made::datatype_of(argument.made(row, scope)?, scope.dictionary),
            Self::Make(maker, arguments) => admitted(call(terms::of_maker(*maker), arguments, row, scope)?, scope),
            Self::Derived(derived, inner) => derived.cast(argument(inner, row, scope)?).map(Value::integer),
            Self::TriplePart(column, path) => terms::part_of(row[*column], path, scope.dictionary),
            Self::Iri(inner, base) => admitted(terms::iri(argument(inner, row, scope)?, base.as_ref())?, scope),
            Self::LabelledBlank(label) => {
                let label = label.value(row, scope)?.into_string()?;
                Some(blank(scope.scratch.draw_label(label.as_str(), scope.solution(row), scope.dictionary)))
            }
            Self::Source(source, call) => Some(draw(*source, *call, row, scope)),
            Self::Regex { text, pattern } => {
                let regex = pattern.regex(row, scope)?;
                regexes::matches(text.value(row, scope)?, &regex, &mut scope.scratch.budget)
            }
            Self::Replace { text, pattern, replacement } => {
                let regex = pattern.regex(row, scope)?;
                let (text, replacement) = (text.value(row, scope)?, replacement.value(row, scope)?);
                regexes::replace(text, &regex, replacement, &mut scope.scratch.budget)
            }
            _ => self.truth(row, scope).map(Value::Boolean),
        }
    }

    /// The effective boolean value.
    pub(super) fn truth<'v>(&'v self, row: &[TermId], scope: &mut Scope<'v, '_>) -> Option<bool> {
        match self {
            Self::Bound(column) => Some(row[*column].is_bound()),
            Self::Or(sides) => until(sides, true, row, scope),
            Self::And(sides) => until(sides, false, row, scope),
            Self::Not(inner) => inner.truth(row, scope).map(|truth| !truth),
            Self::Equal(sides) => node_equals(&sides.0, &sides.1, row, scope),
            Self::SameTerm(sides) => same_term(&sides.0, &sides.1, row, scope),
            Self::Compare(comparison, sides) => {
                node_compare(&sides.0, &sides.1, row, scope).map(|ordering| comparison.accepts(ordering))
            }
            Self::In(needle, list) => is_in(needle, list, row, scope),
            Self::InPartition(term, partitions, partition) => {
                let id = term.plain_id(row)?;
                Some(scope.dictionary.partition_of(id, *partitions) == *partition)
            }
            other => other.value(row, scope)?.effective_boolean(),
        }
    }

    /// The id of a column or a constant, which needs no computing.
    fn plain_id(&self, row: &[TermId]) -> Option<TermId> {
        match self {
            Self::Constant { id, .. } => Some(*id),
            Self::Column(column) => Some(row[*column]).filter(|id| id.is_bound()),
            _ => None,
        }
    }

    /// A number from the row, from the query, or computed from such numbers, without building a value.
    fn plain_number(&self, row: &[TermId], budget: &mut Budget) -> Option<Number> {
        match self {
            Self::Constant { scalar: Some(Value::Number(number)), .. } => Some(*number),
            Self::Column(column) => inlined_number(row[*column]),
            Self::Arithmetic(operator, sides) => {
                let (a, b) = (sides.0.plain_number(row, budget)?, sides.1.plain_number(row, budget)?);
                budget.spend(a.units(*operator, b));
                a.apply(*operator, b)
            }
            _ => None,
        }
    }
}

/// Both numbers, if neither needs a value.
fn plain_numbers((a, b): (&Node, &Node), row: &[TermId], scope: &mut Scope<'_, '_>) -> Option<(Number, Number)> {
    let budget = &mut scope.scratch.budget;
    Some((a.plain_number(row, budget)?, b.plain_number(row, budget)?))
}

/// Numbers at hand need no values; dates and durations are handled elsewhere.
fn compute<'v>(
    operator: Operator,
    sides: &'v (Node, Node),
    row: &[TermId],
    scope: &mut Scope<'v, '_>,
) -> Option<Value<'v>> {
    if let Some((a, b)) = plain_numbers((&sides.0, &sides.1), row, scope) {
        scope.scratch.budget.spend(a.units(operator, b));
        return a.apply(operator, b).map(Value::Number);
    }
    match (sides.0.value(row, scope)?, sides.1.value(row, scope)?) {
        (Value::Number(a), Value::Number(b)) => {
            scope.scratch.budget.spend(a.units(operator, b));
            a.apply(operator, b).map(Value::Number)
        }
        (a, b) => temporal::apply(operator, &a, &b),
    }
}

impl Pattern {
    fn regex<'v>(&'v self, row: &[TermId], scope: &mut Scope<'v, '_>) -> Option<Arc<regexes::Program>> {
        match self {
            Self::Constant(regex) => regex.clone(),
            Self::Computed { pattern, flags } => {
                let pattern = pattern.value(row, scope)?.into_string()?;
                let flags = match flags {
                    Some(flags) => flags.value(row, scope)?.into_string()?,
                    None => Text::Borrowed(""),
                };
                scope.scratch.regex(pattern.as_str(), flags.as_str())
            }
        }
    }
}

/// `||` (deciding = true) and `&&` (deciding = false): an error counts unless another operand decides.
fn until<'v>(sides: &'v [Node], deciding: bool, row: &[TermId], scope: &mut Scope<'v, '_>) -> Option<bool> {
    let mut failed = false;
    for side in sides {
        match side.truth(row, scope) {
            Some(truth) if truth == deciding => return Some(deciding),
            Some(_) => {}
            None => failed = true,
        }
    }
    (!failed).then_some(!deciding)
}

fn node_compare<'v>(a: &'v Node, b: &'v Node, row: &[TermId], scope: &mut Scope<'v, '_>) -> Option<Option<Ordering>> {
    if let Some((a, b)) = plain_numbers((a, b), row, scope) {
        return Some(a.compare(b));
    }
    if let (Some(a), Some(b)) = (a.plain_id(row), b.plain_id(row))
        && let Some(ordering) = compare_instants(a, b)
    {
        return Some(Some(ordering));
    }
    let (a, b) = (a.value(row, scope)?, b.value(row, scope)?);
    compare(&a, &b)
}

fn node_equals<'v>(a: &'v Node, b: &'v Node, row: &[TermId], scope: &mut Scope<'v, '_>) -> Option<bool> {
    if let Some((a, b)) = plain_numbers((a, b), row, scope) {
        return Some(a.equals(b));
    }
    if let (Some(a), Some(b)) = (a.plain_id(row), b.plain_id(row))
        && let Some(decided) = equals_by_id(a, b, scope.dictionary)
    {
        return Some(decided);
    }
    let (a, b) = (a.value(row, scope)?, b.value(row, scope)?);
    equals(&a, &b)
}

/// Compares terms that are passed through as they are, and computed ones in canonical form.
fn same_term<'v>(a: &'v Node, b: &'v Node, row: &[TermId], scope: &mut Scope<'v, '_>) -> Option<bool> {
    let (a, b) = (a.made(row, scope)?, b.made(row, scope)?);
    Some(a.is_same(&b, scope.dictionary))
}

fn is_in<'v>(needle: &'v Node, list: &'v [Node], row: &[TermId], scope: &mut Scope<'v, '_>) -> Option<bool> {
    let needle = needle.value(row, scope)?;
    let mut failed = false;
    scope.scratch.budget.spend(list.len() as u64);
    for node in list {
        match node.value(row, scope).and_then(|value| equals(&needle, &value)) {
            Some(true) => return Some(true),
            Some(false) => {}
            None => failed = true,
        }
    }
    (!failed).then_some(false)
}

fn call<'v>(builtin: Builtin, arguments: &'v [Node], row: &[TermId], scope: &mut Scope<'v, '_>) -> Option<Value<'v>> {
    match (builtin, arguments) {
        (Builtin::Unary(function), [a]) => function(argument(a, row, scope)?),
        (Builtin::Binary(function), [a, b]) => function(argument(a, row, scope)?, argument(b, row, scope)?),
        (Builtin::Ternary(function), [a, b, c]) => {
            function(argument(a, row, scope)?, argument(b, row, scope)?, argument(c, row, scope)?)
        }
        _ => unreachable!("the compiler checks the number of arguments"),
    }
}

/// Evaluates an argument; text is charged by its length.
fn argument<'v>(node: &'v Node, row: &[TermId], scope: &mut Scope<'v, '_>) -> Option<Value<'v>> {
    let value = node.value(row, scope)?;
    scope.scratch.budget.read_text(value.text_bytes());
    Some(value)
}

/// Refuses a result that is too long.
fn admitted<'v>(value: Value<'v>, scope: &mut Scope<'_, '_>) -> Option<Value<'v>> {
    scope.scratch.budget.make_text(value.made_bytes());
    scope.scratch.budget.admits_literal(value.made_bytes()).then_some(value)
}

fn concat<'v>(arguments: &'v [Node], row: &[TermId], scope: &mut Scope<'v, '_>) -> Option<Value<'v>> {
    let mut result = Concat::default();
    for argument in arguments {
        let value = argument.value(row, scope)?;
        result.push(value, &mut scope.scratch.budget)?;
    }
    Some(result.finish())
}

fn draw(source: Source, call: u32, row: &[TermId], scope: &Scope<'_, '_>) -> Value<'static> {
    let site = CallSite { expression: scope.expression, call };
    let drawn = || scope.scratch.draw(site, scope.solution(row), scope.dictionary);
    match source {
        Source::Now => datetimes::at_instant(scope.now),
        Source::Rand => Value::Number(Number::Double(drawn().fraction().into())),
        Source::Uuid => Value::Iri(Text::Owned(format!("urn:uuid:{}", drawn().uuid()))),
        Source::StrUuid => Value::String(Text::Owned(drawn().uuid())),
        Source::FreshBlank => blank(drawn()),
    }
}

fn blank(drawn: Drawn) -> Value<'static> {
    let node = BlankNode::new_from_unique_id(drawn.bits());
    Value::Blank(Blank::Labelled(Text::Owned(node.into_string())))
}
