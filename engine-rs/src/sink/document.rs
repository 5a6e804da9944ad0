//! Full results and graphs as documents in the standard formats.

use crate::error::EngineError;
use crate::parse::RdfFormat;
use oxjsonld::JsonLdSerializer;
use oxrdf::{Quad, Term, TermRef, Variable};
use oxttl::{NQuadsSerializer, NTriplesSerializer, TriGSerializer, TurtleSerializer};
use sparesults::{QueryResultsFormat, QueryResultsSerializer};
use std::io;

/// The format of a result: solutions and booleans use a results format, graphs an RDF format.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AnswerFormat {
    Json,
    Xml,
    Csv,
    Tsv,
    Rdf(RdfFormat),
}

impl AnswerFormat {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Xml => "xml",
            Self::Csv => "csv",
            Self::Tsv => "tsv",
            Self::Rdf(format) => format.name(),
        }
    }

    fn for_results(self, answer: &'static str) -> Result<QueryResultsFormat, EngineError> {
        match self {
            Self::Json => Ok(QueryResultsFormat::Json),
            Self::Xml => Ok(QueryResultsFormat::Xml),
            Self::Csv => Ok(QueryResultsFormat::Csv),
            Self::Tsv => Ok(QueryResultsFormat::Tsv),
            Self::Rdf(_) => {
                Err(EngineError::FormatMismatch { answer, format: self.name(), formats: "json, xml, csv, tsv" })
            }
        }
    }

    fn for_graph(self) -> Result<RdfFormat, EngineError> {
        let formats = "turtle, ntriples, nquads, trig, jsonld";
        match self {
            Self::Rdf(format) => Ok(format),
            _ => Err(EngineError::FormatMismatch { answer: "a graph", format: self.name(), formats }),
        }
    }
}

/// Writes solutions; each has a term or none for each variable.
pub(crate) fn write_solutions(
    format: AnswerFormat,
    variables: &[Variable],
    rows: impl Iterator<Item = Vec<Option<Term>>>,
) -> Result<Vec<u8>, EngineError> {
    let serializer = QueryResultsSerializer::from_format(format.for_results("solutions")?);
    let write = || -> io::Result<Vec<u8>> {
        let mut writer = serializer.serialize_solutions_to_writer(Vec::new(), variables.to_vec())?;
        for row in rows {
            let terms = variables.iter().zip(&row);
            let bound = terms.filter_map(|(v, term)| term.as_ref().map(|term| (v.as_ref(), TermRef::from(term))));
            writer.serialize(bound)?;
        }
        writer.finish()
    };
    write().map_err(|error| unwritable(format.name(), &error))
}

pub(crate) fn write_boolean(format: AnswerFormat, value: bool) -> Result<Vec<u8>, EngineError> {
    let serializer = QueryResultsSerializer::from_format(format.for_results("a truth value")?);
    serializer.serialize_boolean_to_writer(Vec::new(), value).map_err(|error| unwritable(format.name(), &error))
}

/// Writes quads as one document. Formats for a single graph omit graph names.
pub(crate) fn write_graph(format: AnswerFormat, quads: impl Iterator<Item = Quad>) -> Result<Vec<u8>, EngineError> {
    let format = format.for_graph()?;
    write_quads(format, quads).map_err(|error| unwritable(format.name(), &error))
}

fn write_quads(format: RdfFormat, quads: impl Iterator<Item = Quad>) -> io::Result<Vec<u8>> {
    match format {
        RdfFormat::NTriples => {
            let mut writer = NTriplesSerializer::new().for_writer(Vec::new());
            for quad in quads {
                writer.serialize_triple(quad.as_ref())?;
            }
            Ok(writer.finish())
        }
        RdfFormat::NQuads => {
            let mut writer = NQuadsSerializer::new().for_writer(Vec::new());
            for quad in quads {
                writer.serialize_quad(quad.as_ref())?;
            }
            Ok(writer.finish())
        }
        RdfFormat::Turtle => {
            let mut writer = TurtleSerializer::new().for_writer(Vec::new());
            for quad in quads {
                writer.serialize_triple(quad.as_ref())?;
            }
            writer.finish()
        }
        RdfFormat::TriG => {
            let mut writer = TriGSerializer::new().for_writer(Vec::new());
            for quad in quads {
                writer.serialize_quad(quad.as_ref())?;
            }
            writer.finish()
        }
        RdfFormat::JsonLd => {
            let mut writer = JsonLdSerializer::new().for_writer(Vec::new());
            for quad in quads {
                writer.serialize_quad(quad.as_ref())?;
            }
            writer.finish()
        }
    }
}

fn unwritable(format: &'static str, error: &io::Error) -> EngineError {
    EngineError::Unwritable { format, reason: error.to_string() }
}
