//! Operators on single mappings: filter, extend, project, union, distinct, construct.

mod construct;
mod distinct;
mod given;
mod mapwise;
mod now;

pub(crate) use construct::{Construct, QuadSlots, TemplateSlot};
pub(crate) use distinct::Distinct;
pub(crate) use given::Given;
pub(crate) use mapwise::{Extend, Filter, Rearrange};
pub(crate) use now::Now;
