//! differential-dataflow: a chain of patterns as joins of collections that rows come to and go from.
//!
//! The windows are kept outside: each is a collection of the two ends of its triples, as numbers, arranged by the one that
//! joins. One worker in this thread. Every change is a time of its own; the worker steps after as many events as Whorl
//! takes results after.

use differential_dataflow::VecCollection;
use differential_dataflow::input::{Input, InputSession};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use timely::dataflow::operators::probe::Handle;
use timely::worker::Worker;
use whorl_peers_case::{Case, Change, Watch, resident_bytes, say};

const TAKEN_EVERY: usize = 64;

type Pair = (u32, u32);
/// Values of a row of the chain.
type Row = Vec<u32>;

/// Terms as numbers.
#[derive(Default)]
struct Terms {
    ids: HashMap<String, u32>,
    texts: Vec<String>,
}

impl Terms {
    fn id(&mut self, text: &str) -> u32 {
        if let Some(id) = self.ids.get(text) {
            return *id;
        }
        let id = self.texts.len() as u32;
        self.ids.insert(text.to_owned(), id);
        self.texts.push(text.to_owned());
        id
    }
}

/// Rows of windows that come or go at an instant.
struct Encoded {
    at: i64,
    is_event: bool,
    rows: Vec<(usize, Pair, isize)>,
}

fn encoded(changes: &[Change], terms: &mut Terms) -> Vec<Encoded> {
    let mut made = vec![];
    for change in changes {
        let rows = change.placed.iter().map(|one| {
            let window = one.name.trim_start_matches("urn:w").parse().expect("windows are numbered");
            let pair = (terms.id(&one.terms[0]), terms.id(&one.terms[2]));
            (window, pair, if one.is_coming { 1 } else { -1 })
        });
        made.push(Encoded { at: change.at, is_event: change.is_event, rows: rows.collect() });
    }
    made
}

/// Rows that came or went, each with the number of its change.
type Found = Rc<RefCell<Vec<(Row, u64, isize)>>>;

struct Running<'a> {
    worker: &'a mut Worker,
    inputs: Vec<InputSession<u64, Pair, isize>>,
    probe: Handle<u64>,
    found: Found,
    time: u64,
}

impl<'a> Running<'a> {
    fn new(worker: &'a mut Worker, ways: usize) -> Self {
        let (found, probe) = (Found::default(), Handle::new());
        let inputs = worker.dataflow(|scope| {
            let (inputs, collections): (Vec<_>, Vec<_>) = (0..ways).map(|_| scope.new_collection()).unzip();
            let mut collections = collections.into_iter();
            let first: VecCollection<_, Pair, isize> = collections.next().expect("a chain has a pattern");
            let mut joined = first.map(|(s, o)| (o, vec![s]));
            for next in collections {
                joined = joined.join_map(next, |key, row: &Row, o| {
                    let mut row = row.clone();
                    row.push(*key);
                    (*o, row)
                });
            }
            let kept = found.clone();
            joined
                .consolidate()
                .inspect(move |((last, row), time, difference)| {
                    let mut row = row.clone();
                    row.push(*last);
                    kept.borrow_mut().push((row, *time, *difference));
                })
                .probe_with(&probe);
            inputs
        });
        Self { worker, inputs, probe, found, time: 0 }
    }

    fn push(&mut self, change: &Encoded) {
        for (window, pair, difference) in &change.rows {
            self.inputs[*window].update(*pair, *difference);
        }
        self.time += 1;
        self.inputs.iter_mut().for_each(|input| input.advance_to(self.time));
    }

    /// Lets the worker catch up.
    fn settle(&mut self) {
        self.inputs.iter_mut().for_each(InputSession::flush);
        let (probe, time) = (&self.probe, self.time);
        self.worker.step_while(|| probe.less_than(&time));
    }
}

fn main() {
    let case = Case::read();
    let mut terms = Terms::default();
    let (filling, measured) = (encoded(&case.filling, &mut terms), encoded(&case.measured, &mut terms));
    let ways = filling.iter().chain(&measured).flat_map(|change| &change.rows).map(|(window, ..)| window + 1).max();
    let limit = case.limit;
    let texts = terms.texts;
    timely::execute_directly(move |worker| {
        let before = resident_bytes();
        let mut running = Running::new(worker, ways.expect("something comes"));
        for chunk in filling.chunks(TAKEN_EVERY) {
            chunk.iter().for_each(|change| running.push(change));
            running.settle();
        }
        running.found.borrow_mut().clear();
        let (begun, bytes) = (running.time, resident_bytes().saturating_sub(before));
        let (mut events, watch) = (0, Watch::start());
        for chunk in measured.chunks(TAKEN_EVERY) {
            chunk.iter().for_each(|change| running.push(change));
            running.settle();
            events += chunk.iter().filter(|change| change.is_event).count();
            if watch.elapsed().0 > limit {
                break;
            }
        }
        let took = watch.elapsed();
        let found = running.found.borrow();
        let came = || found.iter().filter(|(_, _, difference)| *difference > 0);
        case.answer(came().map(|(row, time, _)| {
            let at = measured[(time - begun) as usize].at;
            (at, row.iter().map(|id| texts[*id as usize].as_str()).collect())
        }));
        say(events, took, came().count(), bytes);
        // Nothing is left to do, and the dataflow does not end by itself.
        std::process::exit(0);
    });
}
