//! What the reference cannot show: limits, sequences, compile errors, and the laws of the order.

use super::reference::awkward_terms;
use crate::encode::Dictionary;
use crate::expr::order::{SortKey, sort_key};
use crate::expr::{CompileError, EvalContext, Expr, Scratch, TermKey, compare_terms, compile, order_text, tie_text};
use crate::model::TermId;
use crate::time::Timestamp;
use oxrdf::{Term, Variable};
use spargebra::algebra::{Expression, GraphPattern};
use spargebra::{Query, SparqlParser};
use std::cmp::Ordering;

const XSD: &str = "http://www.w3.org/2001/XMLSchema#";

fn parse(expression: &str) -> Expression {
    let text = format!("PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> SELECT * WHERE {{ BIND({expression} AS ?r) }}");
    let Ok(Query::Select { pattern: GraphPattern::Project { inner, .. }, .. }) = SparqlParser::new().parse_query(&text)
    else {
        panic!("{expression}")
    };
    let GraphPattern::Extend { expression, .. } = *inner else { panic!("a BIND") };
    expression
}

fn compiled(expression: &str, dictionary: &mut Dictionary) -> Result<Expr, CompileError> {
    compile(&parse(expression), None, &|variable: &Variable| (variable.as_str() == "a").then_some(0), dictionary)
}

fn evaluate(expression: &str, scratch: &mut Scratch) -> Option<String> {
    let mut dictionary = Dictionary::new(1);
    let expr = compiled(expression, &mut dictionary).unwrap();
    let now = Timestamp::from_millis(1_357_053_108_250);
    let id = expr.evaluate(&[TermId::UNBOUND], &mut EvalContext { dictionary: &mut dictionary, now, scratch })?;
    Some(dictionary.term(id).to_string())
}

#[test]
fn now_is_the_instant_of_the_evaluation() {
    let now = evaluate("STR(NOW())", &mut Scratch::new(1));
    assert_eq!(now.as_deref(), Some("\"2013-01-01T15:11:48.25Z\""));
}

#[test]
fn drawn_values_belong_to_their_solution_call_and_query() {
    let mut dictionary = Dictionary::new(1);
    let solutions = [1, 2].map(|n| [TermId::integer(n).unwrap()]);
    for call in ["RAND()", "UUID()", "STRUUID()", "BNODE()", "BNODE(\"x\")"] {
        let expr = compiled(call, &mut dictionary).unwrap();
        let mut draw = |seed, row: &[TermId]| {
            let scratch = &mut Scratch::new(seed);
            let now = Timestamp::EPOCH;
            expr.evaluate(row, &mut EvalContext { dictionary: &mut dictionary, now, scratch })
        };
        let first = draw(5, &solutions[0]);
        assert_eq!(first, draw(5, &solutions[0]), "{call}");
        assert_ne!(first, draw(5, &solutions[1]), "{call}");
        assert_ne!(first, draw(6, &solutions[0]), "{call}");
    }
    let differ = evaluate("RAND() != RAND()", &mut Scratch::new(2));
    assert!(differ.unwrap().contains("true"));
    let uuid = evaluate(
        "REGEX(STRUUID(), \"^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$\")",
        &mut Scratch::new(2),
    );
    assert!(uuid.unwrap().contains("true"));
}

#[test]
fn strings_beyond_the_limit_have_no_value() {
    let mut scratch = Scratch::new(1);
    let doubled = |n: usize| {
        (0..n).fold("\"0123456789abcdef\"".to_owned(), |text, _| format!("REPLACE({text}, \"^.*$\", \"$0$0\")"))
    };
    assert!(evaluate(&format!("STRLEN({})", doubled(16)), &mut scratch).unwrap().contains("1048576"));
    assert_eq!(evaluate(&format!("STRLEN({})", doubled(17)), &mut scratch), None);
    assert_eq!(evaluate(&format!("CONCAT({}, \"x\")", doubled(16)), &mut scratch), None);
    assert_eq!(evaluate(&format!("ENCODE_FOR_URI(REPLACE({}, \".\", \" \"))", doubled(16)), &mut scratch), None);
    assert_eq!(
        evaluate(&format!("REPLACE({0}, \".*\", REPLACE({0}, \".\", \"$$0\"))", doubled(14)), &mut scratch),
        None
    );
}

#[test]
fn wrong_arities_are_refused() {
    let mut dictionary = Dictionary::new(1);
    let code = |expression: &str, dictionary: &mut Dictionary| {
        compiled(expression, dictionary).err().map(|error| error.code())
    };
    assert_eq!(code("xsd:int(?a, ?a)", &mut dictionary), Some("expr.wrong_arity"));
    assert_eq!(code("<http://example.org/f>(xsd:int())", &mut dictionary), Some("expr.wrong_arity"));
    assert_eq!(code("xsd:integer(?a, ?a)", &mut dictionary), Some("expr.wrong_arity"));
    assert_eq!(code("EXISTS { ?a ?b ?c }", &mut dictionary), Some("expr.exists_not_allowed"));
}

#[test]
fn a_function_nobody_knows_is_an_error_when_it_is_called() {
    let mut scratch = Scratch::new(1);
    assert_eq!(evaluate("<http://example.org/f>(1)", &mut scratch), None);
    for expression in ["COALESCE(<http://example.org/f>(1), 2)", "IF(true, 2, <http://example.org/f>(1))"] {
        assert!(evaluate(expression, &mut scratch).unwrap().contains('2'), "{expression}");
    }
    assert!(evaluate("<http://example.org/f>(1) || true", &mut scratch).unwrap().contains("true"));
}

#[test]
fn a_duration_is_added_from_either_side() {
    let mut scratch = Scratch::new(1);
    for (moment, duration, sum) in [
        ("\"2024-01-31\"^^xsd:date", "\"P1M\"^^xsd:yearMonthDuration", "2024-02-29"),
        ("\"2024-01-31T10:00:00Z\"^^xsd:dateTime", "\"P1MT1H\"^^xsd:duration", "2024-02-29T11:00:00Z"),
        ("\"23:30:00\"^^xsd:time", "\"PT1H\"^^xsd:dayTimeDuration", "00:30:00"),
    ] {
        for expression in [format!("STR({moment} + {duration})"), format!("STR({duration} + {moment})")] {
            assert_eq!(evaluate(&expression, &mut scratch), Some(format!("\"{sum}\"")), "{expression}");
        }
        assert_eq!(evaluate(&format!("{duration} - {moment}"), &mut scratch), None);
    }
}

#[test]
fn derived_integers_keep_their_type_and_their_bounds() {
    let mut scratch = Scratch::new(1);
    let mut written = |expression: &str| evaluate(expression, &mut scratch).map(|text| text.replace(XSD, "xsd:"));
    for (expression, expected) in [
        ("xsd:int(\"07\")", "\"7\"^^<xsd:int>"),
        ("xsd:byte(127.9)", "\"127\"^^<xsd:byte>"),
        ("xsd:long(\"9223372036854775807\")", "\"9223372036854775807\"^^<xsd:long>"),
        ("xsd:nonPositiveInteger(0)", "\"0\"^^<xsd:nonPositiveInteger>"),
        ("COALESCE(xsd:byte(128), xsd:short(128))", "\"128\"^^<xsd:short>"),
        ("IF(true, xsd:int(1), 2)", "\"1\"^^<xsd:int>"),
        ("xsd:int(1) + 1", "\"2\"^^<xsd:integer>"),
        ("DATATYPE(xsd:int(1))", "<xsd:int>"),
        ("STR(xsd:int(1))", "\"1\""),
        ("sameTerm(xsd:int(1), \"1\"^^xsd:int)", "\"true\"^^<xsd:boolean>"),
        ("sameTerm(xsd:int(1), 1)", "\"false\"^^<xsd:boolean>"),
    ] {
        assert_eq!(written(expression).as_deref(), Some(expected), "{expression}");
    }
    for outside in ["xsd:byte(128)", "xsd:unsignedInt(-1)", "xsd:positiveInteger(0)", "xsd:int(\"x\")"] {
        assert_eq!(written(outside), None, "{outside}");
    }
}

#[test]
fn the_order_is_total_and_tells_all_terms_apart() {
    let mut dictionary = Dictionary::new(1);
    let ids: Vec<TermId> = awkward_terms()
        .iter()
        .map(|term| term.as_ref().map_or(TermId::UNBOUND, |term| dictionary.intern(term.as_ref())))
        .collect();
    for &a in &ids {
        for &b in &ids {
            let ab = compare_terms(a, b, &dictionary);
            assert_eq!(ab == Ordering::Equal, a == b);
            assert_eq!(ab.reverse(), compare_terms(b, a, &dictionary));
            for &c in &ids {
                if ab.is_lt() && compare_terms(b, c, &dictionary).is_lt() {
                    assert!(compare_terms(a, c, &dictionary).is_lt());
                }
            }
        }
    }
}

#[test]
fn keys_follow_less_than_and_equals_where_those_decide() {
    let mut dictionary = Dictionary::new(1);
    let (less, equal) = ("?a < ?b", "?a = ?b");
    let columns = |variable: &Variable| ["a", "b"].iter().position(|name| *name == variable.as_str());
    let [less, equal] = [less, equal].map(|text| compile(&parse(text), None, &columns, &mut dictionary).unwrap());
    let ids: Vec<TermId> = awkward_terms().iter().flatten().map(|term| dictionary.intern(term.as_ref())).collect();
    let mut scratch = Scratch::new(1);
    let is_float = |id: TermId, dictionary: &Dictionary| dictionary.term(id).to_string().ends_with("#float>");
    // Numbers that are equal only because `=` rounds one of them to a double.
    let rounds = |id: TermId, dictionary: &Dictionary| matches!(dictionary.term(id), Term::Literal(literal) if literal.value().len() > 15);
    for &a in &ids {
        for &b in &ids {
            if is_float(a, &dictionary) != is_float(b, &dictionary)
                || (rounds(a, &dictionary) || rounds(b, &dictionary)) && number(a, &dictionary)
            {
                continue;
            }
            let order = sort_key(a, &dictionary).cmp(&sort_key(b, &dictionary));
            let mut ctx = EvalContext { dictionary: &mut dictionary, now: Timestamp::EPOCH, scratch: &mut scratch };
            if less.holds(&[a, b], &mut ctx) {
                assert_eq!(order, Ordering::Less, "{} {}", dictionary.term(a), dictionary.term(b));
            } else if equal.holds(&[a, b], &mut ctx) {
                assert_eq!(order, Ordering::Equal, "{} {}", dictionary.term(a), dictionary.term(b));
            }
        }
    }
}

fn number(id: TermId, dictionary: &Dictionary) -> bool {
    crate::expr::Value::of(id, dictionary).as_number().is_some()
}

#[test]
fn a_key_is_small() {
    assert!(size_of::<SortKey>() <= 40);
}

#[test]
fn expressions_can_move_between_threads() {
    fn check<T: Send + Sync>() {}
    check::<Expr>();
    check::<Scratch>();
}

fn evaluate_on(expression: &str, a: &str) -> Option<String> {
    let mut dictionary = Dictionary::new(1);
    let expr = compiled(expression, &mut dictionary).unwrap();
    let Expression::Literal(a) = parse(a) else { panic!("a literal") };
    let row = [dictionary.intern(a.as_ref().into())];
    let (now, scratch) = (Timestamp::EPOCH, &mut Scratch::new(1));
    let id = expr.evaluate(&row, &mut EvalContext { dictionary: &mut dictionary, now, scratch })?;
    Some(dictionary.term(id).to_string().replace("http://www.w3.org/2001/XMLSchema#", "xsd:"))
}

#[test]
fn what_passes_through_keeps_its_form() {
    let a = "\"01\"^^xsd:integer";
    let kept = Some("\"01\"^^<xsd:integer>".to_owned());
    for expression in [
        "?a",
        "COALESCE(?a, 1 + 1)",
        "COALESCE(?nothing + 1, ?a)",
        "IF(?a = 1, ?a, ?a + 1)",
        "STRDT(\"01\", xsd:integer)",
        "OBJECT(TRIPLE(<http://ex/a>, <http://ex/p>, ?a))",
    ] {
        assert_eq!(evaluate_on(expression, a), kept, "{expression}");
    }
    assert_eq!(evaluate_on("STR(COALESCE(?a, 1 + 1))", a).as_deref(), Some("\"01\""));
    assert_eq!(evaluate_on("STR(STRDT(\"01\", xsd:integer))", a).as_deref(), Some("\"01\""));
    assert_eq!(evaluate_on("sameTerm(COALESCE(?a, 1 + 1), 1)", a).as_deref(), Some("\"false\"^^<xsd:boolean>"));
    assert_eq!(evaluate_on("?a + 0", a).as_deref(), Some("\"1\"^^<xsd:integer>"));
}

#[test]
fn computed_doubles_are_canonical() {
    let double = |text: &str| Some(format!("\"{text}\"^^<xsd:double>"));
    assert_eq!(evaluate_on("?a + 0", "\"1.50\"^^xsd:double"), double("1.5E0"));
    assert_eq!(evaluate_on("?a * 2", "\"50\"^^xsd:double"), double("1.0E2"));
    assert_eq!(evaluate_on("?a / 3", "\"1\"^^xsd:double"), double("3.333333333333333E-1"));
    assert_eq!(evaluate_on("xsd:double(?a)", "1"), double("1.0E0"));
    assert_eq!(evaluate_on("xsd:float(?a)", "1").as_deref(), Some("\"1.0E0\"^^<xsd:float>"));
    assert_eq!(evaluate_on("STR(?a + 0)", "1e0").as_deref(), Some("\"1.0E0\""));
    assert_eq!(evaluate_on("STR(?a)", "\"1\"^^xsd:double").as_deref(), Some("\"1\""));
    assert_eq!(evaluate_on("xsd:string(?a)", "1e0").as_deref(), Some("\"1\""));
    assert_eq!(evaluate_on("xsd:string(?a)", "1e9").as_deref(), Some("\"1.0E9\""));
}

#[test]
fn comparisons_follow_the_standard() {
    let is = |truth: bool| Some(format!("\"{truth}\"^^<xsd:boolean>"));
    let nan = "\"NaN\"^^xsd:double";
    for operator in ["<", "<=", ">", ">=", "="] {
        assert_eq!(evaluate_on(&format!("?a {operator} 1"), nan), is(false), "{operator}");
        assert_eq!(evaluate_on(&format!("?a {operator} ?a"), nan), is(false), "{operator}");
        assert_eq!(evaluate_on(&format!("(?a + 0) {operator} (?a + 0)"), nan), is(false), "{operator}");
    }
    assert_eq!(evaluate_on("?a < true", "false"), is(true));
    assert_eq!(evaluate_on("?a >= true", "false"), is(false));
    assert_eq!(evaluate_on("<http://ex/a> <= <http://ex/a>", "1"), None);
    assert_eq!(evaluate_on("?a <= ?a", "\"x\"^^<http://ex/t>"), None);
    assert_eq!(evaluate_on("?a = \"x\"@EN-gb", "\"x\"@en-GB"), is(true));
}

#[test]
fn texts_of_the_order_sort_as_terms_do() {
    let mut dictionary = Dictionary::new(1);
    let mut ids: Vec<TermId> = awkward_terms().iter().flatten().map(|term| dictionary.intern(term.as_ref())).collect();
    let strange = ["a", "a\0", "a\0\0", "a\0\u{1}", "ab"].map(|text| Term::from(oxrdf::Literal::from(text)));
    ids.extend(strange.iter().map(|term| dictionary.intern(term.as_ref())));
    ids.push(TermId::UNBOUND);
    for a in &ids {
        for b in &ids {
            let texts = |id: &TermId| (order_text(*id, &dictionary), tie_text(*id, &dictionary));
            let (ours, theirs) = (texts(a), texts(b));
            assert_eq!(
                ours.0.cmp(&theirs.0),
                sort_key(*a, &dictionary).cmp(&sort_key(*b, &dictionary)),
                "{ours:?} {theirs:?}"
            );
            assert_eq!(ours.1.cmp(&theirs.1), compare_terms(*a, *b, &dictionary), "{ours:?} {theirs:?}");
            let keys = TermKey::of(*a, &dictionary).cmp(&TermKey::of(*b, &dictionary));
            assert_eq!(keys, compare_terms(*a, *b, &dictionary), "{ours:?} {theirs:?}");
        }
    }
}

#[test]
fn terms_of_equal_value_are_ordered_by_datatype_then_by_text() {
    let mut dictionary = Dictionary::new(1);
    let typed = |text: &str, name: &str| {
        let datatype = oxrdf::NamedNode::new_unchecked(format!("http://www.w3.org/2001/XMLSchema#{name}"));
        Term::from(oxrdf::Literal::new_typed_literal(text, datatype))
    };
    let ordered = [
        typed("1", "byte"),
        typed("1.0", "decimal"),
        typed("1e0", "double"),
        typed("1", "float"),
        typed("1", "int"),
        typed("01", "integer"),
        typed("1", "integer"),
        typed("1", "long"),
    ];
    let expected: Vec<TermId> = ordered.iter().map(|term| dictionary.intern(term.as_ref())).collect();
    let mut ids: Vec<TermId> = expected.iter().rev().copied().collect();
    ids.sort_by(|a, b| compare_terms(*a, *b, &dictionary));
    assert_eq!(ids, expected);
}
