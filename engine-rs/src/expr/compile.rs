//! Compiles the syntax tree of an expression to nodes: variables become columns, constants become ids.

use super::builtin::{self, Builtin};
use super::compare::Comparison;
use super::node::{Node, Pattern, Source, TriplePart};
use super::numbers::Operator;
use super::value::Value;
use super::{CompileError, casts, regexes, temporal, terms};
use crate::encode::Dictionary;
use crate::model::TermId;
use oxiri::Iri;
use oxrdf::vocab::xsd;
use oxrdf::{NamedNode, TermRef, Variable};
use spargebra::algebra::{Expression, Function};

/// `(term, partitions, partition)`: whether the term belongs to the partition. For plans of partitions alone.
pub(crate) const IN_PARTITION: &str = "urn:whorl:fn:in-partition";

/// `(?t, "os")`: the subject of the object of the triple term in a column, with its lexical form. For plans alone.
pub(crate) const TRIPLE_PART: &str = "urn:whorl:fn:triple-part";

/// The state of compiling one expression.
pub(super) struct Compiler<'a> {
    pub base: Option<&'a Iri<String>>,
    pub column_of: &'a dyn Fn(&Variable) -> Option<usize>,
    pub dictionary: &'a mut Dictionary,
    /// The number of calls so far to functions that yield a new value for each solution.
    pub calls: u32,
}

type Compiled = Result<Node, CompileError>;

impl Compiler<'_> {
    pub(super) fn node(&mut self, expression: &Expression) -> Compiled {
        use Expression as E;
        Ok(match expression {
            E::NamedNode(node) => self.constant(node.as_ref().into()),
            E::Literal(literal) => self.constant(literal.as_ref().into()),
            E::Variable(variable) => (self.column_of)(variable).map_or(Node::Unbound, Node::Column),
            E::Bound(variable) => match (self.column_of)(variable) {
                Some(column) => Node::Bound(column),
                None => constant_boolean(false),
            },
            E::Exists(_) => return Err(CompileError::Exists),
            E::Or(a, b) => Node::Or(vec![self.node(a)?, self.node(b)?]),
            E::And(a, b) => Node::And(vec![self.node(a)?, self.node(b)?]),
            E::Not(inner) => Node::Not(Box::new(self.node(inner)?)),
            E::In(needle, list) if list.is_empty() => self.in_nothing(needle)?,
            E::In(needle, list) => Node::In(Box::new(self.node(needle)?), self.nodes(list)?),
            E::If(condition, then, otherwise) => self.conditional(condition, then, otherwise)?,
            E::Coalesce(list) => Node::Coalesce(self.nodes(list)?),
            E::UnaryPlus(inner) => Node::Call(Builtin::Unary(temporal::plus), vec![self.node(inner)?]),
            E::UnaryMinus(inner) => Node::Call(Builtin::Unary(temporal::minus), vec![self.node(inner)?]),
            E::FunctionCall(function, arguments) => self.function(function, arguments)?,
            E::Equal(a, b) => Node::Equal(self.pair(a, b)?),
            E::SameTerm(a, b) => Node::SameTerm(self.pair(a, b)?),
            E::Greater(a, b) => Node::Compare(Comparison::Greater, self.pair(a, b)?),
            E::GreaterOrEqual(a, b) => Node::Compare(Comparison::GreaterOrEqual, self.pair(a, b)?),
            E::Less(a, b) => Node::Compare(Comparison::Less, self.pair(a, b)?),
            E::LessOrEqual(a, b) => Node::Compare(Comparison::LessOrEqual, self.pair(a, b)?),
            E::Add(a, b) => Node::Arithmetic(Operator::Add, self.pair(a, b)?),
            E::Subtract(a, b) => Node::Arithmetic(Operator::Subtract, self.pair(a, b)?),
            E::Multiply(a, b) => Node::Arithmetic(Operator::Multiply, self.pair(a, b)?),
            E::Divide(a, b) => Node::Arithmetic(Operator::Divide, self.pair(a, b)?),
        })
    }

    fn nodes(&mut self, expressions: &[Expression]) -> Result<Vec<Node>, CompileError> {
        expressions.iter().map(|expression| self.node(expression)).collect()
    }

    fn pair(&mut self, a: &Expression, b: &Expression) -> Result<Box<(Node, Node)>, CompileError> {
        Ok(Box::new((self.node(a)?, self.node(b)?)))
    }

    fn constant(&mut self, term: TermRef<'_>) -> Node {
        let id = self.dictionary.intern_pinned(term);
        let scalar = match Value::of(id, self.dictionary) {
            Value::Number(number) => Some(Value::Number(number)),
            Value::Boolean(value) => Some(Value::Boolean(value)),
            Value::DateTime(at) => Some(Value::DateTime(at)),
            _ => None,
        };
        Node::Constant { id, scalar }
    }

    /// A constant condition selects its branch at compile time, like the reference optimiser does; the branch can then
    /// keep the lexical form of its term.
    fn conditional(&mut self, condition: &Expression, then: &Expression, otherwise: &Expression) -> Compiled {
        match constant_truth(condition) {
            Some(true) => self.node(then),
            Some(false) => self.node(otherwise),
            None => Ok(Node::If(Box::new((self.node(condition)?, self.node(then)?, self.node(otherwise)?)))),
        }
    }

    /// `x IN ()` is false, or an error if `x` has no effective boolean value (like the reference evaluator).
    fn in_nothing(&mut self, needle: &Expression) -> Compiled {
        if constant_truth(needle).is_some() {
            return Ok(constant_boolean(false));
        }
        let branches = (self.node(needle)?, constant_boolean(false), constant_boolean(false));
        Ok(Node::If(Box::new(branches)))
    }

    fn function(&mut self, function: &Function, arguments: &[Expression]) -> Compiled {
        if let Some(source) = source_of(function, arguments.len()) {
            self.calls += 1;
            return Ok(Node::Source(source, self.calls));
        }
        if let Some(maker) = terms::maker(function, arguments.len()) {
            return Ok(Node::Make(maker, self.nodes(arguments)?));
        }
        match (function, arguments) {
            (Function::Custom(iri), _) => self.custom(iri, arguments),
            (Function::Concat, _) => Ok(Node::Concat(self.nodes(arguments)?)),
            (Function::BNode, [label]) => Ok(Node::LabelledBlank(Box::new(self.node(label)?))),
            (Function::Iri, [argument]) => Ok(Node::Iri(Box::new(self.node(argument)?), self.base.cloned())),
            (Function::Str | Function::Datatype, [argument]) => {
                let argument = self.node(argument)?;
                Ok(match (function, argument.passes_terms()) {
                    (Function::Str, true) => Node::StrOfTerm(argument.into()),
                    (_, true) => Node::DatatypeOfTerm(argument.into()),
                    (Function::Str, false) => Node::Call(Builtin::Unary(terms::lexical), vec![argument]),
                    (_, false) => Node::Call(Builtin::Unary(terms::datatype), vec![argument]),
                })
            }
            (Function::SubStr, [text, start]) => Ok(Node::SubStrFrom(self.pair(text, start)?)),
            (Function::Regex, [text, pattern, flags @ ..]) if flags.len() < 2 => {
                Ok(Node::Regex { text: Box::new(self.node(text)?), pattern: self.pattern(pattern, flags.first())? })
            }
            (Function::Replace, [text, pattern, replacement, flags @ ..]) if flags.len() < 2 => Ok(Node::Replace {
                text: Box::new(self.node(text)?),
                pattern: self.pattern(pattern, flags.first())?,
                replacement: Box::new(self.node(replacement)?),
            }),
            _ => match builtin::lookup(function) {
                Some(builtin) => self.call(builtin, &function.to_string(), arguments),
                None => Err(wrong_arity(&function.to_string(), arguments)),
            },
        }
    }

    fn custom(&mut self, iri: &NamedNode, arguments: &[Expression]) -> Compiled {
        if let (IN_PARTITION, [term, partitions, partition]) = (iri.as_str(), arguments)
            && let (Some(partitions), Some(partition)) = (constant_number(partitions), constant_number(partition))
        {
            return Ok(Node::InPartition(Box::new(self.node(term)?), partitions, partition));
        }
        if let (TRIPLE_PART, [Expression::Variable(column), Expression::Literal(path)]) = (iri.as_str(), arguments) {
            let path = path.value().chars().filter_map(TriplePart::of).collect();
            return Ok((self.column_of)(column).map_or(Node::Unbound, |column| Node::TriplePart(column, path)));
        }
        if let Some(derived) = casts::lookup_derived(iri.as_ref()) {
            let [argument] = arguments else { return Err(wrong_arity(&iri.to_string(), arguments)) };
            return Ok(Node::Derived(derived, Box::new(self.node(argument)?)));
        }
        match casts::lookup(iri.as_ref()) {
            Some(builtin) => self.call(builtin, &iri.to_string(), arguments),
            // Compile the arguments anyway, so that errors in them are still reported.
            None => self.nodes(arguments).map(|_| Node::Unknown),
        }
    }

    fn call(&mut self, builtin: Builtin, name: &str, arguments: &[Expression]) -> Compiled {
        let arity = match builtin {
            Builtin::Unary(_) => 1,
            Builtin::Binary(_) => 2,
            Builtin::Ternary(_) => 3,
        };
        if arguments.len() != arity {
            return Err(wrong_arity(name, arguments));
        }
        Ok(Node::Call(builtin, self.nodes(arguments)?))
    }

    fn pattern(&mut self, pattern: &Expression, flags: Option<&Expression>) -> Result<Pattern, CompileError> {
        let constant_flags = match flags {
            Some(flags) => constant_string(flags),
            None => Some(""),
        };
        if let (Some(pattern), Some(flags)) = (constant_string(pattern), constant_flags) {
            return Ok(Pattern::Constant(regexes::compile(pattern, flags)));
        }
        let flags = match flags {
            Some(flags) => Some(Box::new(self.node(flags)?)),
            None => None,
        };
        Ok(Pattern::Computed { pattern: Box::new(self.node(pattern)?), flags })
    }
}

impl TriplePart {
    fn of(letter: char) -> Option<Self> {
        match letter {
            's' => Some(Self::Subject),
            'p' => Some(Self::Predicate),
            'o' => Some(Self::Object),
            _ => None,
        }
    }
}

fn source_of(function: &Function, arity: usize) -> Option<Source> {
    Some(match function {
        Function::Now => Source::Now,
        Function::Rand => Source::Rand,
        Function::Uuid => Source::Uuid,
        Function::StrUuid => Source::StrUuid,
        Function::BNode if arity == 0 => Source::FreshBlank,
        _ => return None,
    })
}

fn constant_boolean(value: bool) -> Node {
    Node::Constant { id: TermId::boolean(value), scalar: Some(Value::Boolean(value)) }
}

fn constant_number(expression: &Expression) -> Option<u32> {
    match expression {
        Expression::Literal(literal) => literal.value().parse().ok(),
        _ => None,
    }
}

fn constant_string(expression: &Expression) -> Option<&str> {
    match expression {
        Expression::Literal(literal) if literal.datatype() == xsd::STRING => Some(literal.value()),
        _ => None,
    }
}

/// The truth of a constant boolean or string.
fn constant_truth(expression: &Expression) -> Option<bool> {
    if let Some(text) = constant_string(expression) {
        return Some(!text.is_empty());
    }
    match expression {
        Expression::Literal(literal) if literal.datatype() == xsd::BOOLEAN => match literal.value() {
            "true" | "1" => Some(true),
            "false" | "0" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

fn wrong_arity(name: &str, arguments: &[Expression]) -> CompileError {
    CompileError::WrongArity { function: name.to_owned(), given: arguments.len() }
}
