//! Functions under spareval. CONCAT, REPLACE, ENCODE_FOR_URI and GROUP_CONCAT of a query are replaced by functions
//! of ours that stop at the limit: the evaluator would make a text of any length before anybody sees it. Functions that it
//! does not know are taught to it, because it would refuse the query, and one that nobody knows is an error of its call.

use crate::expr::{GrowingFunction, OutsideFunction, add};
use crate::limits::{Budget, Limits};
use oxrdf::{Literal, NamedNode, Term};
use spareval::{AggregateFunctionAccumulator, QueryEvaluator};
use spargebra::Query;
use spargebra::algebra::{AggregateExpression, AggregateFunction, Expression, Function, GraphPattern, OrderExpression};

const PREFIX: &str = "urn:whorl:bounded:";

/// The query with bounded functions where texts are limited, and an evaluator that knows every function in it.
pub(super) fn bounded(query: &Query, evaluator: QueryEvaluator, limits: &Limits) -> (Query, QueryEvaluator) {
    let mut query = query.clone();
    let (Query::Select { pattern, .. }
    | Query::Construct { pattern, .. }
    | Query::Describe { pattern, .. }
    | Query::Ask { pattern, .. }) = &mut query;
    let mut bounds = Bounds { evaluator, limits: *limits, replaced: 0 };
    bounds.pattern(pattern);
    (query, bounds.evaluator)
}

struct Bounds {
    evaluator: QueryEvaluator,
    limits: Limits,
    replaced: usize,
}

impl Bounds {
    /// Whether the length of texts is limited.
    fn is_limited(&self) -> bool {
        self.limits.literal_bytes.is_some() || self.limits.concat_bytes.is_some()
    }

    fn name(&mut self) -> NamedNode {
        self.replaced += 1;
        NamedNode::new_unchecked(format!("{PREFIX}{}", self.replaced))
    }

    fn teach(&mut self, change: impl FnOnce(QueryEvaluator) -> QueryEvaluator) {
        self.evaluator = change(std::mem::take(&mut self.evaluator));
    }

    fn pattern(&mut self, pattern: &mut GraphPattern) {
        match pattern {
            GraphPattern::Bgp { .. } | GraphPattern::Path { .. } | GraphPattern::Values { .. } => {}
            GraphPattern::Join { left, right }
            | GraphPattern::Union { left, right }
            | GraphPattern::Minus { left, right } => self.patterns([left, right]),
            GraphPattern::LeftJoin { left, right, expression } => {
                self.patterns([left, right]);
                self.expressions(expression);
            }
            GraphPattern::Filter { inner, expr: expression } | GraphPattern::Extend { inner, expression, .. } => {
                self.pattern(inner);
                self.expression(expression);
            }
            GraphPattern::OrderBy { inner, expression } => {
                self.pattern(inner);
                self.expressions(expression.iter_mut().map(|order| match order {
                    OrderExpression::Asc(expression) | OrderExpression::Desc(expression) => expression,
                }));
            }
            GraphPattern::Group { inner, aggregates, .. } => {
                self.pattern(inner);
                aggregates.iter_mut().for_each(|(_, aggregate)| self.aggregate(aggregate));
            }
            GraphPattern::Graph { inner, .. }
            | GraphPattern::Project { inner, .. }
            | GraphPattern::Distinct { inner }
            | GraphPattern::Reduced { inner }
            | GraphPattern::Slice { inner, .. }
            | GraphPattern::Service { inner, .. } => self.pattern(inner),
        }
    }

    fn patterns(&mut self, patterns: [&mut Box<GraphPattern>; 2]) {
        patterns.into_iter().for_each(|pattern| self.pattern(pattern));
    }

    fn expressions<'e>(&mut self, expressions: impl IntoIterator<Item = &'e mut Expression>) {
        expressions.into_iter().for_each(|expression| self.expression(expression));
    }

    fn expression(&mut self, expression: &mut Expression) {
        use Expression as E;
        match expression {
            E::NamedNode(_) | E::Literal(_) | E::Variable(_) | E::Bound(_) => {}
            E::Exists(pattern) => self.pattern(pattern),
            E::Or(a, b)
            | E::And(a, b)
            | E::Equal(a, b)
            | E::SameTerm(a, b)
            | E::Greater(a, b)
            | E::GreaterOrEqual(a, b)
            | E::Less(a, b)
            | E::LessOrEqual(a, b)
            | E::Subtract(a, b)
            | E::Multiply(a, b)
            | E::Divide(a, b) => self.expressions([&mut **a, &mut **b]),
            E::Add(a, b) => {
                self.expressions([&mut **a, &mut **b]);
                let sides = [a, b].map(|side| std::mem::replace(&mut **side, E::Coalesce(vec![])));
                *expression = self.addition(sides);
            }
            E::UnaryPlus(a) | E::UnaryMinus(a) | E::Not(a) => self.expression(a),
            E::If(a, b, c) => self.expressions([&mut **a, &mut **b, &mut **c]),
            E::In(a, list) => {
                self.expression(a);
                self.expressions(list);
            }
            E::Coalesce(list) => self.expressions(list),
            E::FunctionCall(function, arguments) => {
                self.expressions(arguments);
                if let Function::Custom(name) = function
                    && let Some(known) = OutsideFunction::of(name)
                {
                    let name = name.clone();
                    self.teach(|evaluator| evaluator.with_custom_function(name, move |terms| known.call(terms)));
                }
                if self.is_limited() && GrowingFunction::is(function) {
                    let name = self.name();
                    let called = std::mem::replace(function, Function::Custom(name.clone()));
                    let bounded = GrowingFunction::new(called, self.limits);
                    self.teach(|evaluator| evaluator.with_custom_function(name, move |terms| bounded.call(terms)));
                }
            }
        }
    }

    /// The evaluator changes the sides of an addition as it likes, and then finds no sum of a duration and a date.
    fn addition(&mut self, sides: [Expression; 2]) -> Expression {
        let name = self.name();
        self.teach(|evaluator| evaluator.with_custom_function(name.clone(), add));
        Expression::FunctionCall(Function::Custom(name), sides.to_vec())
    }

    fn aggregate(&mut self, aggregate: &mut AggregateExpression) {
        let AggregateExpression::FunctionCall { name: function, expr, .. } = aggregate else { return };
        self.expression(expr);
        let AggregateFunction::GroupConcat { separator } = function else { return };
        if !self.is_limited() {
            return;
        }
        let separator = separator.clone().unwrap_or_else(|| " ".to_owned());
        let name = self.name();
        *function = AggregateFunction::Custom(name.clone());
        let budget = Budget::new(Limits { work: None, ..self.limits });
        self.teach(|evaluator| {
            evaluator.with_custom_aggregate_function(name, move || {
                Box::new(Texts { separator: separator.clone(), budget: budget.clone(), joined: None, failed: false })
            })
        });
    }
}

/// A GROUP_CONCAT: a plain string, whatever languages its parts had, as our own gives.
struct Texts {
    separator: String,
    budget: Budget,
    joined: Option<String>,
    /// One of the values was no string, or the text is too long.
    failed: bool,
}

impl AggregateFunctionAccumulator for Texts {
    fn accumulate(&mut self, element: Term) {
        let literal = match element {
            Term::Literal(literal)
                if literal.datatype() == oxrdf::vocab::xsd::STRING || literal.language().is_some() =>
            {
                literal
            }
            _ => {
                self.failed = true;
                return;
            }
        };
        let joined = match &mut self.joined {
            None => self.joined.insert(String::new()),
            Some(joined) => {
                joined.push_str(&self.separator);
                joined
            }
        };
        joined.push_str(literal.value());
        if !self.budget.admits_concat(joined.len()) {
            self.failed = true;
            joined.clear();
        }
    }

    fn finish(&mut self) -> Option<Term> {
        (!self.failed).then(|| Literal::from(self.joined.take().unwrap_or_default()).into())
    }
}
