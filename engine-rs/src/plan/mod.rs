//! From syntax tree to operators.
//!
//! `translate.rs` turns SPARQL algebra into a logical plan whose leaves are triple patterns over
//! windows, whose joins are n-ary, and whose static parts stand apart; `scope.rs` and `exists.rs`
//! answer what it asks about variables and about EXISTS; `build.rs` and `build_join.rs` make the operators;
//! `explain.rs` prints them.

mod build;
mod build_join;
mod error;
mod exists;
mod explain;
mod logical;
mod modifiers;
mod paths;
mod properties;
mod scope;
mod translate;

pub(crate) use build::{Builder, BuiltQuery, Host, NodeKind, PlanNode};
pub use build::{PlanOptions, Retraction};
pub use error::PlanError;
pub(crate) use explain::explain;
pub(crate) use modifiers::Answer;
