//! RDF terms as Python objects, in both directions.
//!
//! Input: a `str` is an IRI (`_:x` a blank node); Python numbers, booleans and times are literals; terms of whorl,
//! rdflib and pyoxigraph are recognised by their class. Output: objects of the library that the caller chose. rdflib
//! has neither directions nor triple terms: a direction is left out there, and a triple term becomes its text.

use oxrdf::vocab::{rdf, xsd};
use oxrdf::{BaseDirection, BlankNode, Literal, NamedNode, NamedOrBlankNode, Term, Triple};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyString, PyTuple};

/// Reads a triple of Python terms.
pub fn read_triple(triple: &Bound<'_, PyAny>) -> PyResult<Triple> {
    let (subject, predicate, object) = parts(triple)?;
    let subject = match read_term(&subject)? {
        Term::NamedNode(node) => NamedOrBlankNode::NamedNode(node),
        Term::BlankNode(node) => NamedOrBlankNode::BlankNode(node),
        other => return Err(PyTypeError::new_err(format!("a subject is an IRI or a blank node, not {other}"))),
    };
    let Term::NamedNode(predicate) = read_term(&predicate)? else {
        return Err(PyTypeError::new_err("a predicate is an IRI"));
    };
    Ok(Triple::new(subject, predicate, read_term(&object)?))
}

type Parts<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>);

/// Tuples and lists of three, and pyoxigraph's `Triple`.
fn parts<'py>(triple: &Bound<'py, PyAny>) -> PyResult<Parts<'py>> {
    if let Ok(tuple) = triple.cast::<PyTuple>() {
        if let (3, Ok(found)) = (tuple.len(), tuple.extract()) {
            return Ok(found);
        }
    } else if triple.hasattr(intern!(triple.py(), "predicate"))? {
        let part = |name| triple.getattr(name);
        return Ok((part("subject")?, part("predicate")?, part("object")?));
    } else if let Ok([subject, predicate, object]) = triple.extract::<[Bound<'py, PyAny>; 3]>() {
        return Ok((subject, predicate, object));
    }
    let text = triple.repr().map_or_else(|_| String::from("?"), |repr| repr.to_string());
    Err(PyTypeError::new_err(format!("a triple is three terms, not {text}")))
}

/// Reads a term of any of the known libraries, or a Python value.
pub fn read_term(value: &Bound<'_, PyAny>) -> PyResult<Term> {
    if value.is_exact_instance_of::<PyString>() {
        return read_name(value.extract()?);
    }
    if let Some(literal) = read_value(value)? {
        return Ok(literal.into());
    }
    let class = value.get_type().name()?;
    match class.to_str()? {
        "Iri" | "URIRef" => Ok(named_node(value.extract()?)?.into()),
        "NamedNode" => Ok(named_node(value.getattr("value")?.extract()?)?.into()),
        "BNode" => blank_node(value.extract()?),
        "BlankNode" if value.is_instance_of::<PyString>() => blank_node(value.extract()?),
        "BlankNode" => blank_node(value.getattr("value")?.extract()?),
        "Literal" => Ok(read_literal(value)?.into()),
        "TripleTerm" | "Triple" => Ok(read_triple(value)?.into()),
        "datetime" => Ok(typed(value, "isoformat", xsd::DATE_TIME.into_owned())?.into()),
        "date" => Ok(typed(value, "isoformat", xsd::DATE.into_owned())?.into()),
        "Decimal" => Ok(read_decimal(value)?.into()),
        _ if value.is_instance_of::<PyString>() => read_name(value.extract()?),
        other => Err(PyTypeError::new_err(format!("a value of type {other} is not an RDF term"))),
    }
}

/// Booleans before integers: a Python bool is an int, too.
fn read_value(value: &Bound<'_, PyAny>) -> PyResult<Option<Literal>> {
    if value.is_instance_of::<PyBool>() {
        return Ok(Some(Literal::from(value.extract::<bool>()?)));
    }
    if value.is_instance_of::<PyInt>() {
        return Ok(Some(Literal::new_typed_literal(value.str()?.to_str()?, xsd::INTEGER)));
    }
    if value.is_instance_of::<PyFloat>() {
        return Ok(Some(Literal::from(value.extract::<f64>()?)));
    }
    Ok(None)
}

/// `_:label` or an IRI.
fn read_name(text: &str) -> PyResult<Term> {
    match text.strip_prefix("_:") {
        Some(label) => blank_node(label),
        None => Ok(named_node(text)?.into()),
    }
}

pub fn named_node(text: &str) -> PyResult<NamedNode> {
    NamedNode::new(text).map_err(|_| {
        PyValueError::new_err(format!("'{text}' is not an absolute IRI; write whorl.Literal('{text}') for a string"))
    })
}

fn blank_node(label: &str) -> PyResult<Term> {
    let node =
        BlankNode::new(label).map_err(|_| PyValueError::new_err(format!("'{label}' is not a blank node label")))?;
    Ok(node.into())
}

/// The literals of whorl and pyoxigraph have a text in `value`; rdflib's are a text.
fn read_literal(value: &Bound<'_, PyAny>) -> PyResult<Literal> {
    let py = value.py();
    let lexical: String = match value.is_instance_of::<PyString>() {
        true => value.str()?.extract()?,
        false => value.getattr(intern!(py, "value"))?.extract()?,
    };
    let language: Option<String> = value.getattr(intern!(py, "language"))?.extract()?;
    if let Some(language) = language {
        let literal = match read_direction(value)? {
            Some(direction) => Literal::new_directional_language_tagged_literal(lexical, &language, direction),
            None => Literal::new_language_tagged_literal(lexical, &language),
        };
        return literal.map_err(|_| PyValueError::new_err(format!("'{language}' is not a language tag")));
    }
    let datatype = value.getattr(intern!(py, "datatype"))?;
    if datatype.is_none() {
        return Ok(Literal::new_simple_literal(lexical));
    }
    let datatype: String = match datatype.is_instance_of::<PyString>() {
        true => datatype.str()?.extract()?,
        false => datatype.getattr(intern!(py, "value"))?.extract()?,
    };
    Ok(Literal::new_typed_literal(lexical, named_node(&datatype)?))
}

/// The base direction of a string; rdflib's literals have none.
fn read_direction(value: &Bound<'_, PyAny>) -> PyResult<Option<BaseDirection>> {
    let Some(direction) = value.getattr_opt(intern!(value.py(), "direction"))?.filter(|it| !it.is_none()) else {
        return Ok(None);
    };
    match direction.str()?.to_str()? {
        "ltr" => Ok(Some(BaseDirection::Ltr)),
        "rtl" => Ok(Some(BaseDirection::Rtl)),
        other => Err(PyValueError::new_err(format!("a direction is 'ltr' or 'rtl', not '{other}'"))),
    }
}

fn typed(value: &Bound<'_, PyAny>, method: &str, datatype: NamedNode) -> PyResult<Literal> {
    let text: String = value.call_method0(method)?.extract()?;
    Ok(Literal::new_typed_literal(text, datatype))
}

/// `Decimal` may print an exponent, which `xsd:decimal` does not allow.
fn read_decimal(value: &Bound<'_, PyAny>) -> PyResult<Literal> {
    let text: String = value.call_method1("__format__", ("f",))?.extract()?;
    Ok(Literal::new_typed_literal(text, xsd::DECIMAL))
}

/// Makes Python objects of one library from terms.
pub enum Factory<'py> {
    Python { terms: Bound<'py, PyModule>, decimal: Bound<'py, PyAny>, datetime: Bound<'py, PyAny> },
    Rdflib { terms: Bound<'py, PyModule> },
    Pyoxigraph { terms: Bound<'py, PyModule> },
}

impl<'py> Factory<'py> {
    pub fn new(py: Python<'py>, name: &str) -> PyResult<Self> {
        match name {
            "python" => Ok(Self::Python {
                terms: py.import("whorl.terms")?,
                decimal: py.import("decimal")?.getattr("Decimal")?,
                datetime: py.import("datetime")?.getattr("datetime")?,
            }),
            "rdflib" => Ok(Self::Rdflib { terms: py.import("rdflib")? }),
            "pyoxigraph" => Ok(Self::Pyoxigraph { terms: py.import("pyoxigraph")? }),
            other => Err(PyValueError::new_err(format!("terms are 'python', 'rdflib' or 'pyoxigraph', not '{other}'"))),
        }
    }

    pub fn term(&self, term: &Term) -> PyResult<Bound<'py, PyAny>> {
        match term {
            Term::NamedNode(node) => self.make(("Iri", "URIRef", "NamedNode"), node.as_str()),
            Term::BlankNode(node) => self.make(("BlankNode", "BNode", "BlankNode"), node.as_str()),
            Term::Literal(literal) => self.literal(literal),
            Term::Triple(triple) => self.triple_term(triple),
        }
    }

    fn triple_term(&self, triple: &Triple) -> PyResult<Bound<'py, PyAny>> {
        let (terms, class) = match self {
            Self::Python { terms, .. } => (terms, "TripleTerm"),
            Self::Pyoxigraph { terms } => (terms, "Triple"),
            // rdflib has no triple terms.
            Self::Rdflib { .. } => return self.make(("", "Literal", ""), &Term::from(triple.clone()).to_string()),
        };
        let (subject, predicate) = (triple.subject.clone().into(), triple.predicate.clone().into());
        terms.getattr(class)?.call1((self.term(&subject)?, self.term(&predicate)?, self.term(&triple.object)?))
    }

    fn make(&self, (python, rdflib, pyoxigraph): (&str, &str, &str), text: &str) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Self::Python { terms, .. } => terms.getattr(python)?.call1((text,)),
            Self::Rdflib { terms } => terms.getattr(rdflib)?.call1((text,)),
            Self::Pyoxigraph { terms } => terms.getattr(pyoxigraph)?.call1((text,)),
        }
    }

    fn literal(&self, literal: &Literal) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Self::Python { terms, .. } => match self.value(literal)? {
                Some(value) => Ok(value),
                None => {
                    let (datatype, direction) = (literal.datatype(), literal.direction().map(direction_name));
                    terms.getattr("Literal")?.call1((literal.value(), datatype.as_str(), literal.language(), direction))
                }
            },
            Self::Rdflib { terms } => self.foreign_literal(terms, literal, "lang", "URIRef"),
            Self::Pyoxigraph { terms } => self.foreign_literal(terms, literal, "language", "NamedNode"),
        }
    }

    fn foreign_literal(
        &self,
        terms: &Bound<'py, PyModule>,
        literal: &Literal,
        language: &str,
        iri: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let options = PyDict::new(terms.py());
        if let Some(tag) = literal.language() {
            options.set_item(language, tag)?;
            if let (Self::Pyoxigraph { terms }, Some(direction)) = (self, literal.direction()) {
                let name = direction_name(direction).to_uppercase();
                options.set_item("direction", terms.getattr("BaseDirection")?.getattr(name.as_str())?)?;
            }
        } else if literal.datatype() != xsd::STRING {
            options.set_item("datatype", terms.getattr(iri)?.call1((literal.datatype().as_str(),))?)?;
            // The lexical form is part of the term.
            if language == "lang" {
                options.set_item("normalize", false)?;
            }
        }
        terms.getattr("Literal")?.call((literal.value(),), Some(&options))
    }

    /// The Python value of a literal, if its type has one and its form is valid.
    fn value(&self, literal: &Literal) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Self::Python { terms, decimal, datetime } = self else { return Ok(None) };
        let py = terms.py();
        let text = literal.value();
        let datatype = literal.datatype();
        let found = if datatype == xsd::STRING {
            Some(PyString::new(py, text).into_any())
        } else if datatype == xsd::INTEGER {
            match text.parse::<i64>() {
                Ok(number) => Some(number.into_pyobject(py)?.into_any()),
                Err(_) => py.get_type::<PyInt>().call1((text,)).ok(),
            }
        } else if datatype == xsd::DOUBLE || datatype == xsd::FLOAT {
            text.replace("INF", "inf").parse::<f64>().ok().map(|number| PyFloat::new(py, number).into_any())
        } else if datatype == xsd::DECIMAL {
            decimal.call1((text,)).ok()
        } else if datatype == xsd::BOOLEAN {
            let truth = match text {
                "true" | "1" => Some(true),
                "false" | "0" => Some(false),
                _ => None,
            };
            truth.map(|truth| PyBool::new(py, truth).to_owned().into_any())
        } else if datatype == xsd::DATE_TIME {
            datetime.call_method1("fromisoformat", (text,)).ok()
        } else {
            None
        };
        debug_assert!(datatype != rdf::LANG_STRING || found.is_none());
        Ok(found)
    }
}

fn direction_name(direction: BaseDirection) -> &'static str {
    match direction {
        BaseDirection::Ltr => "ltr",
        BaseDirection::Rtl => "rtl",
    }
}
