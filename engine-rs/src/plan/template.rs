//! The template of CONSTRUCT: constants, columns of a solution, blank nodes, and triple terms made of these.

use super::build::{Builder, Host};
use crate::model::Schema;
use crate::shape::TemplateSlot;
use oxrdf::{BlankNode, TermRef, Variable};
use spargebra::term::{NamedNodePattern, TermPattern, TriplePattern};

impl<H: Host> Builder<'_, H> {
    /// The slots of a template triple; `blanks` collects the blank nodes of the template so far.
    pub(super) fn template_slots(
        &mut self,
        triple: &TriplePattern,
        schema: &Schema,
        blanks: &mut Vec<BlankNode>,
    ) -> [TemplateSlot; 3] {
        let subject = self.template_slot(&triple.subject, schema, blanks);
        let predicate = match &triple.predicate {
            NamedNodePattern::NamedNode(node) => self.constant_slot(node.as_ref().into()),
            NamedNodePattern::Variable(variable) => self.column_slot(variable, schema),
        };
        [subject, predicate, self.template_slot(&triple.object, schema, blanks)]
    }

    fn template_slot(&mut self, term: &TermPattern, schema: &Schema, blanks: &mut Vec<BlankNode>) -> TemplateSlot {
        match term {
            TermPattern::NamedNode(node) => self.constant_slot(node.as_ref().into()),
            TermPattern::Literal(literal) => self.constant_slot(literal.as_ref().into()),
            TermPattern::Variable(variable) => self.column_slot(variable, schema),
            TermPattern::BlankNode(node) => TemplateSlot::Blank(number_of(node, blanks)),
            TermPattern::Triple(triple) => TemplateSlot::Triple(self.template_slots(triple, schema, blanks).into()),
        }
    }

    fn constant_slot(&mut self, term: TermRef<'_>) -> TemplateSlot {
        TemplateSlot::Constant(self.dictionary.intern_pinned(term))
    }

    fn column_slot(&self, variable: &Variable, schema: &Schema) -> TemplateSlot {
        TemplateSlot::Column(self.vars.find(variable).and_then(|var| schema.column(var)))
    }
}

fn number_of(node: &BlankNode, blanks: &mut Vec<BlankNode>) -> usize {
    blanks.iter().position(|known| known == node).unwrap_or_else(|| {
        blanks.push(node.clone());
        blanks.len() - 1
    })
}
