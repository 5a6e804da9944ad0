//! The template of CONSTRUCT: constants, columns of a solution, blank nodes, and triple terms made of these; with GRAPH
//! also the names of graphs.

use super::build::{Builder, Host};
use super::scope::{Vars, in_scope};
use super::wording::pattern_text;
use crate::model::Schema;
use crate::parse::TemplateQuad;
use crate::shape::{QuadSlots, TemplateSlot};
use oxrdf::{BlankNode, TermRef, Variable};
use spargebra::algebra::GraphPattern;
use spargebra::term::{NamedNodePattern, TermPattern, TriplePattern};

/// The variables of a template.
pub(super) fn template_variables(template: &[TemplateQuad]) -> Vars {
    let mut variables = in_scope(&GraphPattern::Bgp { patterns: triples_of(template) });
    let graphs = template.iter().filter_map(|(_, graph)| graph.as_ref());
    variables.extend(
        graphs.filter_map(|graph| if let TermPattern::Variable(name) = graph { Some(name.clone()) } else { None }),
    );
    variables
}

/// A template on one line, the triples of a graph in a block.
pub(super) fn template_text(template: &[TemplateQuad]) -> String {
    let blocks = template.chunk_by(|(_, one), (_, next)| one == next).map(|quads| {
        let triples = GraphPattern::Bgp { patterns: triples_of(quads) };
        match &quads[0].1 {
            Some(graph) => format!("GRAPH {graph} {}", pattern_text(&triples)),
            None => triples.to_string(),
        }
    });
    format!("{{ {} }}", blocks.collect::<Vec<_>>().join(" "))
}

fn triples_of(template: &[TemplateQuad]) -> Vec<TriplePattern> {
    template.iter().map(|(triple, _)| triple.clone()).collect()
}

impl<H: Host> Builder<'_, H> {
    /// The slots of a template triple and of its graph; `blanks` collects the blank nodes of the template so far.
    pub(super) fn quad_slots(
        &mut self,
        (triple, graph): &TemplateQuad,
        schema: &Schema,
        blanks: &mut Vec<BlankNode>,
    ) -> QuadSlots {
        let triple = self.template_slots(triple, schema, blanks);
        QuadSlots { triple, graph: graph.as_ref().map(|graph| self.template_slot(graph, schema, blanks)) }
    }

    fn template_slots(
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
