//! CONSTRUCT: each solution becomes the triples of the template; those in GRAPH blocks have a fourth column with the
//! name of their graph.
//!
//! Each solution gets fresh blank nodes for those of the template, and its retraction uses the same ones. Triples with
//! an unbound or invalid term are left out.

use crate::codec::{Decoded, Reader, Writer, ensure};
use crate::encode::Dictionary;
use crate::expr::EvalContext;
use crate::flow::{Flow, HeldTerms, Operator, terms_of};
use crate::model::{Batch, RowMap, TermId, Weight, list_bytes, row_map_bytes};

/// One position of a template triple.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum TemplateSlot {
    Constant(TermId),
    /// A column of the solution; `None` for a variable that is never bound.
    Column(Option<usize>),
    /// The blank node with this number in the template.
    Blank(usize),
    /// A triple term.
    Triple(Box<[TemplateSlot; 3]>),
}

impl TemplateSlot {
    /// The number of blank nodes it needs.
    fn blanks(&self) -> usize {
        match self {
            Self::Constant(_) | Self::Column(_) => 0,
            Self::Blank(number) => number + 1,
            Self::Triple(parts) => parts.iter().map(Self::blanks).max().unwrap_or(0),
        }
    }

    /// The term for one solution; unbound if there is none.
    fn fill(&self, row: &[TermId], blanks: &[TermId], dictionary: &mut Dictionary) -> TermId {
        match self {
            Self::Constant(term) => *term,
            Self::Column(column) => column.map_or(TermId::UNBOUND, |column| row[column]),
            Self::Blank(number) => blanks[*number],
            Self::Triple(parts) => {
                let parts = parts.each_ref().map(|part| part.fill(row, blanks, dictionary));
                dictionary.intern_triple(parts).unwrap_or(TermId::UNBOUND)
            }
        }
    }
}

/// A triple of a template, and the name of its graph; none is the default graph.
#[derive(Debug)]
pub(crate) struct QuadSlots {
    pub triple: [TemplateSlot; 3],
    pub graph: Option<TemplateSlot>,
}

impl QuadSlots {
    fn slots(&self) -> impl Iterator<Item = &TemplateSlot> {
        self.triple.iter().chain(&self.graph)
    }

    /// The quad for one solution; `None` if some term is unbound or not allowed in its position.
    fn fill(&self, row: &[TermId], blanks: &[TermId], dictionary: &mut Dictionary) -> Option<[TermId; 4]> {
        let [s, p, o] = self.triple.each_ref().map(|slot| slot.fill(row, blanks, dictionary));
        let graph = self.graph.as_ref().map(|slot| slot.fill(row, blanks, dictionary));
        let may_name = |name: TermId| name.is_bound() && (dictionary.is_iri(name) || dictionary.is_blank(name));
        (dictionary.is_triple([s, p, o]) && graph.is_none_or(may_name)).then_some([
            s,
            p,
            o,
            graph.unwrap_or(TermId::UNBOUND),
        ])
    }
}

#[derive(Debug)]
pub(crate) struct Construct {
    template: Vec<QuadSlots>,
    /// Columns of a row: subject, predicate and object, and the graph if a triple of the template names one.
    width: usize,
    n_blanks: usize,
    /// The blank nodes of each current solution, one set per occurrence.
    given: RowMap<Vec<Vec<TermId>>>,
}

impl Construct {
    pub(crate) fn new(template: Vec<QuadSlots>) -> Self {
        let n_blanks = template.iter().flat_map(QuadSlots::slots).map(TemplateSlot::blanks).max().unwrap_or(0);
        let width = if template.iter().any(|quad| quad.graph.is_some()) { 4 } else { 3 };
        Self { n_blanks, width, template, given: RowMap::default() }
    }

    pub(crate) fn width(&self) -> usize {
        self.width
    }

    fn emit(&self, row: &[TermId], blanks: &[TermId], weight: Weight, out: &mut Batch, flow: &mut Flow<'_>) {
        flow.eval.scratch.budget.spend_rows(self.template.len(), self.width);
        for slots in &self.template {
            if let Some(quad) = slots.fill(row, blanks, flow.eval.dictionary) {
                out.push(&quad[..self.width], weight);
            }
        }
    }

    fn emit_with_blanks(&mut self, row: &[TermId], weight: Weight, out: &mut Batch, flow: &mut Flow<'_>) {
        for _ in 0..weight.abs() {
            let blanks: Vec<TermId> = if weight > 0 {
                (0..self.n_blanks).map(|_| flow.eval.dictionary.fresh_blank()).collect()
            } else {
                self.take_back(row)
            };
            self.emit(row, &blanks, weight.signum(), out, flow);
            if weight > 0 {
                self.given.entry(row.into()).or_default().push(blanks);
            }
        }
    }

    fn take_back(&mut self, row: &[TermId]) -> Vec<TermId> {
        let sets = self.given.get_mut(row).expect("what is taken back was given");
        let blanks = sets.pop().expect("one set per occurrence");
        if sets.is_empty() {
            self.given.remove(row);
        }
        blanks
    }
}

impl Operator for Construct {
    fn absorb(&mut self, _port: usize, deltas: &Batch, out: &mut Batch, flow: &mut Flow<'_>) {
        let signs: [fn(Weight) -> bool; 2] = [|weight| weight > 0, |weight| weight < 0];
        for sign in signs {
            for (row, weight) in deltas.iter().filter(|(_, weight)| sign(*weight)) {
                if self.n_blanks == 0 {
                    self.emit(row, &[], weight, out, flow);
                } else {
                    self.emit_with_blanks(row, weight, out, flow);
                }
            }
        }
    }

    fn save(&self, to: &mut Writer) {
        to.by_row(self.given.iter(), |to, sets| to.list(sets.iter(), |to, blanks| to.row(blanks)));
    }

    fn restore(&mut self, from: &mut Reader<'_>, _eval: &mut EvalContext<'_>) -> Decoded<()> {
        self.given = from.list(16, |from| Ok((from.row()?, from.list(8, |from| from.row().map(Vec::from))?)))?;
        let mut sets = self.given.values().flatten();
        ensure(sets.all(|blanks| blanks.len() == self.n_blanks), "the blank nodes of a template differ")
    }

    fn state_size(&self) -> usize {
        self.given.len()
    }

    fn bytes(&self) -> usize {
        let sets = |sets: &Vec<Vec<TermId>>| list_bytes(sets) + sets.iter().map(list_bytes).sum::<usize>();
        row_map_bytes(&self.given) + self.given.values().map(sets).sum::<usize>()
    }

    /// A triple term is created per solution, and kept as long as its row.
    fn makes_lasting_rows(&self) -> bool {
        self.template.iter().flat_map(QuadSlots::slots).any(|slot| matches!(slot, TemplateSlot::Triple(_)))
    }

    /// Blank nodes created here are ids without a dictionary entry.
    fn held_terms(&self) -> HeldTerms<'_> {
        terms_of(self.given.keys())
    }
}
