//! A query as a whole: its modifiers, the plan of its pattern, and whether the pattern is evaluated anew at each instant.

use super::error::{PlanError, Reevaluation};
use super::logical::{Dataset, Plan, WindowFamily};
use super::modifiers::{Top, take_apart};
use super::paths::FreshVariables;
use super::spelling::Meanings;
use super::translate::Translator;
use crate::parse::ContinuousQuery;
use spargebra::algebra::GraphPattern;

/// Whether queries are evaluated incrementally, or anew at each instant: the baseline to compare with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Evaluation {
    #[default]
    Incremental,
    Reevaluate,
}

/// The solution modifiers of a query, the plan of its pattern, and the meanings of the variables that planning
/// invented.
pub(super) fn root_of(
    query: &ContinuousQuery,
    families: &[WindowFamily],
    evaluation: Evaluation,
) -> Result<(Top, Plan, Meanings), PlanError> {
    let mut top = take_apart(query);
    let mut translator = Translator { query, families, fresh: FreshVariables::default() };
    // The outermost projection only hides columns, and ORDER BY may still need them. So it is dropped here and applied
    // by `visible` instead.
    let mut plan = match evaluation {
        Evaluation::Incremental => translator.plan(&top.pattern, &Dataset::Default)?,
        Evaluation::Reevaluate => {
            while let GraphPattern::Project { inner, .. } = top.pattern {
                top.pattern = *inner;
            }
            translator.reevaluated(&top.pattern, &Dataset::Default, Reevaluation::Asked)?
        }
    };
    while let Plan::Project { inner, .. } = plan {
        plan = *inner;
    }
    Ok((top, plan, translator.fresh.meanings))
}
