//! Random queries over random streams, favouring trouble: equal timestamps, borders ± 1, gaps,
//! duplicates, late events, one hot key, empty windows, steps wider than windows.
//!
//! Each pair also works in a way of its own: with thresholds that are tiny, random or real, retraction
//! and probing order forced or not; and at random instants the engine is saved and restored, and
//! neighbours come and go. Times are shifted far away in some: the twin counts from zero.

use crate::random::Random;
use std::collections::BTreeMap;
use std::fmt::Write;
use whorl_engine::{
    Bounds, ContentSemantics, EngineOptions, ParseOptions, Probing, R2s, Report, Retraction, Span, Thresholds, Tick,
    Timestamp,
};

pub const PREFIXES: &str = "PREFIX : <http://ex/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> ";

#[derive(Clone, Debug)]
pub struct Scenario {
    pub query: String,
    pub options: ParseOptions,
    pub statics: String,
    pub lateness: BTreeMap<String, i64>,
    pub steps: Vec<Step>,
    pub working: EngineOptions,
    /// Added to all times the engine sees; a multiple of every step and period there is.
    pub offset: i64,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    Event(Event),
    /// Events of one stream in one push.
    Batch(Vec<Event>),
    /// A static triple comes, or goes.
    Static {
        triple: String,
        comes: bool,
    },
    Watermark(i64),
    /// The engine is saved, and goes on as the one that is restored.
    Restore(Box<EngineOptions>),
    /// Another query comes.
    Join(String),
    /// The neighbour that came first goes.
    Leave,
    Close,
}

impl Step {
    fn quiet(self) -> Vec<Self> {
        match self {
            Self::Batch(events) => events.into_iter().map(Self::Event).collect(),
            Self::Event(_) | Self::Watermark(_) | Self::Close => vec![self],
            Self::Static { .. } | Self::Restore(_) | Self::Join(_) | Self::Leave => vec![],
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    pub stream: &'static str,
    pub at: i64,
    pub turtle: String,
}

const STREAMS: [&str; 2] = ["http://ex/s", "http://ex/s2"];
const PREDICATES: [&str; 3] = [":p", ":q", ":r"];
const VARIABLES: [&str; 5] = ["?a", "?b", "?c", "?d", "?e"];

/// Literals inside triple terms are canonical: the twin reads them as values, and writes them anew.
const RARE_OBJECTS: [&str; 9] = [
    "<<( :a :p 3 )>>",
    "<<( :b :p :c )>>",
    "<<( :a :q <<( :b :q 2 )>> )>>",
    "\"2024-01-31\"^^xsd:date",
    "\"2024-02-29Z\"^^xsd:date",
    "\"2024-01-31T10:00:00Z\"^^xsd:dateTime",
    "\"P1M\"^^xsd:yearMonthDuration",
    "\"PT36H\"^^xsd:dayTimeDuration",
    "\"10:00:00\"^^xsd:time",
];

struct Generator<'r> {
    random: &'r mut Random,
    is_cqels: bool,
    windows: Vec<String>,
    n_streams: usize,
    made: usize,
    /// Literals that are equal in value and different as terms; off where ties would be free.
    awkward: bool,
    /// Events are edges between few nodes, so that joins find much and triples come again and again.
    dense: bool,
    /// Triple terms, dates, functions nobody knows, EXISTS with BIND and LIMIT.
    rare: bool,
}

impl Scenario {
    pub fn generate(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let is_cqels = random.chance(35);
        let n_streams = 1 + random.below(2);
        // One in five, and the others stay what they were.
        let rare = seed.is_multiple_of(5);
        let awkward = random.chance(30) || rare;
        let dense = random.chance(35);
        let mut generator =
            Generator { random: &mut random, is_cqels, windows: vec![], n_streams, made: 0, awkward, dense, rare };
        let query = generator.query();
        let statics = generator.statics();
        let options = generator.options();
        let lateness = generator.lateness();
        let working = generator.working();
        let offset = generator.offset();
        let is_bag = options.semantics.map_or(is_cqels, |semantics| semantics == ContentSemantics::Bag);
        let is_costly = is_bag || query.contains("[ALL]") || query.contains("UNION");
        let n_events = generator.n_events(is_costly);
        let steps = generator.steps(&query, n_events);
        Self { query, options, statics, lateness, steps, working, offset }
    }

    /// The same with events, watermarks and the end alone, for laws that change them in ways of their own.
    #[allow(dead_code, reason = "one of two test binaries uses it")]
    pub fn quiet(seed: u64) -> Self {
        let mut scenario = Self::generate(seed);
        scenario.steps = std::mem::take(&mut scenario.steps).into_iter().flat_map(Step::quiet).collect();
        // Laws run a stream many times over: the end of a long one follows its beginning.
        let end = scenario.steps.pop();
        scenario.steps.truncate(30);
        scenario.steps.extend(end);
        scenario
    }

    pub fn describe(&self) -> String {
        let mut text = format!(
            "query {}\noptions {:?}\nlateness {:?}\nstatic {}\nworking {:?}\noffset {}\n",
            self.query, self.options, self.lateness, self.statics, self.working, self.offset
        );
        for step in &self.steps {
            let _ = match step {
                Step::Event(Event { stream, at, turtle }) => writeln!(text, "at {at}ms on <{stream}> {turtle}"),
                Step::Batch(events) => writeln!(text, "batch {events:?}"),
                Step::Static { triple, comes } => writeln!(text, "static {triple} {comes}"),
                Step::Watermark(at) => writeln!(text, "watermark {at}ms"),
                Step::Restore(working) => writeln!(text, "restore {working:?}"),
                Step::Join(query) => writeln!(text, "join {query}"),
                Step::Leave => writeln!(text, "leave"),
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
            2 => format!("TRIPLES {}", self.random.range(1, 9)),
            3 => format!("ELEMENTS {} STEP {}", self.random.range(1, 4), self.random.range(1, 4)),
            4 if !self.is_cqels => {
                let to = self.random.range(0, 4);
                format!("FROM NOW-{}ms TO NOW-{to}ms STEP {slide}ms", to + width)
            }
            4 => format!("RANGE {width}ms SLIDE {slide}ms"),
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
        if self.rare && self.random.chance(30) {
            return (*self.random.pick(&RARE_OBJECTS)).to_owned();
        }
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
        let object = match self.random.chance(80) {
            true if self.rare && self.random.chance(25) => self.triple_term(),
            true => self.variable().to_owned(),
            false => self.object(),
        };
        format!("{subject} {predicate} {object} .")
    }

    /// Subject and predicate are fixed: where EXISTS puts a literal there, the reference takes the whole for unbound.
    fn triple_term(&mut self) -> String {
        let subject = *self.random.pick(&[":a", ":b"]);
        let predicate = *self.random.pick(&[":p", ":q"]);
        let object = match self.random.below(5) {
            // Not "01": the reference writes constants inside triple terms anew.
            0 => ":c",
            1 => "<<( :b :q 2 )>>",
            _ => self.variable(),
        };
        format!("<<( {subject} {predicate} {object} )>>")
    }

    /// What few queries have.
    fn rare_part(&mut self) -> String {
        self.made += 1;
        let (a, b, made) = (self.variable(), self.variable(), self.made);
        match self.random.below(7) {
            0 => format!("BIND({a} - {b} AS ?bound{made})"),
            1 => format!("BIND({a} - {b} AS ?bound{made}) FILTER(!BOUND(?bound{made}) || ?bound{made} != 0)"),
            2 => format!("BIND(COALESCE(xsd:date({a}), xsd:dayTimeDuration(STR({b}))) AS ?bound{made})"),
            3 => format!("BIND(COALESCE(<urn:unknown>({a}), {b}) AS ?bound{made})"),
            4 => format!("FILTER(<urn:unknown>({a}) || {})", self.comparison()),
            5 => {
                let triples = self.triples(2);
                let block = self.block(&triples);
                format!("FILTER EXISTS {{ {block} BIND({a} - {b} AS ?bound{made}) FILTER(?bound{made} != 1) }}")
            }
            _ => {
                let triples = self.triples(2);
                let block = self.block(&triples);
                format!("FILTER NOT EXISTS {{ SELECT {a} {{ {block} }} LIMIT 1 }}")
            }
        }
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
        if self.rare && self.random.chance(40) {
            return self.rare_part();
        }
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

    /// A join of three or four patterns of one predicate: what result trees are kept for.
    fn shape(&mut self) -> String {
        (*self.random.pick(&[
            "?a :p ?b . ?b :p ?c . ?c :p ?a .",
            "?a :p ?b . ?b :p ?c . ?c :p ?d .",
            "?a :p ?b . ?a :p ?c . ?a :p ?d .",
            "?a :p ?b . ?b :q ?c . ?c :p ?a . ?a :q ?d .",
            "?a :p/:p ?c . ?c :p ?a .",
        ]))
        .to_owned()
    }

    fn group(&mut self, depth: usize) -> String {
        let triples = if self.dense && self.random.chance(45) { self.shape() } else { self.triples(3) };
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
        (0..self.random.below(5)).map(|_| self.static_triple()).collect()
    }

    fn static_triple(&mut self) -> String {
        let subject = *self.random.pick(&[":a", ":b", ":c"]);
        let object = *self.random.pick(&[":a", ":b", ":c", "1", "2"]);
        format!("{subject} :static {object} . ")
    }

    fn options(&mut self) -> ParseOptions {
        let mut options = ParseOptions::default();
        if self.random.chance(40) {
            options.r2s = Some(*self.random.pick(&[R2s::Rstream, R2s::Istream, R2s::Dstream, R2s::Changes]));
        }
        if self.random.chance(40) {
            let periodic = if self.random.chance(25) { Some(Span::from_millis(self.random.range(2, 6))) } else { None };
            let kind = self.random.below(10);
            options.report = Some(Report {
                close: kind < 4,
                change: (3..9).contains(&kind) || kind == 9 && periodic.is_none(),
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
        if self.dense {
            let nodes = [":a", ":b", ":c", ":d"];
            for _ in 0..n {
                let (from, to) = (self.random.pick(&nodes), self.random.pick(&nodes));
                triples.push(format!("{from} {} {to} .", if self.random.chance(75) { ":p" } else { ":q" }));
            }
            return triples.join(" ");
        }
        for _ in 0..n {
            // One hot subject, so that keys get long chains.
            let subject = if self.random.chance(50) { ":a" } else { [":a", ":b", ":c"][self.random.below(3)] };
            triples.push(format!("{subject} {} {} .", PREDICATES[self.random.below(3)], self.object()));
        }
        triples.join(" ")
    }

    /// Most streams are short, so that a failure fits a screen; some are long enough to cross everything.
    fn n_events(&mut self, is_costly: bool) -> i64 {
        let most = if is_costly { 40 } else { 2_000 };
        let (from, to) = match self.random.below(1_000) {
            0..=599 => (3, 16),
            600..=949 => (20, 50),
            950..=994 => (50, 150),
            995..=998 => (150, 500),
            _ => (500, 2_000),
        };
        self.random.range(from, to).min(most)
    }

    fn offset(&mut self) -> i64 {
        // A multiple of all steps and periods from 1 to 12.
        const ROUND: i64 = 27_720;
        // The years 9970 and −1000.
        const LATE: i64 = 252_460_800_000_000 / ROUND * ROUND;
        const EARLY: i64 = -93_700_000_000_000 / ROUND * ROUND;
        match self.random.below(10) {
            0 => LATE,
            1 => EARLY,
            2 => ROUND * self.random.range(1, 1_000_000),
            _ => 0,
        }
    }

    fn thresholds(&mut self) -> Thresholds {
        let (tiny, real) = (Thresholds::tiny(), Thresholds::default());
        match self.random.below(10) {
            0..=4 => Thresholds { checks: self.random.chance(40), ..tiny },
            5 => real,
            _ => Thresholds {
                ring_slots_min: 1 << self.random.below(5),
                ring_shrink_min: 1 << self.random.below(6),
                ring_gaps_max: self.random.below(8),
                first_position: if self.random.chance(50) { u32::MAX - self.random.below(60) as u32 } else { 0 },
                zero_keys_min: self.random.below(9),
                arrivals_compared_max: self.random.below(4),
                rows_compared_max: self.random.below(6),
                new_terms_min: 1 + self.random.below(8),
                terms_shrink_min: self.random.below(8),
                removed_triples_min: self.random.below(8),
                checks: self.random.chance(40),
            },
        }
    }

    fn working(&mut self) -> EngineOptions {
        let retraction = *self.random.pick(&[Retraction::Auto, Retraction::Auto, Retraction::Tree, Retraction::Probe]);
        let probing =
            if self.random.chance(60) { Probing::Adaptive } else { Probing::Fixed(self.random.below(40) as u64) };
        EngineOptions {
            retraction,
            probing,
            sharing: self.random.chance(75),
            hash_seed: self.random.next(),
            thresholds: self.thresholds(),
            ..EngineOptions::default()
        }
    }

    /// A query beside: often the same one, so that leaves are shared.
    fn neighbour(&mut self, query: &str) -> String {
        if self.random.chance(30) {
            return query.to_owned();
        }
        let Self { is_cqels, n_streams, awkward, dense, rare, .. } = *self;
        let random = &mut *self.random;
        Generator { random, is_cqels, windows: vec![], n_streams, made: 0, awkward, dense, rare }.query()
    }

    /// What happens beside the events.
    fn disturbance(&mut self, query: &str) -> Option<Step> {
        match self.random.below(100) {
            0..=3 => Some(Step::Restore(Box::new(self.working()))),
            4..=5 => Some(Step::Join(self.neighbour(query))),
            6 => Some(Step::Leave),
            7..=8 => Some(Step::Static { triple: self.static_triple(), comes: self.random.chance(50) }),
            _ => None,
        }
    }

    fn steps(&mut self, query: &str, n_events: i64) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut now = [self.random.range(-3, 8), self.random.range(-3, 8)];
        let disorder = self.random.chance(40);
        if self.random.chance(20) {
            steps.push(Step::Join(self.neighbour(query)));
        }
        for _ in 0..n_events {
            steps.extend(self.disturbance(query));
            let stream = self.random.below(self.n_streams);
            now[stream] += match self.random.below(10) {
                0..=3 => 0,
                4..=7 => self.random.range(1, 3),
                8 => self.random.range(3, 8),
                _ => self.random.range(10, 25),
            };
            let back = if disorder && self.random.chance(25) { self.random.range(1, 9) } else { 0 };
            let turtle = self.event();
            steps.push(Step::Event(Event { stream: STREAMS[stream], at: now[stream] - back, turtle }));
            if self.random.chance(8) {
                let at = now[0].max(now[1]) + self.random.range(0, 6);
                now = [now[0].max(at), now[1].max(at)];
                steps.push(Step::Watermark(at));
            }
        }
        if self.random.chance(25) {
            steps = in_batches(steps);
        }
        steps.push(if self.random.chance(80) { Step::Close } else { Step::Watermark(now[0].max(now[1]) + 20) });
        steps
    }
}

/// The same steps, with neighbouring events of one stream in one push.
fn in_batches(steps: Vec<Step>) -> Vec<Step> {
    let mut batched: Vec<Step> = Vec::new();
    for step in steps {
        match (batched.last_mut(), step) {
            (Some(Step::Batch(events)), Step::Event(event)) if events[0].stream == event.stream => events.push(event),
            (_, Step::Event(event)) => batched.push(Step::Batch(vec![event])),
            (_, other) => batched.push(other),
        }
    }
    batched
}
