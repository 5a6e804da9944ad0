//! Rows → events, by a mapping.
//!
//! Input: the ids of one row's columns, in the order of [`RowMapping::columns`]. Output: one event with the template's
//! triples for each solution of the row. Triples that need an unbound column are left out; a blank node of the template
//! is fresh for each solution; a row without triples is no event. Cost: the expressions, and one lookup per term they
//! create. The work per row and per body is bounded, because a mapping can double a text or multiply solutions any number
//! of times.

use super::batch::EventBatch;
use super::mapping::{RowMapping, Step};
use crate::error::EngineError;
use crate::expr::{CompileError, EvalContext, Expr, Scratch, compile};
use crate::limits::{Budget, Limits, within};
use crate::model::{EncodedTriple, TermId};
use crate::plan::PlanError;
use crate::time::Timestamp;
use oxrdf::{Term, Variable};
use spargebra::algebra::Expression;
use spargebra::term::{GroundTerm, NamedNodePattern, TermPattern};
use std::collections::HashMap;

/// Units of work that one row may take: text that expressions make counts by its length, 8 bytes a unit.
const ROW_UNITS_MAX: u64 = 256 * 1024;
/// The units that the rows of a body may take together, and the additional units per row: proportional to the size of the
/// mapping, within bounds, since a mapping that writes nine observations needs more than one that writes a triple.
const FREE_UNITS: u64 = 2 * 1024 * 1024;
const UNITS_PER_ROW: std::ops::RangeInclusive<u64> = 512..=2560;
const UNITS_PER_PART: u64 = 64;
const TRIPLE_UNITS: u64 = 4;

/// A compiled mapping with the batch it fills.
#[derive(Debug)]
pub struct RowMapper {
    batch: EventBatch,
    scratch: Scratch,
    steps: Vec<Compiled>,
    template: Vec<[Slot; 3]>,
    n_blanks: usize,
    /// Slots of a solution: the columns, then what steps bind.
    variables: Vec<Variable>,
    n_columns: usize,
    /// Distinguishes the rows of this body from those of others.
    salt: u64,
    solutions: Vec<Vec<TermId>>,
    /// Units left for the rest of the body.
    units_left: u64,
    units_per_row: u64,
}

#[derive(Debug)]
enum Compiled {
    Bind(usize, Expr),
    Filter(Expr),
    /// The slots, and rows of as many ids.
    Values(Vec<usize>, Vec<Vec<TermId>>),
}

#[derive(Clone, Copy, Debug)]
enum Slot {
    Constant(TermId),
    Variable(usize),
    Blank(usize),
}

fn units_per_row(mapping: &RowMapping) -> u64 {
    let steps = mapping.steps.iter().map(|step| match step {
        Step::Values(_, rows) => rows.len(),
        Step::Bind(..) | Step::Filter(_) => 1,
    });
    let parts = steps.sum::<usize>() + mapping.template.len();
    (UNITS_PER_PART * parts as u64).clamp(*UNITS_PER_ROW.start(), *UNITS_PER_ROW.end())
}

impl RowMapper {
    /// Compiles a mapping.
    ///
    /// # Errors
    /// When an expression calls an unknown function.
    pub fn new(mapping: &RowMapping) -> Result<Self, PlanError> {
        let variables: Vec<Variable> = mapping.columns().map(Variable::new_unchecked).collect();
        let mut mapper = Self {
            batch: EventBatch::new(),
            scratch: Scratch::default(),
            steps: Vec::new(),
            template: Vec::new(),
            n_blanks: 0,
            n_columns: variables.len(),
            variables,
            salt: 0,
            solutions: Vec::new(),
            units_left: FREE_UNITS,
            units_per_row: units_per_row(mapping),
        };
        for step in &mapping.steps {
            let compiled = mapper.compile_step(step, mapping)?;
            mapper.steps.push(compiled);
        }
        mapper.compile_template(mapping);
        Ok(mapper)
    }

    /// UUID() and similar functions return other values under another salt.
    #[must_use]
    pub fn with_salt(mut self, salt: u64) -> Self {
        self.salt = salt;
        self
    }

    /// The batch so far, for ids of the values of columns.
    pub fn batch_mut(&mut self) -> &mut EventBatch {
        &mut self.batch
    }

    /// The events of all rows.
    #[must_use]
    pub fn into_batch(self) -> EventBatch {
        self.batch
    }

    /// Maps a row: its number in the body, its time, and the ids of the columns.
    pub fn add_row(&mut self, index: u64, at: Option<Timestamp>, columns: &[TermId]) {
        let limits = Limits { work: Some(self.units_left.min(ROW_UNITS_MAX)), ..Limits::default() };
        self.scratch.budget = Budget::new(limits);
        let mapped = within(|| self.map_row(index, at, columns));
        self.units_left = (self.units_left - self.scratch.budget.spent()).saturating_add(self.units_per_row);
        let refusal = match mapped {
            Ok(Ok(())) => return,
            Ok(Err(reason)) => EngineError::BadRow { row: index, reason },
            Err(_) => EngineError::RowTooLarge { row: index },
        };
        self.solutions.clear();
        self.batch.refuse(index, refusal);
    }

    fn map_row(&mut self, index: u64, at: Option<Timestamp>, columns: &[TermId]) -> Result<(), String> {
        self.solve(index, at, columns);
        let mut begun = false;
        for solution in std::mem::take(&mut self.solutions) {
            self.instantiate(&solution, index, at, &mut begun)?;
        }
        Ok(())
    }

    fn solve(&mut self, index: u64, at: Option<Timestamp>, columns: &[TermId]) {
        debug_assert_eq!(columns.len(), self.n_columns, "one id per column");
        let mut row = columns.to_vec();
        row.resize(self.variables.len(), TermId::UNBOUND);
        self.solutions.push(row);
        // A function such as UUID() returns a new value for each row, and the same values when the body is replayed.
        self.scratch.reseed(self.salt.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(index));
        let now = at.unwrap_or(Timestamp::EPOCH);
        let Self { batch, scratch, steps, solutions, .. } = self;
        let mut ctx = EvalContext { dictionary: &mut batch.dictionary, now, scratch };
        for step in steps {
            match step {
                Compiled::Bind(slot, expression) => {
                    for solution in &mut *solutions {
                        solution[*slot] = expression.evaluate(solution, &mut ctx).unwrap_or(TermId::UNBOUND);
                    }
                }
                Compiled::Filter(condition) => solutions.retain(|solution| condition.holds(solution, &mut ctx)),
                Compiled::Values(slots, rows) => {
                    ctx.scratch.budget.spend_rows(solutions.len().saturating_mul(rows.len()), columns.len());
                    let joined =
                        solutions.iter().flat_map(|solution| rows.iter().filter_map(|row| join(solution, slots, row)));
                    *solutions = joined.collect();
                }
            }
        }
    }

    fn instantiate(
        &mut self,
        solution: &[TermId],
        index: u64,
        at: Option<Timestamp>,
        begun: &mut bool,
    ) -> Result<(), String> {
        let blanks: Vec<TermId> = (0..self.n_blanks).map(|_| self.batch.dictionary.fresh_blank()).collect();
        self.scratch.budget.spend(TRIPLE_UNITS * self.template.len() as u64);
        for slots in &self.template {
            let triple = slots.map(|slot| match slot {
                Slot::Constant(id) => id,
                Slot::Variable(slot) => solution[slot],
                Slot::Blank(number) => blanks[number],
            });
            if triple.iter().all(|id| id.is_bound()) {
                self.check(slots, triple)?;
                if !std::mem::replace(begun, true) {
                    self.batch.begin(at, index);
                }
                self.batch.push(triple);
            }
        }
        Ok(())
    }

    /// SPARQL leaves such triples out silently; here that would hide lost rows.
    fn check(&self, slots: &[Slot; 3], [subject, predicate, _]: EncodedTriple) -> Result<(), String> {
        let refuse = |slot: Slot, id: TermId, role: &str| {
            let written = self.batch.written(id);
            match slot {
                Slot::Variable(slot) => {
                    let variable = &self.variables[slot];
                    format!(
                        "{variable} is {written}, which cannot be a {role}; make an IRI of it: BIND(IRI(CONCAT(\"http://…/\", {variable})) AS ?iri)"
                    )
                }
                _ => format!("{written} cannot be a {role}"),
            }
        };
        if !self.batch.is_subject(subject) {
            return Err(refuse(slots[0], subject, "subject"));
        }
        if !self.batch.is_predicate(predicate) {
            return Err(refuse(slots[1], predicate, "predicate"));
        }
        Ok(())
    }
}

/// Compilation.
impl RowMapper {
    fn slot_of(&mut self, variable: &Variable) -> usize {
        self.variables.iter().position(|known| known == variable).unwrap_or_else(|| {
            self.variables.push(variable.clone());
            self.variables.len() - 1
        })
    }

    fn compile_step(&mut self, step: &Step, mapping: &RowMapping) -> Result<Compiled, PlanError> {
        Ok(match step {
            Step::Bind(variable, expression) => {
                let compiled = self.compile(expression, mapping)?;
                Compiled::Bind(self.slot_of(variable), compiled)
            }
            Step::Filter(condition) => Compiled::Filter(self.compile(condition, mapping)?),
            Step::Values(variables, rows) => {
                let slots = variables.iter().map(|variable| self.slot_of(variable)).collect();
                let ids = |row: &Vec<Option<GroundTerm>>| row.iter().map(|term| self.ground(term.as_ref())).collect();
                let rows: Vec<Vec<TermId>> = rows.iter().map(ids).collect();
                Compiled::Values(slots, rows)
            }
        })
    }

    fn compile(&mut self, expression: &Expression, mapping: &RowMapping) -> Result<Expr, CompileError> {
        let variables = &self.variables;
        let column_of = |variable: &Variable| variables.iter().position(|known| known == variable);
        let number = u32::try_from(self.steps.len()).unwrap_or(u32::MAX);
        let compiled = compile(expression, mapping.base.as_ref(), &column_of, &mut self.batch.dictionary)?;
        Ok(compiled.at_place(number, self.n_columns))
    }

    fn ground(&mut self, term: Option<&GroundTerm>) -> TermId {
        term.map_or(TermId::UNBOUND, |term| self.batch.term(&Term::from(term.clone())))
    }

    fn compile_template(&mut self, mapping: &RowMapping) {
        let mut blanks: HashMap<String, usize> = HashMap::new();
        for pattern in &mapping.template {
            let predicate = match &pattern.predicate {
                NamedNodePattern::NamedNode(node) => Slot::Constant(self.batch.term(&node.clone().into())),
                NamedNodePattern::Variable(variable) => Slot::Variable(self.slot_of(variable)),
            };
            let slots = [
                self.template_slot(&pattern.subject, &mut blanks),
                predicate,
                self.template_slot(&pattern.object, &mut blanks),
            ];
            self.template.push(slots);
        }
        self.n_blanks = blanks.len();
    }

    fn template_slot(&mut self, term: &TermPattern, blanks: &mut HashMap<String, usize>) -> Slot {
        match term {
            TermPattern::Variable(variable) => Slot::Variable(self.slot_of(variable)),
            TermPattern::BlankNode(node) => {
                let next = blanks.len();
                Slot::Blank(*blanks.entry(node.as_str().to_owned()).or_insert(next))
            }
            TermPattern::NamedNode(node) => Slot::Constant(self.batch.term(&node.clone().into())),
            TermPattern::Literal(literal) => Slot::Constant(self.batch.term(&literal.clone().into())),
            TermPattern::Triple(_) => Slot::Constant(TermId::UNBOUND),
        }
    }
}

/// The solution with the values of a row; `None` if they contradict each other.
fn join(solution: &[TermId], slots: &[usize], row: &[TermId]) -> Option<Vec<TermId>> {
    let agrees =
        |(slot, id): (&usize, &TermId)| !id.is_bound() || !solution[*slot].is_bound() || solution[*slot] == *id;
    if !slots.iter().zip(row).all(agrees) {
        return None;
    }
    let mut joined = solution.to_vec();
    for (slot, id) in slots.iter().zip(row).filter(|(_, id)| id.is_bound()) {
        joined[*slot] = *id;
    }
    Some(joined)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;
    use oxrdf::Literal;

    /// The events and refusals of rows that each have this text in `?v`.
    fn mapped(construct: &str, texts: &[String]) -> (usize, usize) {
        let mapping = RowMapping::parse(&format!("PREFIX : <http://ex/> {construct}")).unwrap();
        let mut mapper = RowMapper::new(&mapping).unwrap();
        for (index, text) in texts.iter().enumerate() {
            let id = mapper.batch_mut().term(&Literal::from(text.as_str()).into());
            let column = |name: &str| if name == "v" { id } else { TermId::UNBOUND };
            let columns: Vec<TermId> = mapping.columns().map(column).collect();
            mapper.add_row(index as u64, Some(Timestamp::EPOCH), &columns);
        }
        let batch = mapper.into_batch();
        (batch.len(), batch.refused().len())
    }

    fn doubling(times: usize) -> String {
        let binds = (0..times).map(|n| match n {
            0 => String::from("BIND(CONCAT(?v, ?v) AS ?d0) "),
            n => format!("BIND(CONCAT(?d{0}, ?d{0}) AS ?d{n}) ", n - 1),
        });
        format!("CONSTRUCT {{ :a :p ?d{} }} WHERE {{ {} }}", times - 1, binds.collect::<String>())
    }

    #[test]
    fn a_row_that_doubles_its_text_too_often_is_refused() {
        let long = ["x".repeat(1000)];
        assert_eq!(mapped(&doubling(8), &long), (1, 0));
        assert_eq!(mapped(&doubling(10), &long), (1, 0));
        let longer = ["x".repeat(4000)];
        assert_eq!(mapped(&doubling(9), &longer), (0, 1));
    }

    #[test]
    fn rows_of_one_body_share_their_room() {
        let texts: Vec<String> = (0..60).map(|n| format!("{n}{}", "x".repeat(1000))).collect();
        let (events, refused) = mapped(&doubling(10), &texts);
        assert!(events > 5 && refused > 20, "{events} {refused}");
        let ordinary: Vec<String> = (0..5000).map(|n| format!("{n}{}", "x".repeat(200))).collect();
        assert_eq!(mapped(&doubling(2), &ordinary), (5000, 0));
    }

    #[test]
    fn a_row_that_multiplies_solutions_is_refused() {
        let values =
            |name: &str| format!("VALUES ?{name} {{ {} }} ", (0..100).map(|n| format!("{n} ")).collect::<String>());
        let construct = format!(
            "CONSTRUCT {{ :a :p ?a , ?b , ?c , ?v }} WHERE {{ {}{}{} }}",
            values("a"),
            values("b"),
            values("c")
        );
        assert_eq!(mapped(&construct, &[String::from("x")]), (0, 1));
    }
}
