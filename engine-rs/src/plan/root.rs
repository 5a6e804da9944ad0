//! A query as a whole: its modifiers, the plan of its pattern, and whether the pattern is evaluated anew at each instant.

use super::error::{PlanError, Reevaluation};
use super::logical::{Dataset, Plan, WindowFamily};
use super::modifiers::{Top, take_apart};
use super::paths::FreshVariables;
use super::spelling::Meanings;
use super::translate::Translator;
use crate::parse::ContinuousQuery;
use oxrdf::Variable;
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
    // by `visible` instead. A projection below it is dropped too if it hides nothing that is shown: what a sub-query
    // hides, the query around it may show as a variable of its own, which is unbound.
    let needed = top.needed();
    let mut is_own = top.is_projected;
    let mut hides_nothing = |variables: &[Variable]| {
        std::mem::take(&mut is_own) || needed.iter().all(|variable| variables.contains(variable))
    };
    let mut plan = match evaluation {
        Evaluation::Incremental => translator.plan(&top.pattern, &Dataset::Default)?,
        Evaluation::Reevaluate => {
            top.pattern = without_projections(top.pattern, &mut hides_nothing);
            translator.reevaluated(&top.pattern, &Dataset::Default, Reevaluation::Asked)?
        }
    };
    loop {
        plan = match plan {
            Plan::Project { inner, variables } if hides_nothing(&variables) => *inner,
            whole => break Ok((top, whole, translator.fresh.meanings)),
        };
    }
}

fn without_projections(mut pattern: GraphPattern, hides_nothing: &mut impl FnMut(&[Variable]) -> bool) -> GraphPattern {
    loop {
        pattern = match pattern {
            GraphPattern::Project { inner, variables } if hides_nothing(&variables) => *inner,
            whole => return whole,
        };
    }
}
