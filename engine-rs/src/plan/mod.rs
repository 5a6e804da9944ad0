//! From syntax tree to operators.
//!
//! `translate.rs` turns SPARQL algebra into a logical plan whose leaves are triple patterns over
//! windows, whose joins are n-ary, and whose static parts stand apart; `help.rs` provides what an
//! expression needs beyond its mapping; `scope.rs` and `exists.rs` answer questions about variables
//! and EXISTS; `cut.rs` divides a plan for partitions; `costly.rs` refuses what costs too much whatever the data; `values.rs` lets VALUES decide early; `rename.rs` gives what the parser invents stable names; `build.rs` and `build_join.rs` make the
//! operators. `explain.rs` gathers what there is to say of them, in the words of `wording.rs` and `spelling.rs`, and
//! `explain_text.rs` prints it; `warnings.rs` says what a user may want to know before,
//! with `merging.rs` for aggregates that count merged copies once and `lint.rs` for variables that nothing binds.

mod blanks;
mod build;
mod build_join;
mod costly;
mod cut;
mod error;
mod event_graphs;
mod exists;
mod explain;
mod explain_text;
mod graph_names;
mod help;
mod lint;
mod logical;
mod merging;
mod modifiers;
mod paths;
mod properties;
mod reads;
mod rename;
mod scope;
mod spelling;
mod streams;
mod template;
mod translate;
mod triple_terms;
mod values;
mod warnings;
mod wording;

pub(crate) use build::{Builder, BuiltQuery, Host, NodeKind, PlanNode, PlannedQuery};
pub use build::{PlanOptions, Retraction};
pub(crate) use cut::{
    Cut, Part, RoutedLeaf, Share, Spread, asks_event_graphs, named, named_streams, shown_variables, spread,
};
pub use error::{Costly, PlanError, Reevaluation, Unmappable, Unsupported};
pub(crate) use explain::{BufferView, Explained, Mode, NodeView, PlanView, QueryView, SourceView, WindowView};
pub(crate) use graph_names::graph_names;
pub(crate) use logical::{Place, WindowFamily};
pub(crate) use modifiers::Answer;
pub(crate) use paths::evaluable;
pub(crate) use reads::{Reads, Wanted};
pub(crate) use rename::rename_invented;
pub(crate) use spelling::Meanings;
pub(crate) use streams::streams_of;
pub(crate) use warnings::{Warning, unknown_function};
