//! From syntax tree to operators.
//!
//! ```text
//!  query text ─parse─▶ algebra ─translate─▶ logical plan ─cut─▶ this engine's part ─build─▶ operators
//!                        ▲                      ▲
//!        costly, values, rename          help, exists, paths,
//!        (before or while planning)      each_graph, event_graphs, triple_terms
//! ```
//!
//! `translate.rs` turns SPARQL algebra into a logical plan (`logical.rs`): its leaves are triple patterns over
//! windows, its joins are n-ary, its static parts are separate. `help.rs` provides what an expression needs beyond its
//! mapping; `exists.rs` and `scope.rs` answer questions about EXISTS and about variables.
//!
//! `values.rs` joins VALUES early, `rename.rs` gives stable names to what the parser invents, `cut.rs` divides a plan
//! for partitions, `costly.rs` refuses what is expensive for any data.
//!
//! `build.rs` and `build_join.rs` create the operators.
//!
//! `explain.rs` collects the description of a plan, worded by `wording.rs` and `spelling.rs`; `explain_text.rs`
//! prints it.
//!
//! `warnings.rs` collects advice about a query; `merging.rs` covers aggregates over merged copies, `lint.rs` unbound
//! variables.

mod blanks;
mod build;
mod build_join;
mod build_order;
mod costly;
mod cut;
mod each_graph;
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
mod node;
mod paths;
mod properties;
mod reads;
mod rename;
mod root;
mod scope;
mod spelling;
mod streams;
mod template;
mod translate;
mod triple_terms;
mod values;
mod warnings;
mod wording;

pub(crate) use build::{Builder, BuiltQuery, Host, PlannedQuery};
pub use build::{PlanOptions, Retraction};
pub(crate) use cut::{
    Cut, Part, RoutedLeaf, Share, Spread, asks_event_graphs, named, named_streams, shown_variables, spread,
};
pub use error::{Costly, PlanError, Reevaluation, Unmappable, Unsupported};
pub(crate) use explain::{
    BufferView, Explained, IndexView, Mode, NodeView, PlanView, QueryView, SourceView, WindowView,
};
pub(crate) use graph_names::graph_names;
pub(crate) use logical::{Place, WindowFamily};
pub(crate) use modifiers::Answer;
pub(crate) use node::{NodeKind, PlanNode};
pub(crate) use paths::evaluable;
pub(crate) use reads::{Reads, Wanted};
pub(crate) use rename::parse_with_stable_names;
pub use root::Evaluation;
pub(crate) use spelling::Meanings;
pub(crate) use streams::streams_of;
pub(crate) use warnings::{Warning, unknown_function};
