//! A case as `benchmarks/whorl_bench/contestants/outside.py` writes it, and what a peer says of it.

use std::collections::HashMap;
use std::fmt::Write;
use std::fs;
use std::time::{Duration, Instant};

/// A triple that arrives or expires, in a window or on a stream; terms as N-Triples.
pub struct Placed {
    pub is_coming: bool,
    pub name: String,
    pub terms: [String; 3],
}

/// What one instant changes.
pub struct Change {
    pub at: i64,
    pub is_event: bool,
    pub placed: Vec<Placed>,
}

pub struct Case {
    pub query: String,
    pub filling: Vec<Change>,
    pub measured: Vec<Change>,
    pub limit: Duration,
    answers: Option<String>,
}

impl Case {
    /// From the words that the program was started with.
    ///
    /// # Panics
    /// If a word is missing, or a file is not what it should be.
    #[must_use]
    pub fn read() -> Self {
        let words: HashMap<String, String> = std::env::args()
            .skip(1)
            .filter_map(|word| word.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned())))
            .collect();
        let text = fs::read_to_string(&words["file"]).expect("the file of the case");
        let (filling, measured) = match text.split_once("=\n") {
            Some((filling, measured)) => (changes(filling), changes(measured)),
            None => (vec![], changes(&text)),
        };
        Self {
            query: fs::read_to_string(&words["query"]).expect("the file of the query"),
            filling,
            measured,
            limit: Duration::from_secs_f64(words["limit_s"].parse().expect("a number of seconds")),
            answers: words.get("answers").cloned(),
        }
    }

    /// Writes a line for each solution, if they are asked for.
    ///
    /// # Panics
    /// If the file cannot be written.
    pub fn answer<'a>(&self, solutions: impl Iterator<Item = (i64, Vec<&'a str>)>) {
        let Some(path) = &self.answers else { return };
        let mut text = String::new();
        for (at, terms) in solutions {
            writeln!(text, "{at}\t{}", terms.join("\t")).expect("a string takes everything");
        }
        fs::write(path, text).expect("the answers are written");
    }
}

fn changes(text: &str) -> Vec<Change> {
    let mut found: Vec<Change> = vec![];
    for line in text.lines() {
        let parts: Vec<&str> = line.split('\t').collect();
        match parts[..] {
            ["@", at, kind] => {
                let at = at.parse().expect("an instant");
                found.push(Change { at, is_event: kind == "1", placed: vec![] });
            }
            [sign, name, s, p, o] => {
                let terms = [s, p, o].map(str::to_owned);
                let change = found.last_mut().expect("a triple stands behind its instant");
                change.placed.push(Placed { is_coming: sign == "+", name: name.to_owned(), terms });
            }
            _ => panic!("not a line of a case: {line}"),
        }
    }
    found
}

/// Processor time of all threads of this process, and wall time, since it began.
pub struct Watch {
    cpu: Duration,
    wall: Instant,
}

impl Watch {
    #[must_use]
    pub fn start() -> Self {
        Self { cpu: processor_time(), wall: Instant::now() }
    }

    #[must_use]
    pub fn elapsed(&self) -> (Duration, Duration) {
        (processor_time().saturating_sub(self.cpu), self.wall.elapsed())
    }
}

/// The system brings the count up to date when a thread gives way.
fn processor_time() -> Duration {
    std::thread::yield_now();
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let counts = tasks.filter_map(|task| fs::read_to_string(task.path().join("schedstat")).ok());
    Duration::from_nanos(counts.filter_map(|text| text.split(' ').next()?.parse::<u64>().ok()).sum())
}

#[must_use]
pub fn resident_bytes() -> u64 {
    let pages = fs::read_to_string("/proc/self/statm").ok();
    pages.and_then(|text| text.split(' ').nth(1)?.parse::<u64>().ok()).unwrap_or(0) * 4096
}

/// The line of JSON.
pub fn say(events: usize, (cpu, wall): (Duration, Duration), results: usize, rss_bytes: u64) {
    println!(
        "{{\"events\": {events}, \"cpu_ns\": {}, \"wall_ns\": {}, \"results\": {results}, \"rss_bytes\": {rss_bytes}}}",
        cpu.as_nanos(),
        wall.as_nanos()
    );
}
