//! Rows → events, by a mapping.
//!
//! In: the ids of one row's columns, in the order of [`RowMapping::columns`]. Out: one event with the triples of
//! the template, for each solution the row has. An unbound column leaves out the triples that need it; a blank node
//! of the template is a fresh one for each solution; a row without triples is no event. Cost: the expressions, and
//! one look-up for each term they make.

use super::batch::EventBatch;
use super::mapping::{RowMapping, Step};
use crate::error::EngineError;
use crate::expr::{CompileError, EvalContext, Expr, Scratch, compile};
use crate::model::{EncodedTriple, TermId};
use crate::plan::PlanError;
use crate::time::Timestamp;
use oxrdf::{Term, Variable};
use spargebra::algebra::Expression;
use spargebra::term::{GroundTerm, NamedNodePattern, TermPattern};
use std::collections::HashMap;

/// A mapping at work: compiled, with the batch it fills.
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
    /// What tells the rows of this body from those of others.
    salt: u64,
    solutions: Vec<Vec<TermId>>,
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

impl RowMapper {
    /// Compiles a mapping.
    ///
    /// # Errors
    /// When an expression calls what is not known.
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
        };
        for step in &mapping.steps {
            let compiled = mapper.compile_step(step, mapping)?;
            mapper.steps.push(compiled);
        }
        mapper.compile_template(mapping);
        Ok(mapper)
    }

    /// UUID() and the like give other values under another salt.
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
        self.solve(index, at, columns);
        let mut begun = false;
        for solution in std::mem::take(&mut self.solutions) {
            if let Err(reason) = self.instantiate(&solution, index, at, &mut begun) {
                self.batch.refuse(index, EngineError::BadRow { row: index, reason });
                return;
            }
        }
    }

    fn solve(&mut self, index: u64, at: Option<Timestamp>, columns: &[TermId]) {
        debug_assert_eq!(columns.len(), self.n_columns, "one id per column");
        let mut row = columns.to_vec();
        row.resize(self.variables.len(), TermId::UNBOUND);
        self.solutions.push(row);
        // A function such as UUID() gives something else for each row, and the same again when the body is replayed.
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

    /// SPARQL leaves such triples out without a word; rows that vanish help nobody.
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

/// The solution with the values of a row, where they do not contradict each other.
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
