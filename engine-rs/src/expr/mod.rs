//! FILTER and BIND: expressions compiled once and evaluated on mappings of `TermId`s.
//!
//! Input: a row of ids. Output: an id or `None`; an evaluation error is "no value", never an `Err`. Results equal those
//! of the reference evaluator (spareval), except where the W3C tests require otherwise: a computed value is written in
//! canonical form, a term that is passed through (`made.rs`) stays as it is, and `STR` and `DATATYPE` refer to that
//! term.
//!
//! Invariants: evaluation reads no clock and draws no random numbers, it interns nothing but its result, and no string
//! it creates is longer than the budget allows (1 MiB). Inlined numbers, booleans and dateTimes are compared and
//! computed without touching strings or the heap.

mod arithmetic;
mod builtin;
mod casts;
mod compare;
mod compile;
mod datetimes;
mod hashes;
mod made;
mod node;
mod numbers;
pub mod order;
mod regexes;
mod scratch;
mod strings;
mod temporal;
mod terms;
#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests;
mod text;
mod value;

pub use order::compare_terms;
pub use scratch::Scratch;

pub(crate) use casts::is_known as is_known_function;
pub(crate) use compile::{IN_PARTITION, TRIPLE_PART};
pub(crate) use numbers::{Number, Operator};
pub(crate) use order::{TermKey, compare_rows, order_prefix, order_text, tie_text};
pub(crate) use text::Text;
pub(crate) use value::Value;

use crate::encode::Dictionary;
use crate::model::TermId;
use crate::time::Timestamp;
use compile::Compiler;
use node::{Node, Scope};
use oxiri::Iri;
use oxrdf::{NamedNode, Variable};
use spargebra::algebra::Expression;

/// What an evaluation needs in addition to the mapping.
pub struct EvalContext<'a> {
    pub dictionary: &'a mut Dictionary,
    /// The instant of the evaluation, for `NOW()`.
    pub now: Timestamp,
    /// The query's own scratch space: bits for `RAND` and similar functions, compiled patterns, the work budget.
    pub scratch: &'a mut Scratch,
}

/// A compiled expression.
pub struct Expr {
    node: Node,
    /// Its number in the query.
    number: u32,
    /// How many columns identify a solution; later ones were computed from them.
    identity: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CompileError {
    #[error("EXISTS is not allowed inside this expression")]
    Exists,
    #[error("function <{iri}> does not exist", iri = .iri.as_str())]
    UnknownFunction { iri: NamedNode },
    #[error("function {function} does not take {given} arguments")]
    WrongArity { function: String, given: usize },
}

impl CompileError {
    /// The stable code of the error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Exists => "expr.exists_not_allowed",
            Self::UnknownFunction { .. } => "expr.unknown_function",
            Self::WrongArity { .. } => "expr.wrong_arity",
        }
    }
}

/// Compiles an expression; `IRI(…)` resolves against the base. A variable without a column is unbound.
///
/// # Errors
/// When it contains `EXISTS`, or a wrong number of arguments. An unknown function is an error when it is called.
pub fn compile(
    expression: &Expression,
    base: Option<&Iri<String>>,
    column_of: &dyn Fn(&Variable) -> Option<usize>,
    dictionary: &mut Dictionary,
) -> Result<Expr, CompileError> {
    let node = Compiler { base, column_of, dictionary, calls: 0 }.node(expression)?;
    Ok(Expr { node, number: 0, identity: usize::MAX })
}

impl std::fmt::Debug for Expr {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Expr")
    }
}

impl Expr {
    /// Tells functions that yield a new value for each solution which expression this is and how many columns identify
    /// a solution. Without it, an arrival and its retraction could draw different values.
    pub(crate) fn at_place(self, number: u32, identity: usize) -> Self {
        Self { number, identity, ..self }
    }

    fn scope<'v>(&self, ctx: &'v mut EvalContext<'_>) -> Scope<'v, 'v> {
        ctx.scratch.budget.spend(1);
        Scope {
            dictionary: &*ctx.dictionary,
            now: ctx.now,
            scratch: &mut *ctx.scratch,
            expression: self.number,
            identity: self.identity,
        }
    }

    /// The value for one mapping; `None` is an error, or an unbound variable.
    pub fn evaluate(&self, row: &[TermId], ctx: &mut EvalContext<'_>) -> Option<TermId> {
        let made = self.node.made(row, &mut self.scope(ctx))?;
        Some(made.intern(ctx.dictionary))
    }

    /// Whether the effective boolean value is true.
    pub fn holds(&self, row: &[TermId], ctx: &mut EvalContext<'_>) -> bool {
        self.node.truth(row, &mut self.scope(ctx)) == Some(true)
    }
}

/// The instant of the evaluation as a dateTime.
pub(crate) fn instant(ctx: &mut EvalContext<'_>) -> TermId {
    datetimes::at_instant(ctx.now).into_made().intern(ctx.dictionary)
}
