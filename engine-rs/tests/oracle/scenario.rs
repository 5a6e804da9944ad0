//! Random queries over random streams, favouring trouble: equal timestamps, borders ± 1, gaps,
//! duplicates, late events, one hot key, empty windows, steps wider than windows.

use crate::random::Random;
use std::collections::BTreeMap;
use std::fmt::Write;
use whorl_engine::{Bounds, ContentSemantics, ParseOptions, R2s, Report, Span, Tick, Timestamp};

pub const PREFIXES: &str = "PREFIX : <http://ex/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> ";

#[derive(Clone, Debug)]
pub struct Scenario {
    pub query: String,
    pub options: ParseOptions,
    pub statics: String,
    pub lateness: BTreeMap<String, i64>,
    pub steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    Event { stream: &'static str, at: i64, turtle: String },
    Watermark(i64),
    Close,
}

const STREAMS: [&str; 2] = ["http://ex/s", "http://ex/s2"];
const PREDICATES: [&str; 3] = [":p", ":q", ":r"];
const VARIABLES: [&str; 5] = ["?a", "?b", "?c", "?d", "?e"];

struct Generator<'r> {
    random: &'r mut Random,
    is_cqels: bool,
    windows: Vec<String>,
    n_streams: usize,
    made: usize,
    /// Literals that are equal in value and different as terms; off where ties would be free.
    awkward: bool,
}

impl Scenario {
    pub fn generate(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let is_cqels = random.chance(35);
        let n_streams = 1 + random.below(2);
        let awkward = random.chance(30);
        let mut generator = Generator { random: &mut random, is_cqels, windows: vec![], n_streams, made: 0, awkward };
        let query = generator.query();
        let statics = generator.statics();
        let options = generator.options();
        let lateness = generator.lateness();
        let steps = generator.steps();
        Self { query, options, statics, lateness, steps }
    }

    pub fn describe(&self) -> String {
        let mut text = format!(
            "query {}\noptions {:?}\nlateness {:?}\nstatic {}\n",
            self.query, self.options, self.lateness, self.statics
        );
        for step in &self.steps {
            let _ = match step {
                Step::Event { stream, at, turtle } => writeln!(text, "at {at}ms on <{stream}> {turtle}"),
                Step::Watermark(at) => writeln!(text, "watermark {at}ms"),
                Step::Close => writeln!(text, "close"),
            };
        }
        text
    }
}

impl Generator<'_> {
    fn window(&mut self) -> String {
        let width = self.random.range(1, 12);
        let slide = self.random.range(1, 12);
        match self.random.below(if self.is_cqels { 6 } else { 10 }) {
            0 => "NOW".into(),
            1 => "ALL".into(),
            2 => format!("TRIPLES {}", self.random.range(1, 5)),
            3 if !self.is_cqels => format!("ELEMENTS {} STEP {}", self.random.range(1, 4), self.random.range(1, 4)),
            4 if !self.is_cqels => {
                let to = self.random.range(0, 4);
                format!("FROM NOW-{}ms TO NOW-{to}ms STEP {slide}ms", to + width)
            }
            3 | 4 => format!("RANGE {width}ms SLIDE {slide}ms"),
            5 => format!("RANGE {width}ms"),
            _ => format!("RANGE {width}ms STEP {slide}ms"),
        }
    }

    fn stream(&mut self) -> &'static str {
        if self.random.below(self.n_streams) == 0 { ":s" } else { ":s2" }
    }

    /// A block of patterns over one window: a new one, which is then used, or one there is.
    fn block(&mut self, patterns: &str) -> String {
        let is_new = self.windows.is_empty() || self.random.chance(30) && self.windows.len() < 2;
        if is_new {
            let (stream, window) = (self.stream(), self.window());
            let number = self.windows.len();
            self.windows.push(match self.is_cqels {
                true => format!("{stream} [{window}]"),
                false => format!("FROM NAMED WINDOW :w{number} ON {stream} [{window}]"),
            });
        }
        let used = if is_new { self.windows.len() - 1 } else { self.random.below(self.windows.len()) };
        match self.is_cqels {
            true => format!("STREAM {} {{ {patterns} }}", self.windows[used]),
            false => format!("WINDOW :w{used} {{ {patterns} }}"),
        }
    }

    fn variable(&mut self) -> &'static str {
        VARIABLES[self.random.below(VARIABLES.len())]
    }

    fn object(&mut self) -> String {
        match self.random.below(10) {
            0..=3 => format!(":{}", ["a", "b", "c"][self.random.below(3)]),
            4..=7 => self.random.below(4).to_string(),
            _ if !self.awkward => self.random.below(4).to_string(),
            _ => (*self.random.pick(&[
                "1.0",
                "01",
                "\"1\"",
                "1.5e0",
                "\"x\"@en",
                "true",
                "2.50",
                "\"NaN\"^^xsd:double",
                "0.1e0",
            ]))
            .to_owned(),
        }
    }

    fn triple(&mut self) -> String {
        let subject = if self.random.chance(85) { self.variable().to_owned() } else { ":a".to_owned() };
        let predicate = if self.random.chance(92) {
            PREDICATES[self.random.below(3)].to_owned()
        } else {
            self.variable().to_owned()
        };
        let object = if self.random.chance(80) { self.variable().to_owned() } else { self.object() };
        format!("{subject} {predicate} {object} .")
    }

    fn triples(&mut self, most: usize) -> String {
        let n = 1 + self.random.below(most);
        (0..n).map(|_| self.triple()).collect::<Vec<_>>().join(" ")
    }

    fn comparison(&mut self) -> String {
        let (left, operator, right, _) = self.operands();
        match operator {
            // spareval takes a term for equal to itself; SPARQL has no order on IRIs, and none on NaN.
            "<=" | ">=" if right.starts_with('?') => format!("STR({left}) {operator} STR({right})"),
            _ => format!("{left} {operator} {right}"),
        }
    }

    /// What may stand under `!`: spareval takes comparisons with NaN for errors, SPARQL for false.
    fn negatable(&mut self) -> String {
        let (left, operator, right, is_order) = self.operands();
        if is_order { format!("STR({left}) {operator} STR({right})") } else { format!("{left} {operator} {right}") }
    }

    fn operands(&mut self) -> (&'static str, &'static str, String, bool) {
        let left = self.variable();
        let operator = *self.random.pick(&["<", "<=", ">", ">=", "=", "!="]);
        let right = if self.random.chance(50) { self.variable().to_owned() } else { self.random.below(4).to_string() };
        (left, operator, right, operator.starts_with(['<', '>']))
    }

    fn condition(&mut self) -> String {
        match self.random.below(6) {
            0 => format!("{} && {}", self.comparison(), self.comparison()),
            1 => format!("{} || {}", self.comparison(), self.comparison()),
            2 => format!("BOUND({})", self.variable()),
            3 => format!("!({})", self.negatable()),
            _ => self.comparison(),
        }
    }

    /// One more part of a group; what it may hold depends on the depth.
    fn part(&mut self, depth: usize) -> String {
        match self.random.below(if depth > 0 { 13 } else { 5 }) {
            0 | 1 => {
                let triples = self.triples(2);
                self.block(&triples)
            }
            2 => format!("FILTER({})", self.condition()),
            3 => {
                format!("VALUES {} {{ :a 1 {} }}", self.variable(), if self.random.chance(30) { "UNDEF" } else { "2" })
            }
            4 => format!("{} :static {} .", self.variable(), self.variable()),
            5 | 6 => format!("OPTIONAL {{ {} }}", self.group(depth - 1)),
            7 => format!("MINUS {{ {} }}", self.group(depth - 1)),
            8 => format!("{{ {} }} UNION {{ {} }}", self.group(depth - 1), self.group(depth - 1)),
            9 | 10 => {
                let triples = self.triples(2);
                let block = self.block(&triples);
                let filter =
                    if self.random.chance(40) { format!("FILTER({})", self.comparison()) } else { String::new() };
                let not = if self.random.chance(60) { "NOT " } else { "" };
                format!("FILTER {not}EXISTS {{ {block} {filter} }}")
            }
            11 => {
                self.made += 1;
                let (variable, other) = (self.variable(), self.random.below(3));
                format!("BIND({variable} + {other} AS ?bound{})", self.made)
            }
            _ => self.subselect(depth - 1),
        }
    }

    fn subselect(&mut self, depth: usize) -> String {
        let key = self.variable();
        let other = self.variable();
        let body = self.group(depth);
        self.made += 1;
        match self.random.below(3) {
            0 => format!("{{ SELECT DISTINCT {key} WHERE {{ {body} }} }}"),
            1 => {
                format!("{{ SELECT {key} (COUNT({other}) AS ?count{}) WHERE {{ {body} }} GROUP BY {key} }}", self.made)
            }
            _ => format!("{{ SELECT {key} WHERE {{ {body} }} }}"),
        }
    }

    fn group(&mut self, depth: usize) -> String {
        let triples = self.triples(3);
        let mut parts = vec![self.block(&triples)];
        for _ in 0..self.random.below(3) {
            parts.push(self.part(depth));
        }
        parts.join(" ")
    }

    fn query(&mut self) -> String {
        let depth = self.random.below(3);
        let body = self.group(depth);
        let (form, tail) = self.form();
        let from = if self.is_cqels { String::new() } else { self.windows.join(" ") };
        format!("SELECT {form} {from} WHERE {{ {body} }} {tail}")
    }

    fn form(&mut self) -> (String, String) {
        let mut shown: Vec<&str> = VARIABLES.into_iter().filter(|_| self.random.chance(60)).collect();
        if shown.is_empty() {
            shown.push("?a");
        }
        match self.random.below(10) {
            0..=3 => {
                let all = if self.random.chance(50) { VARIABLES.to_vec() } else { shown };
                (all.join(" "), String::new())
            }
            4 => (format!("DISTINCT {}", shown.join(" ")), String::new()),
            5 | 6 if !self.awkward => {
                let direction = *self.random.pick(&["", "DESC"]);
                let order: Vec<String> = shown.iter().map(|v| format!("{direction}({v})")).collect();
                let offset = if self.random.chance(30) { "OFFSET 1" } else { "" };
                (shown.join(" "), format!("ORDER BY {} LIMIT {} {offset}", order.join(" "), self.random.range(1, 3)))
            }
            _ => self.aggregation(),
        }
    }

    fn aggregation(&mut self) -> (String, String) {
        let key = self.variable();
        let value = self.variable();
        let distinct = if self.random.chance(25) && !self.awkward { "DISTINCT " } else { "" };
        let functions: &[&str] =
            if self.awkward { &["COUNT", "SUM", "AVG"] } else { &["COUNT", "SUM", "AVG", "MIN", "MAX"] };
        let function = *self.random.pick(functions);
        let aggregate = format!("({function}({distinct}{value}) AS ?result) (COUNT(*) AS ?rows)");
        match self.random.below(3) {
            0 => (aggregate, String::new()),
            1 => (format!("{key} {aggregate}"), format!("GROUP BY {key}")),
            _ => (format!("{key} {aggregate}"), format!("GROUP BY {key} HAVING (COUNT(*) > 1)")),
        }
    }

    fn statics(&mut self) -> String {
        let subjects = [":a", ":b", ":c", "1", "2"];
        let mut text = String::new();
        for _ in 0..self.random.below(5) {
            let subject = [":a", ":b", ":c"][self.random.below(3)];
            let object = subjects[self.random.below(5)];
            let _ = write!(text, "{subject} :static {object} . ");
        }
        text
    }

    fn options(&mut self) -> ParseOptions {
        let mut options = ParseOptions::default();
        if self.random.chance(40) {
            options.r2s = Some(*self.random.pick(&[R2s::Rstream, R2s::Istream, R2s::Dstream, R2s::Changes]));
        }
        if self.random.chance(40) {
            let periodic = if self.random.chance(15) { Some(Span::from_millis(self.random.range(2, 6))) } else { None };
            let kind = self.random.below(10);
            options.report = Some(Report {
                close: kind < 4,
                change: (4..9).contains(&kind) || kind == 9 && periodic.is_none(),
                nonempty: self.random.chance(40),
                periodic,
            });
        }
        if self.random.chance(25) {
            options.tick = Some(if self.random.chance(50) { Tick::Tuple } else { Tick::Time });
        }
        if self.random.chance(30) {
            options.t0 = Some(Timestamp::from_millis(self.random.range(-5, 9)));
        }
        if self.random.chance(25) {
            options.bounds = Some(Bounds::OpenClosed);
        }
        if self.random.chance(20) {
            options.partial = Some(true);
        }
        if self.random.chance(25) {
            options.semantics =
                Some(if self.random.chance(50) { ContentSemantics::Set } else { ContentSemantics::Bag });
        }
        options
    }

    fn lateness(&mut self) -> BTreeMap<String, i64> {
        let mut lateness = BTreeMap::new();
        if self.random.chance(25) {
            lateness.insert(STREAMS[0].to_owned(), self.random.range(1, 6));
        }
        lateness
    }

    fn event(&mut self) -> String {
        let n = 1 + self.random.below(3);
        let mut triples = Vec::new();
        for _ in 0..n {
            // One hot subject, so that keys get long chains.
            let subject = if self.random.chance(50) { ":a" } else { [":a", ":b", ":c"][self.random.below(3)] };
            triples.push(format!("{subject} {} {} .", PREDICATES[self.random.below(3)], self.object()));
        }
        triples.join(" ")
    }

    fn steps(&mut self) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut now = [self.random.range(-3, 8), self.random.range(-3, 8)];
        let disorder = self.random.chance(40);
        for _ in 0..self.random.range(3, 16) {
            let stream = self.random.below(self.n_streams);
            now[stream] += match self.random.below(10) {
                0..=3 => 0,
                4..=7 => self.random.range(1, 3),
                8 => self.random.range(3, 8),
                _ => self.random.range(10, 25),
            };
            let back = if disorder && self.random.chance(25) { self.random.range(1, 9) } else { 0 };
            let turtle = self.event();
            steps.push(Step::Event { stream: STREAMS[stream], at: now[stream] - back, turtle });
            if self.random.chance(8) {
                let at = now[0].max(now[1]) + self.random.range(0, 6);
                now = [now[0].max(at), now[1].max(at)];
                steps.push(Step::Watermark(at));
            }
        }
        steps.push(if self.random.chance(80) { Step::Close } else { Step::Watermark(now[0].max(now[1]) + 20) });
        steps
    }
}
