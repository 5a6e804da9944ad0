//! Random queries over random streams that favour trouble: equal timestamps, borders ± 1, gaps, duplicates, late
//! events, one hot key, empty windows, steps longer than windows.
//!
//! Each pair also varies the engine: thresholds are tiny, random or real, retraction and probing order are forced or
//! not, and at random instants the engine is saved and restored, and neighbours are registered and removed. Some pairs
//! shift all times far away; the twin counts from zero.

#[path = "query_text.rs"]
mod query_text;

use crate::random::Random;
use std::collections::BTreeMap;
use std::fmt::Write;
use whorl_engine::{
    Bounds, ContentSemantics, EngineOptions, Evaluation, Limits, ParseOptions, Probing, R2s, Report, Retraction, Span,
    Thresholds, Tick, Timestamp,
};

pub const PREFIXES: &str = "PREFIX : <http://ex/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> ";

#[derive(Clone, Debug)]
pub struct Scenario {
    pub query: String,
    /// Queries that are compared beside it, over the same streams.
    pub others: Vec<Beside>,
    pub options: ParseOptions,
    pub statics: String,
    pub lateness: BTreeMap<String, i64>,
    pub steps: Vec<Step>,
    pub working: EngineOptions,
    /// Added to all times that the engine sees; a multiple of every step and period in use.
    pub offset: i64,
}

/// Another query, with options of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct Beside {
    pub query: String,
    pub options: ParseOptions,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    Event(Event),
    /// Events of one stream in one push.
    Batch(Vec<Event>),
    /// Adds or removes a static triple.
    Static {
        triple: String,
        comes: bool,
    },
    Watermark(i64),
    /// Saves the engine and continues with the restored one.
    Restore(Box<EngineOptions>),
    /// Registers another query.
    Join(Box<Beside>),
    /// Removes the oldest neighbour.
    Leave,
    /// Releases every unused term.
    Sweep,
    Close,
}

impl Step {
    fn quiet(self) -> Vec<Self> {
        match self {
            Self::Batch(events) => events.into_iter().map(Self::Event).collect(),
            Self::Event(_) | Self::Watermark(_) | Self::Close => vec![self],
            Self::Static { .. } | Self::Restore(_) | Self::Join(_) | Self::Leave | Self::Sweep => vec![],
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

/// Literals inside triple terms are canonical: the twin parses them as values and renders them anew.
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

/// Integers are times of windows `@ :p`, most of them in the past of the stream.
const NEIGHBOURS: [&str; 7] = [
    "REGISTER ISTREAM :out AS CONSTRUCT { ?a :up ?b } FROM NAMED WINDOW :w ON :s [NOW] WHERE { WINDOW :w { ?a :p ?b } }",
    "REGISTER RSTREAM :out AS CONSTRUCT { ?a :up ?b . ?b :of _:x } FROM NAMED WINDOW :w ON :s [RANGE 4ms STEP 2ms] WHERE { WINDOW :w { ?a ?p ?b FILTER(isIRI(?b)) } }",
    "SELECT ?a ?b FROM NAMED WINDOW :w ON :out [RANGE 6ms STEP 3ms] WHERE { WINDOW :w { ?a :up ?b } }",
    "SELECT ?a ?c FROM NAMED WINDOW :w ON :out [RANGE 9ms] WHERE { WINDOW :w { ?a :up ?b . ?b :of ?c } }",
    "SELECT ?a ?b ?n FROM NAMED WINDOW :w ON :s [RANGE 5ms STEP 1ms @ :p] WHERE { WINDOW :w { ?a :q ?b } BIND(NOW() AS ?n) }",
    "SELECT ?a ?b ?c FROM NAMED WINDOW :w ON :s [RANGE 50ms STEP 50ms @ :p] FROM NAMED WINDOW :v ON :s [RANGE 3ms] WHERE { WINDOW :w { ?a ?x ?b } OPTIONAL { WINDOW :v { ?a :p ?c } } }",
    "SELECT (MAX(?b) AS ?most) (GROUP_CONCAT(?b) AS ?all) FROM NAMED WINDOW :w ON :s [RANGE 8ms STEP 4ms @ :q] WHERE { WINDOW :w { ?a ?p ?b } }",
];

struct Generator<'r> {
    random: &'r mut Random,
    is_cqels: bool,
    windows: Vec<String>,
    n_streams: usize,
    made: usize,
    /// Literals of equal value that are different terms; off where ties would be undetermined.
    awkward: bool,
    /// Events are edges between few nodes, so that joins find many matches and triples recur.
    dense: bool,
    /// Triple terms, dates, functions nobody knows, EXISTS with BIND and LIMIT.
    rare: bool,
    /// Many queries come while events flow, most of them the same one or its relatives.
    crowded: bool,
}

impl Scenario {
    pub fn generate(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let is_cqels = random.chance(35);
        let n_streams = 1 + random.below(2);
        // One in five pairs, so that the others stay as they were.
        let rare = seed.is_multiple_of(5);
        let awkward = random.chance(30) || rare;
        let dense = random.chance(35);
        let crowded = random.chance(10);
        let (windows, made) = (vec![], 0);
        let mut generator =
            Generator { random: &mut random, is_cqels, windows, n_streams, made, awkward, dense, rare, crowded };
        let query = generator.query();
        let statics = generator.statics();
        let options = generator.options();
        let lateness = generator.lateness();
        let working = generator.working();
        let offset = generator.offset();
        let n_others = if generator.random.chance(20) { 1 + generator.random.below(2) } else { 0 };
        let others: Vec<Beside> = (0..n_others).map(|_| generator.compared_beside(&query, &options)).collect();
        let compared = others.iter().map(|other| (&other.query, &other.options)).chain([(&query, &options)]);
        let is_costly = compared.into_iter().any(|(query, options)| is_costly(query, options, is_cqels));
        let n_events = generator.n_events(is_costly);
        let steps = generator.steps(&query, &options, n_events);
        Self { query, others, options, statics, lateness, steps, working, offset }
    }

    /// The same with only events, watermarks and the end, for laws that modify them.
    #[allow(dead_code, reason = "one of two test binaries uses it")]
    pub fn quiet(seed: u64) -> Self {
        let mut scenario = Self::generate(seed);
        scenario.steps = std::mem::take(&mut scenario.steps).into_iter().flat_map(Step::quiet).collect();
        // Laws run a stream many times, so the end of a long one is cut off.
        let end = scenario.steps.pop();
        scenario.steps.truncate(30);
        scenario.steps.extend(end);
        scenario
    }

    pub fn describe(&self) -> String {
        let mut text = format!(
            "query {}\nbeside it {:?}\noptions {:?}\nlateness {:?}\nstatic {}\nworking {:?}\noffset {}\n",
            self.query, self.others, self.options, self.lateness, self.statics, self.working, self.offset
        );
        for step in &self.steps {
            let _ = match step {
                Step::Event(Event { stream, at, turtle }) => writeln!(text, "at {at}ms on <{stream}> {turtle}"),
                Step::Batch(events) => writeln!(text, "batch {events:?}"),
                Step::Static { triple, comes } => writeln!(text, "static {triple} {comes}"),
                Step::Watermark(at) => writeln!(text, "watermark {at}ms"),
                Step::Restore(working) => writeln!(text, "restore {working:?}"),
                Step::Join(beside) => writeln!(text, "join {beside:?}"),
                Step::Leave => writeln!(text, "leave"),
                Step::Sweep => writeln!(text, "sweep"),
                Step::Close => writeln!(text, "close"),
            };
        }
        text
    }
}

impl Generator<'_> {
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

    /// Most streams are long enough to cross thresholds many times; a failure is reduced to what matters.
    fn n_events(&mut self, is_costly: bool) -> i64 {
        let most = if is_costly { 60 } else { 2_000 };
        let (from, to) = match self.random.below(1_000) {
            0..=299 => (3, 16),
            300..=799 => (20, 60),
            800..=959 => (60, 150),
            960..=995 => (150, 300),
            _ => (300, 2_000),
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
        let quiet_reports_max = if self.random.chance(50) { 1 + self.random.below(4) as u64 } else { 10_000 };
        Thresholds { quiet_reports_max, ..self.structures() }
    }

    fn structures(&mut self) -> Thresholds {
        let (tiny, real) = (Thresholds::tiny(), Thresholds::default());
        match self.random.below(10) {
            0..=4 => Thresholds { checks: self.random.chance(40), ..tiny },
            5 => real,
            _ => Thresholds {
                ring_slots_min: 1 << self.random.below(5),
                ring_shrink_min: 1 << self.random.below(6),
                ring_gaps_max: self.random.below(8),
                first_position: if self.random.chance(50) { u32::MAX - self.random.below(60) as u32 } else { 0 },
                arrivals_compared_max: self.random.below(4),
                rows_compared_max: self.random.below(6),
                new_terms_min: 1 + self.random.below(8),
                terms_shrink_min: self.random.below(8),
                removed_triples_min: self.random.below(8),
                bag_chunk_max: 2 + self.random.below(6),
                regexes_cached_max: 1 + self.random.below(3),
                keys_moved: 1 + self.random.below(8),
                keys_shrink_min: 4 << self.random.below(4),
                text_chunk_max: 32 << self.random.below(5),
                leaves_compared_max: self.random.below(5),
                triples_compared_max: self.random.below(4),
                predicates_kept_max: self.random.below(4),
                changes_kept_max: self.random.below(6),
                row_slots_kept: self.random.below(6),
                buffers_ordered_max: 1 + self.random.below(4),
                subsets_indexed_max: self.random.below(3) as u32,
                timelines_awake_max: self.random.below(3),
                join_events_min: 1 + self.random.below(6) as u64,
                folded_min: 1 + self.random.below(8),
                routed_rows_max: self.random.below(4),
                checks: self.random.chance(40),
                ..real
            },
        }
    }

    /// Usually limits that have no effect; otherwise so tight that some queries stop.
    fn limits(&mut self) -> Limits {
        if self.random.chance(90) {
            return Limits::default();
        }
        Limits {
            work: self.random.chance(60).then(|| self.random.range(100, 5_000) as u64),
            state_rows: self.random.chance(60).then(|| self.random.range(5, 80) as usize),
            ..Limits::default()
        }
    }

    fn working(&mut self) -> EngineOptions {
        let retraction = *self.random.pick(&[Retraction::Auto, Retraction::Auto, Retraction::Tree, Retraction::Probe]);
        let probing =
            if self.random.chance(60) { Probing::Adaptive } else { Probing::Fixed(self.random.below(40) as u64) };
        // Queries keep the way in which they were registered: after a restore there are some of each.
        let evaluation = if self.random.chance(95) { Evaluation::Incremental } else { Evaluation::Reevaluate };
        EngineOptions {
            evaluation,
            pruning: self.random.chance(85),
            retraction,
            probing,
            sharing: self.random.chance(75),
            hash_seed: self.random.next(),
            thresholds: self.thresholds(),
            limits: self.limits(),
            // A batch may report more rows than a queue keeps by default; the twin drops none.
            result_rows_max: usize::MAX,
        }
    }

    /// A query beside: often the same one or a relative, so that much is shared; some write a stream, read it, or take
    /// the time from the data, which the twin does not support.
    fn neighbour(&mut self, query: &str, options: &ParseOptions) -> Beside {
        if self.crowded && self.random.chance(60) {
            let query = if self.random.chance(60) { query.to_owned() } else { member(query, true, self.random) };
            return Beside { query, options: options.clone() };
        }
        let query = match self.random.below(10) {
            0..=1 => query.to_owned(),
            2..=3 => member(query, self.random.chance(70), self.random),
            4..=5 => (*self.random.pick(&NEIGHBOURS)).to_owned(),
            _ => self.query_beside(),
        };
        self.with_options(query, options)
    }

    /// A query that is compared too: one of the same template, or any other.
    fn compared_beside(&mut self, query: &str, options: &ParseOptions) -> Beside {
        let query = match self.random.chance(50) {
            true => member(query, self.random.chance(70), self.random),
            false => self.query_beside(),
        };
        self.with_options(query, options)
    }

    /// A query with the options of the query beside it, or with others: then it works on a timeline of its own, which
    /// shares the events, the terms and the static data.
    fn with_options(&mut self, query: String, options: &ParseOptions) -> Beside {
        let options = match self.random.below(5) {
            0..=1 => options.clone(),
            2 => ParseOptions::default(),
            _ => ParseOptions {
                keep_answer: self.random.chance(30),
                keep_windows: self.random.chance(30),
                ..self.options()
            },
        };
        Beside { query, options }
    }

    /// Another query over the same streams.
    fn query_beside(&mut self) -> String {
        let Self { is_cqels, n_streams, awkward, dense, rare, crowded, .. } = *self;
        let (random, windows, made) = (&mut *self.random, vec![], 0);
        Generator { random, is_cqels, windows, n_streams, made, awkward, dense, rare, crowded }.query()
    }

    /// Actions besides the events.
    fn disturbance(&mut self, query: &str, options: &ParseOptions) -> Option<Step> {
        if self.crowded && self.random.chance(10) {
            return Some(Step::Join(Box::new(self.neighbour(query, options))));
        }
        if self.crowded && self.random.chance(6) {
            return Some(Step::Leave);
        }
        match self.random.below(100) {
            0..=3 => Some(Step::Restore(Box::new(self.working()))),
            4..=5 => Some(Step::Join(Box::new(self.neighbour(query, options)))),
            6 => Some(Step::Leave),
            9..=10 => Some(Step::Sweep),
            7..=8 => Some(Step::Static { triple: self.static_triple(), comes: self.random.chance(50) }),
            _ => None,
        }
    }

    fn steps(&mut self, query: &str, options: &ParseOptions, n_events: i64) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut now = [self.random.range(-3, 8), self.random.range(-3, 8)];
        let disorder = self.random.chance(40);
        if self.random.chance(20) {
            steps.push(Step::Join(Box::new(self.neighbour(query, options))));
        }
        for _ in 0..n_events {
            steps.extend(self.disturbance(query, options));
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
        // At least one of each in every pair.
        for step in [Step::Restore(Box::new(self.working())), Step::Sweep] {
            steps.insert(self.random.below(steps.len() + 1), step);
        }
        if self.random.chance(25) {
            steps = in_batches(steps);
        }
        steps.push(if self.random.chance(80) { Step::Close } else { Step::Watermark(now[0].max(now[1]) + 20) });
        steps
    }
}

/// Whether the twin needs long for a long stream.
fn is_costly(query: &str, options: &ParseOptions, is_cqels: bool) -> bool {
    let is_bag = options.semantics.map_or(is_cqels, |semantics| semantics == ContentSemantics::Bag);
    is_bag || query.contains("[ALL]") || query.contains("UNION")
}

/// A query of the same template: with other constants and, if requested, windows of other lengths.
pub fn member(query: &str, other_lengths: bool, random: &mut Random) -> String {
    let families: [&[&str]; 3] = [&[":p", ":q", ":r"], &[":a", ":b", ":c"], &["0", "1", "2", "3"]];
    // Numbers after these words belong to a window or to the end of the query.
    let sizes = ["[TRIPLES", "[ELEMENTS", "STEP", "SLIDE", "LIMIT", "OFFSET", "@"];
    let mut before = "";
    let tokens = query.split(' ').map(|token| {
        let last = std::mem::replace(&mut before, token);
        let family = families.iter().find(|family| family.contains(&token)).filter(|_| !sizes.contains(&last));
        match family {
            Some(family) => (*random.pick(family)).to_owned(),
            None if last == "[RANGE" && other_lengths => {
                let rest = token.trim_start_matches(|c: char| c.is_ascii_digit());
                format!("{}{rest}", random.range(1, 12))
            }
            None => token.to_owned(),
        }
    });
    tokens.collect::<Vec<_>>().join(" ")
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
