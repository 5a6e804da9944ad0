//! The streams and queries of the experiments. Events are generated from a seed, so that other programs can generate
//! the same ones.

use crate::kernel::Event;

/// The random numbers of all programs: xorshift with one seed.
struct Draws(u64);

impl Draws {
    fn below(&mut self, end: usize) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 20) % end as u64) as u32
    }
}

/// The kind of query.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    Join,
    /// A window with an index that is not probed during the measurement.
    Insert,
    /// A full window, probed with keys that are not in it.
    Probe,
    Average,
    Minimum,
    Distinct,
    /// A minimum above a chain of any length; engines only.
    MinimumOverChain,
}

/// An experiment: its streams, its query, the events that fill the windows, and the measured events.
pub struct Experiment {
    pub mode: Mode,
    pub streams: usize,
    pub width: usize,
    pub text: String,
    /// Values are numbers below this.
    pub values: usize,
    pub filling: Vec<Event>,
    pub measured: Vec<Event>,
    /// The events after the measured ones, which reveal the content of the window: every row whose key is below
    /// `sample`.
    pub showing: Vec<Event>,
    pub sample: usize,
}

/// Values of averages and minima.
const VALUES: usize = 1_000;
/// The approximate number of rows in a window that are checked.
const SHOWN: usize = 10_000;

impl Experiment {
    pub fn new(mode: &str, size: Size, ways: usize, index: &str) -> Self {
        match mode {
            "join" => chain(ways, size),
            "insert" => insert(index, size),
            "probe" => probe(index, size),
            "avg" => average(size),
            "min" => over_join(Mode::Minimum, "?a (MIN(?d) AS ?m)", "GROUP BY ?a", size),
            "min-chain" => over_chain(ways, size),
            "distinct" => over_join(Mode::Distinct, "DISTINCT ?a", "", size),
            other => panic!("there is no mode {other}"),
        }
    }
}

/// Rows in a window, keys, and events that are measured.
#[derive(Clone, Copy)]
pub struct Size {
    pub width: usize,
    pub keys: usize,
    pub events: usize,
}

fn stream_text(stream: usize, width: usize, pattern: &str) -> String {
    format!("STREAM :s{stream} [TRIPLES {width}] {{ {pattern} }}")
}

fn query(head: &str, parts: &[String], tail: &str) -> String {
    format!("PREFIX : <http://ex/> SELECT {head} WHERE {{ {} }} {tail}", parts.join(" "))
}

/// Streams in rotation, both values uniform over the keys.
fn in_turn(streams: usize, keys: usize, count: usize, draws: &mut Draws) -> Vec<Event> {
    (0..count).map(|at| Event { stream: at % streams, subject: draws.below(keys), object: draws.below(keys) }).collect()
}

/// `S0(v0,v1) ⋈ S1(v1,v2) ⋈ …`: Figure 13a and Table 2.
fn chain(ways: usize, Size { width, keys, events }: Size) -> Experiment {
    let parts: Vec<_> = (0..ways).map(|n| stream_text(n, width, &format!("?v{n} :p{n} ?v{}", n + 1))).collect();
    let head: Vec<_> = (0..=ways).map(|n| format!("?v{n}")).collect();
    let mut draws = Draws(42);
    Experiment {
        mode: Mode::Join,
        streams: ways,
        width,
        text: query(&head.join(" "), &parts, ""),
        values: keys,
        filling: in_turn(ways, keys, ways * width, &mut draws),
        measured: in_turn(ways, keys, events, &mut draws),
        showing: vec![],
        sample: 0,
    }
}

/// Figures 9 and 11.
fn insert(index: &str, size: Size) -> Experiment {
    let mut draws = Draws(42);
    let filling = in_turn(1, size.keys, size.width, &mut draws);
    let measured = in_turn(1, size.keys, size.events, &mut draws);
    indexed(Mode::Insert, index, size, filling, measured)
}

/// Figures 10 and 12.
fn probe(index: &str, size: Size) -> Experiment {
    let mut draws = Draws(42);
    let filling = in_turn(1, size.keys, size.width, &mut draws);
    // A key greater than all others for the hash index; for the ordered one, no value is below the least.
    let missing = |_| Event { stream: 1, subject: (size.keys + 1) as u32 + draws.below(size.keys), object: 0 };
    let measured = (0..size.events).map(missing).collect();
    indexed(Mode::Probe, index, size, filling, measured)
}

fn indexed(mode: Mode, index: &str, size: Size, filling: Vec<Event>, measured: Vec<Event>) -> Experiment {
    let Size { width, keys, .. } = size;
    let sample = (keys * SHOWN / width.max(SHOWN)).max(1);
    let window = stream_text(0, width, "?k :p0 ?v");
    let (text, showing) = match index {
        // One probe finds everything below.
        "tree" => {
            let parts = [window, stream_text(1, 1, "?j :p1 ?w"), String::from("FILTER(?k < ?w)")];
            (query("?k ?v ?j ?w", &parts, ""), vec![Event { stream: 1, subject: 0, object: sample as u32 }])
        }
        _ => {
            let asked = |key: usize| Event { stream: 1, subject: key as u32, object: 0 };
            (query("?k ?v ?w", &[window, stream_text(1, 1, "?k :p1 ?w")], ""), (0..sample).map(asked).collect())
        }
    };
    Experiment { mode, streams: 2, width, text, values: 2 * keys + 1, filling, measured, showing, sample }
}

/// AVG right above a window: Figure 13b. The groups are the keys.
fn average(Size { width, keys, events }: Size) -> Experiment {
    let mut draws = Draws(42);
    let mut drawn = |count: usize| -> Vec<Event> {
        (0..count).map(|_| Event { stream: 0, subject: draws.below(keys), object: draws.below(VALUES) }).collect()
    };
    Experiment {
        mode: Mode::Average,
        streams: 1,
        width,
        text: query("?g (AVG(?v) AS ?mean)", &[stream_text(0, width, "?g :p0 ?v")], "GROUP BY ?g"),
        values: keys.max(VALUES),
        filling: drawn(width),
        measured: drawn(events),
        showing: vec![],
        sample: 0,
    }
}

/// An operator above a join of two windows: Figures 13c and 13d. Selectivity is the width over the keys.
fn over_join(mode: Mode, head: &str, tail: &str, Size { width, keys, events }: Size) -> Experiment {
    let mut draws = Draws(42);
    let parts = [stream_text(0, width, "?a :p0 ?b"), stream_text(1, width, "?b :p1 ?d")];
    let mut drawn = |count: usize| -> Vec<Event> {
        let event = |at: usize| match at % 2 {
            0 => Event { stream: 0, subject: draws.below(VALUES), object: draws.below(keys) },
            _ => Event { stream: 1, subject: draws.below(keys), object: draws.below(VALUES) },
        };
        (0..count).map(event).collect()
    };
    Experiment {
        mode,
        streams: 2,
        width,
        text: query(head, &parts, tail),
        values: keys.max(VALUES),
        filling: drawn(2 * width),
        measured: drawn(events),
        showing: vec![],
        sample: 0,
    }
}

/// MIN above a chain of windows: every result must be retracted. Keys are both the groups and the values.
fn over_chain(ways: usize, size: Size) -> Experiment {
    let plain = chain(ways, size);
    let parts: Vec<_> = (0..ways).map(|n| stream_text(n, size.width, &format!("?v{n} :p{n} ?v{}", n + 1))).collect();
    let text = query(&format!("?v0 (MIN(?v{ways}) AS ?m)"), &parts, "GROUP BY ?v0");
    Experiment { mode: Mode::MinimumOverChain, text, ..plain }
}

/// A mean in thousandths, rounded down; programs in other languages compute it as a double.
pub fn thousandths(mean: f64) -> u32 {
    (mean * 1_000.0 + 1e-6).floor() as u32
}
