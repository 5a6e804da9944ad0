//! Random arrivals and departures: every aggregate against a fresh one over the values that are present, and against
//! spareval's own aggregates where their result does not depend on the order of rows.
//!
//! Detects: any trace of departed values, wrong types and errors, wrong rounding of sums (against rational arithmetic
//! on integers). Does not detect: a fault that a fresh accumulator and spareval share.

use super::naive::register_custom_aggregates;
use super::*;
use crate::expr::compare_terms;
use oxrdf::vocab::xsd;
use oxrdf::{Dataset, GraphName, Literal, NamedNode, NamedNodeRef, Quad, Term};
use spareval::{QueryEvaluator, QueryResults};
use spargebra::SparqlParser;

/// A small generator with a fixed seed, so that runs are repeatable.
pub(super) struct Dice(pub u64);

impl Dice {
    pub(super) fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % sides
    }
}

fn typed(text: &str, datatype: NamedNodeRef<'_>) -> Term {
    Literal::new_typed_literal(text, datatype).into()
}

fn integers() -> Vec<Option<Term>> {
    ["0", "1", "01", "2", "-5", "7", "9223372036854775807", "-9223372036854775808"]
        .iter()
        .map(|text| Some(typed(text, xsd::INTEGER)))
        .chain([Some(typed("3", xsd::INT))])
        .collect()
}

fn numbers() -> Vec<Option<Term>> {
    let decimals = ["1.0", "0.1", "-2.5", "3", "170141183460469231731.6"].map(|text| typed(text, xsd::DECIMAL));
    let doubles = ["1", "0.1", "1e16", "-1e16", "1e308", "-1e308", "5e-324", "-0", "NaN", "INF", "-INF", "2.5"]
        .map(|text| typed(text, xsd::DOUBLE));
    let floats = ["1", "0.1", "3.4e38", "NaN"].map(|text| typed(text, xsd::FLOAT));
    integers().into_iter().chain(decimals.into_iter().chain(doubles).chain(floats).map(Some)).collect()
}

pub(super) fn anything() -> Vec<Option<Term>> {
    let others: Vec<Term> = vec![
        NamedNode::new_unchecked("http://example.org/a").into(),
        oxrdf::BlankNode::new_unchecked("n").into(),
        Literal::from("abc").into(),
        Literal::from(true).into(),
        typed("x", xsd::INTEGER),
        typed("2013-01-01T00:00:00+00:00", xsd::DATE_TIME),
        Literal::new_language_tagged_literal_unchecked("b", "en").into(),
    ];
    numbers().into_iter().chain(others.into_iter().map(Some)).chain([None]).collect()
}

fn strings() -> Vec<Option<Term>> {
    let mut terms: Vec<Term> =
        ["", "a", "b", "long enough for the dictionary"].iter().map(|text| Literal::from(*text).into()).collect();
    terms.push(Literal::new_language_tagged_literal_unchecked("c", "en").into());
    terms.push(Literal::new_language_tagged_literal_unchecked("d", "en").into());
    terms.into_iter().map(Some).collect()
}

fn fraction(value: f64) -> Fraction {
    Fraction::new(value).unwrap()
}

fn kinds() -> Vec<AggregateKind> {
    use AggregateKind as K;
    vec![
        K::CountAll,
        K::Count,
        K::Sum,
        K::Avg,
        K::Min,
        K::Max,
        K::Sample,
        K::GroupConcat { separator: ", ".to_owned() },
        K::Median,
        K::Percentile(fraction(0.95)),
        K::Percentile(fraction(0.25)),
        K::StdDev { sample: true },
        K::StdDev { sample: false },
        K::Variance { sample: true },
        K::Variance { sample: false },
    ]
}

fn pools() -> [Vec<Option<Term>>; 4] {
    [integers(), numbers(), anything(), strings()]
}

/// Feeds a random walk to the accumulator and checks it against a fresh one at every step.
fn walk(spec: &AggregateSpec, pool: &[Option<Term>], seed: u64, n_steps: usize) {
    let mut dictionary = Dictionary::new(3);
    let pool: Vec<Option<TermId>> =
        pool.iter().map(|term| term.as_ref().map(|term| dictionary.intern(term.as_ref()))).collect();
    let mut dice = Dice(seed);
    let mut accumulator = Accumulator::new(spec);
    let mut present: Vec<Option<TermId>> = Vec::new();
    for step in 0..n_steps {
        // First mostly arrivals, later mostly departures.
        let leaves = !present.is_empty() && dice.roll(n_steps) < step;
        if leaves {
            let value = present.swap_remove(dice.roll(present.len()));
            accumulator.update(value, -1, &dictionary);
        } else {
            let value = pool[dice.roll(pool.len())];
            present.push(value);
            accumulator.update(value, 1, &dictionary);
        }
        let mut fresh = Accumulator::new(spec);
        present.iter().for_each(|value| fresh.update(*value, 1, &dictionary));
        assert_eq!(
            accumulator.value(&mut dictionary, &mut Budget::default()),
            fresh.value(&mut dictionary, &mut Budget::default()),
            "{spec:?} seed {seed} step {step}"
        );
    }
    for value in present {
        accumulator.update(value, -1, &dictionary);
    }
    assert_eq!(accumulator.state_size(), 0, "{spec:?}");
    assert_eq!(
        accumulator.value(&mut dictionary, &mut Budget::default()),
        Accumulator::new(spec).value(&mut dictionary, &mut Budget::default()),
        "{spec:?}"
    );
}

#[test]
fn history_leaves_no_trace() {
    for kind in kinds() {
        for distinct in [false, true] {
            for (i, pool) in pools().iter().enumerate() {
                for seed in 1..4 {
                    walk(&AggregateSpec { kind: kind.clone(), distinct }, pool, seed * 97 + i as u64, 60);
                }
            }
        }
    }
}

/// Values arrive and leave in three parts; the whole receives the partial value of each part before and after.
fn walk_in_parts(kind: &AggregateKind, pool: &[Option<Term>], seed: u64) {
    let Some((partial, whole)) = kind.in_parts() else { return };
    let accumulator = |kind: &AggregateKind| Accumulator::new(&AggregateSpec { kind: kind.clone(), distinct: false });
    let mut dictionary = Dictionary::new(1);
    let pool: Vec<Option<TermId>> =
        pool.iter().map(|term| term.as_ref().map(|term| dictionary.intern(term.as_ref()))).collect();
    let mut dice = Dice(seed);
    let mut parts: Vec<(Accumulator, Vec<Option<TermId>>)> = (0..3).map(|_| (accumulator(&partial), vec![])).collect();
    let (mut one, mut all) = (accumulator(kind), accumulator(&whole));
    for step in 0..80 {
        let (part, present) = &mut parts[dice.roll(3)];
        let leaves = !present.is_empty() && dice.roll(80) < step;
        let (value, weight) = match leaves {
            true => (present.swap_remove(dice.roll(present.len())), -1),
            false => (pool[dice.roll(pool.len())], 1),
        };
        let is_new = present.is_empty() && !leaves;
        if !is_new {
            let before = part.value(&mut dictionary, &mut Budget::default());
            all.update(before, -1, &dictionary);
        }
        part.update(value, weight, &dictionary);
        one.update(value, weight, &dictionary);
        if !leaves {
            present.push(value);
        }
        if !present.is_empty() {
            let after = part.value(&mut dictionary, &mut Budget::default());
            all.update(after, 1, &dictionary);
        }
        assert_eq!(
            all.value(&mut dictionary, &mut Budget::default()),
            one.value(&mut dictionary, &mut Budget::default()),
            "{kind:?} seed {seed} step {step}"
        );
    }
}

#[test]
fn parts_put_together_are_the_whole() {
    for kind in kinds() {
        for (i, pool) in pools().iter().enumerate() {
            (1..30).for_each(|seed| walk_in_parts(&kind, pool, seed * 131 + i as u64));
        }
    }
}

fn call(kind: &AggregateKind, distinct: bool) -> Option<String> {
    let distinct = if distinct { "DISTINCT " } else { "" };
    Some(match kind {
        // The parser does not accept DISTINCT in aggregates called by IRI.
        AggregateKind::Median
        | AggregateKind::Percentile(_)
        | AggregateKind::StdDev { .. }
        | AggregateKind::Variance { .. }
            if !distinct.is_empty() =>
        {
            return None;
        }
        AggregateKind::CountAll if distinct.is_empty() => "COUNT(*)".to_owned(),
        AggregateKind::CountAll => return None,
        AggregateKind::Count => format!("COUNT({distinct}?v)"),
        AggregateKind::Sum => format!("SUM({distinct}?v)"),
        AggregateKind::Avg => format!("AVG({distinct}?v)"),
        AggregateKind::Min => format!("MIN({distinct}?v)"),
        AggregateKind::Max => format!("MAX({distinct}?v)"),
        AggregateKind::Sample => return None,
        AggregateKind::GroupConcat { .. } => format!("GROUP_CONCAT({distinct}?v ; SEPARATOR=\", \")"),
        AggregateKind::Median => "<urn:whorl:agg:median>(?v)".to_owned(),
        AggregateKind::Percentile(fraction) => format!("<urn:whorl:agg:percentile:{fraction}>(?v)"),
        AggregateKind::StdDev { sample } => format!("<urn:whorl:agg:stddev{}>(?v)", if *sample { "" } else { "_pop" }),
        AggregateKind::Variance { sample } => {
            format!("<urn:whorl:agg:{}>(?v)", if *sample { "variance" } else { "var_pop" })
        }
        AggregateKind::SumState | AggregateKind::SumOfStates | AggregateKind::AvgOfStates => return None,
    })
}

fn custom_names() -> Vec<NamedNode> {
    ["median", "percentile:0.95", "percentile:0.25", "stddev", "stddev_pop", "variance", "var_pop"]
        .map(|name| NamedNode::new_unchecked(format!("urn:whorl:agg:{name}")))
        .to_vec()
}

/// The reference's result over the values in row order.
fn reference(kind: &AggregateKind, distinct: bool, values: &[Option<Term>]) -> Option<Option<Term>> {
    let call = call(kind, distinct)?;
    let p = |name: &str| NamedNode::new_unchecked(format!("urn:p:{name}"));
    let mut dataset = Dataset::new();
    for (i, value) in values.iter().enumerate() {
        let row = NamedNode::new_unchecked(format!("urn:row:{i:04}"));
        dataset.insert(&Quad::new(row.clone(), p("is"), p("row"), GraphName::DefaultGraph));
        if let Some(value) = value {
            dataset.insert(&Quad::new(row, p("v"), value.clone(), GraphName::DefaultGraph));
        }
    }
    let parser = custom_names().into_iter().fold(SparqlParser::new(), SparqlParser::with_custom_aggregate_function);
    let text = format!("SELECT ({call} AS ?r) WHERE {{ ?s <urn:p:is> <urn:p:row> OPTIONAL {{ ?s <urn:p:v> ?v }} }}");
    let query = parser.parse_query(&text).expect(&text);
    let evaluator = register_custom_aggregates(QueryEvaluator::new(), &custom_names());
    let Ok(QueryResults::Solutions(mut solutions)) = evaluator.prepare(&query).execute(&dataset) else {
        panic!("solutions")
    };
    let solution = solutions.next().expect("one group").expect("no failure");
    Some(solution.get("r").cloned())
}

fn ours(spec: &AggregateSpec, values: &[Option<Term>]) -> Option<Term> {
    let mut dictionary = Dictionary::new(5);
    let mut accumulator = Accumulator::new(spec);
    for value in values {
        let id = value.as_ref().map(|value| dictionary.intern(value.as_ref()));
        accumulator.update(id, 1, &dictionary);
    }
    accumulator.value(&mut dictionary, &mut Budget::default()).map(|id| dictionary.term(id))
}

/// Whether the reference's result is a function of the bag: not for sums with intermediate rounding or overflow, nor
/// for orders of incomparable values, nor for ties and the order of texts.
fn is_decided(kind: &AggregateKind, values: &[Option<Term>]) -> bool {
    let datatypes: Vec<String> = values
        .iter()
        .flatten()
        .map(
            |term| {
                if let Term::Literal(literal) = term { literal.datatype().as_str().to_owned() } else { String::new() }
            },
        )
        .collect();
    let binary = datatypes.iter().any(|datatype| datatype.ends_with("#double") || datatype.ends_with("#float"));
    let large = values.iter().flatten().any(|term| term.to_string().len() > 56);
    match kind {
        AggregateKind::Sum | AggregateKind::Avg => !binary && !large,
        AggregateKind::Min | AggregateKind::Max => {
            !values.contains(&None) && datatypes.windows(2).all(|pair| pair[0] == pair[1])
        }
        AggregateKind::GroupConcat { .. } => false,
        _ => true,
    }
}

#[test]
fn the_reference_agrees_where_its_answer_is_decided() {
    let mut dice = Dice(2024);
    let mut n_checked = 0;
    for pool in pools() {
        for round in 0..40 {
            let values: Vec<Option<Term>> = (0..dice.roll(9)).map(|_| pool[dice.roll(pool.len())].clone()).collect();
            for kind in kinds() {
                let distinct = round % 4 == 3 && !values.contains(&Some(typed("01", xsd::INTEGER)));
                if !is_decided(&kind, &values) {
                    continue;
                }
                let Some(expected) = reference(&kind, distinct, &values) else { continue };
                // MIN and MAX return terms as they are; the reference writes their values in canonical form.
                let chooses = matches!(kind, AggregateKind::Min | AggregateKind::Max | AggregateKind::Sample);
                let got = ours(&AggregateSpec { kind: kind.clone(), distinct }, &values);
                let written = |term: Term| Value::of_term(term.as_ref()).into_term();
                let got = if chooses { got.map(written) } else { got };
                let expected = expected.map(written);
                assert_eq!(got, expected, "{kind:?} distinct {distinct} of {values:?}");
                n_checked += 1;
            }
        }
    }
    assert!(n_checked > 1000, "{n_checked}");
}

#[test]
fn nothing_aggregates_to_what_the_reference_says() {
    for kind in kinds() {
        if let Some(expected) = reference(&kind, false, &[]) {
            assert_eq!(ours(&AggregateSpec { kind: kind.clone(), distinct: false }, &[]), expected, "{kind:?}");
        }
    }
}

#[test]
fn concatenation_agrees_once_the_order_is_the_same() {
    let mut dictionary = Dictionary::new(1);
    let mut values: Vec<Term> = strings().into_iter().flatten().collect();
    values.sort_by(|a, b| compare_terms(dictionary.intern(a.as_ref()), dictionary.intern(b.as_ref()), &dictionary));
    let kind = AggregateKind::GroupConcat { separator: ", ".to_owned() };
    for n in 0..=values.len() {
        // The reference reads rows in the order of a set; only a single text has a defined result.
        let one: Vec<Option<Term>> = values[n.saturating_sub(1)..n].iter().cloned().map(Some).collect();
        // The reference keeps the language; the standard asks for a plain string (W3C `agg-groupconcat-04`).
        let expected = match reference(&kind, false, &one).unwrap() {
            Some(Term::Literal(literal)) => Some(Literal::from(literal.value()).into()),
            other => other,
        };
        assert_eq!(ours(&AggregateSpec { kind: kind.clone(), distinct: false }, &one), expected);
    }
    let all: Vec<Option<Term>> = values.into_iter().map(Some).collect();
    let text = ours(&AggregateSpec { kind, distinct: false }, &all);
    assert_eq!(text, Some(Literal::from(", a, b, c, d, long enough for the dictionary").into()));
}

#[test]
fn sums_of_doubles_are_rounded_once() {
    // Multiples of 2⁻²⁰ below 2⁴⁰ and of 2⁴⁰ below 2¹⁰⁰: the exact sum fits 128 bits.
    let mut dice = Dice(77);
    for _ in 0..200 {
        let mut exact: i128 = 0;
        let mut sum = exact_sum::ExactSum::default();
        for _ in 0..dice.roll(50) {
            let mantissa = dice.roll(1 << 50) as i128 - (1 << 49);
            let shift = [0, 0, 7, 60][dice.roll(4)];
            exact += mantissa << shift;
            sum.add(mantissa as f64 * 2_f64.powi(shift - 20), 1);
        }
        // A conversion from an integer rounds once, and scaling by a power of two does not round.
        assert_eq!(sum.to_f64(), exact as f64 * 2_f64.powi(-20));
        assert_eq!(sum.to_f32(), exact as f32 * 2_f32.powi(-20));
    }
}

#[test]
fn the_type_of_a_sum_follows_the_values_present() {
    let mut dictionary = Dictionary::new(1);
    let ids =
        [typed("1", xsd::INTEGER), typed("0.5", xsd::DECIMAL), typed("0.25", xsd::FLOAT), typed("INF", xsd::DOUBLE)]
            .map(|term| dictionary.intern(term.as_ref()));
    let mut sum = Accumulator::new(&AggregateSpec { kind: AggregateKind::Sum, distinct: false });
    let mut texts = Vec::new();
    for (id, weight) in ids.iter().map(|id| (id, 1)).chain(ids.iter().rev().map(|id| (id, -1))) {
        sum.update(Some(*id), weight, &dictionary);
        let value = sum.value(&mut dictionary, &mut Budget::default()).unwrap();
        texts.push(dictionary.term(value));
    }
    let expected = [
        ("1", xsd::INTEGER),
        ("1.5", xsd::DECIMAL),
        ("1.75E0", xsd::FLOAT),
        ("INF", xsd::DOUBLE),
        ("1.75E0", xsd::FLOAT),
        ("1.5", xsd::DECIMAL),
        ("1", xsd::INTEGER),
        ("0", xsd::INTEGER),
    ];
    assert_eq!(texts, expected.map(|(text, datatype)| typed(text, datatype)));
}

#[test]
fn an_overflow_heals_when_values_leave() {
    let mut dictionary = Dictionary::new(1);
    let large = dictionary.intern(typed("9223372036854775807", xsd::INTEGER).as_ref());
    let mut sum = Accumulator::new(&AggregateSpec { kind: AggregateKind::Sum, distinct: false });
    sum.update(Some(large), 2, &dictionary);
    assert_eq!(sum.value(&mut dictionary, &mut Budget::default()), None);
    sum.update(Some(large), -1, &dictionary);
    assert_eq!(sum.value(&mut dictionary, &mut Budget::default()), Some(large));
}

#[test]
fn quantiles_interpolate_between_ranks() {
    let values = |texts: &[&str], datatype| texts.iter().map(|text| Some(typed(text, datatype))).collect::<Vec<_>>();
    let of = |kind: AggregateKind, values: &[Option<Term>]| ours(&AggregateSpec { kind, distinct: false }, values);
    let integers = values(&["4", "1", "3", "2"], xsd::INTEGER);
    assert_eq!(of(AggregateKind::Median, &integers), Some(typed("2.5", xsd::DECIMAL)));
    assert_eq!(of(AggregateKind::Median, &integers[..3]), Some(typed("3", xsd::INTEGER)));
    assert_eq!(of(AggregateKind::Percentile(fraction(0.1)), &integers), Some(typed("1.3", xsd::DECIMAL)));
    assert_eq!(of(AggregateKind::Percentile(fraction(1.0)), &integers), Some(typed("4", xsd::INTEGER)));
    let doubles = values(&["1", "2"], xsd::DOUBLE);
    assert_eq!(of(AggregateKind::Percentile(fraction(0.25)), &doubles), Some(typed("1.25E0", xsd::DOUBLE)));
    assert_eq!(of(AggregateKind::StdDev { sample: true }, &doubles[..1]), None);
    assert_eq!(of(AggregateKind::StdDev { sample: false }, &doubles[..1]), Some(typed("0.0E0", xsd::DOUBLE)));
    assert_eq!(
        of(AggregateKind::Variance { sample: true }, &integers),
        Some(typed("1.6666666666666667E0", xsd::DOUBLE))
    );
}

#[test]
fn names_of_custom_aggregates() {
    let kind = |name: &str| custom_aggregate(NamedNodeRef::new_unchecked(name)).map(|spec| spec.kind);
    assert!(
        custom_aggregate(NamedNodeRef::new_unchecked("urn:whorl:agg:median:distinct"))
            .is_some_and(|spec| spec.distinct)
    );
    assert_eq!(kind("urn:whorl:agg:percentile:0.95"), Some(AggregateKind::Percentile(fraction(0.95))));
    assert_eq!(kind("urn:whorl:agg:var_pop"), Some(AggregateKind::Variance { sample: false }));
    assert_eq!(kind("urn:whorl:agg:stddev_samp"), Some(AggregateKind::StdDev { sample: true }));
    assert_eq!(kind("urn:whorl:agg:percentile:1.5"), None);
    assert_eq!(kind("urn:other:median"), None);
}
