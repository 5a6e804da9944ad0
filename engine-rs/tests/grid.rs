//! The borders of windows, cell by cell: width × step × t0 × bounds × partial × where the events lie.
//!
//! The expected result is computed here from the formulas of the contract (`o_k = t0 + kβ`, `c_k = o_k + ω`),
//! independently of the engine. Detects: events in wrong windows, wrong order or bounds of reports, faults with empty
//! windows and late events. Does not detect: faults of joins, expressions, and windows of other kinds.

use whorl_engine::{Answered, Bounds, Engine, EngineOptions, ParseOptions, QueryId, Report, Timestamp, rdf};

#[derive(Clone, Copy, Debug)]
struct Cell {
    width: i64,
    slide: i64,
    t0: i64,
    /// 1 for `(o, c]`, 0 for `[o, c)`.
    shift: i64,
    partial: bool,
    layout: usize,
}

/// One report: open, close, and the numbers of the events in the window.
type Seen = (i64, i64, Vec<usize>);

const STREAM: &str = "http://ex/s";
const LAYOUTS: usize = 7;

impl Cell {
    fn open(&self, k: i64) -> i64 {
        self.t0 + k * self.slide
    }

    fn close(&self, k: i64) -> i64 {
        self.open(k) + self.width
    }

    fn covers(&self, k: i64, t: i64) -> bool {
        self.open(k) <= t - self.shift && t - self.shift < self.close(k)
    }

    /// A window has closed when no more event can fall into it.
    fn has_closed(&self, k: i64, watermark: i64) -> bool {
        self.close(k) + self.shift <= watermark
    }

    /// Windows from the first one to one far after all events.
    fn windows(&self) -> impl Iterator<Item = i64> + '_ {
        let exists = |k: &i64| self.open(*k) >= self.t0 || self.partial && self.close(*k) > self.t0;
        (-20..200).filter(exists)
    }

    /// The times of the events, in arrival order.
    fn events(&self) -> Vec<i64> {
        let around = |b: i64| [b - 1, b, b + 1];
        let edges = |ks: &[i64]| {
            let mut times: Vec<i64> =
                ks.iter().flat_map(|k| around(self.open(*k)).into_iter().chain(around(self.close(*k)))).collect();
            times.sort_unstable();
            times
        };
        let once = |mut times: Vec<i64>| {
            times.dedup();
            times
        };
        match self.layout {
            0 => edges(&[0]),
            1 => once(edges(&[0, 1, 3])),
            // A single event, on a border.
            2 => vec![self.open(2)],
            3 => vec![self.close(1) + self.shift],
            // A gap of several windows, then both sides of a border.
            4 => vec![self.open(0), self.open(0), self.close(5) + 40, self.close(5) + 40, self.close(5) + 41],
            // Before t0, at t0, and at the borders of a window that is not partial.
            5 => once(vec![self.t0 - self.width, self.t0 - 1, self.t0, self.t0 + self.width, self.t0 + self.width + 1]),
            // Out of order: behind the watermark, and before and after closes.
            _ => {
                let (open, close) = (self.open(1), self.close(1));
                vec![
                    open + 1,
                    open,
                    close,
                    close - 1,
                    close + self.slide,
                    open - 1,
                    close + 1,
                    close + self.slide - 1,
                    self.t0,
                ]
            }
        }
    }

    /// The content of each window, and the number of late events.
    fn contents(&self, events: &[i64]) -> (Vec<(i64, Vec<usize>)>, u64) {
        let mut contents: Vec<(i64, Vec<usize>)> = self.windows().map(|k| (k, Vec::new())).collect();
        let mut watermark = i64::MIN;
        let mut late = 0;
        for (number, t) in events.iter().enumerate() {
            let behind = *t < watermark;
            watermark = watermark.max(*t);
            let mut taken = false;
            for (k, content) in &mut contents {
                if self.covers(*k, *t) && !(behind && self.has_closed(*k, watermark)) {
                    content.push(number);
                    taken = true;
                }
            }
            late += u64::from(behind && !taken);
        }
        (contents, late)
    }

    /// Every window that closes after the first event and until the watermark.
    fn all_until(&self, events: &[i64], watermark: i64) -> Vec<Seen> {
        let first = events[0];
        let (contents, _) = self.contents(events);
        let reported =
            contents.into_iter().filter(|(k, _)| !self.has_closed(*k, first) && self.has_closed(*k, watermark));
        reported.map(|(k, content)| (self.open(k), self.close(k), content)).collect()
    }

    fn nonempty(&self, events: &[i64]) -> Vec<Seen> {
        let full =
            |(k, content): (i64, Vec<usize>)| (!content.is_empty()).then(|| (self.open(k), self.close(k), content));
        self.contents(events).0.into_iter().filter_map(full).collect()
    }

    fn register(&self, engine: &mut Engine, nonempty: bool) -> QueryId {
        let query = format!(
            "PREFIX : <http://ex/> SELECT ?e FROM NAMED WINDOW :w ON :s [RANGE {}ms STEP {}ms] WHERE {{ WINDOW :w {{ ?e :in :x }} }}",
            self.width, self.slide
        );
        let options = ParseOptions {
            t0: Some(Timestamp::from_millis(self.t0)),
            bounds: Some(if self.shift == 1 { Bounds::OpenClosed } else { Bounds::ClosedOpen }),
            partial: Some(self.partial),
            report: Some(Report { close: true, change: false, nonempty, periodic: None }),
            ..ParseOptions::default()
        };
        engine.register(&query, &options).expect("the query registers")
    }

    /// Runs the cell; returns the difference, if any.
    fn check(&self) -> Result<(), String> {
        let events = self.events();
        let mut engine = Engine::new(EngineOptions::default());
        let (every, full) = (self.register(&mut engine, false), self.register(&mut engine, true));
        let mut late = 0;
        for (number, t) in events.iter().enumerate() {
            let report = engine.push_triples(STREAM, Timestamp::from_millis(*t), &[triple(number)]).expect("an event");
            late += report.late;
        }
        let end = events.iter().max().expect("events") + 3 * self.slide + self.width;
        engine.advance_to(Timestamp::from_millis(end)).expect("a watermark");
        let until_end = seen(&mut engine, every);
        engine.close();
        let all_full = seen(&mut engine, full);
        let expected = (self.all_until(&events, end), self.nonempty(&events), self.contents(&events).1);
        match (&until_end, &all_full, late) == (&expected.0, &expected.1, expected.2) {
            true => Ok(()),
            false => Err(format!(
                "{self:?}\nevents {events:?}\nexpected {expected:?}\ngot {:?}",
                (until_end, all_full, late)
            )),
        }
    }
}

fn node(name: &str) -> rdf::NamedNode {
    rdf::NamedNode::new_unchecked(format!("http://ex/{name}"))
}

fn triple(number: usize) -> rdf::Triple {
    rdf::Triple::new(node(&format!("e{number}")), node("in"), node("x"))
}

fn seen(engine: &mut Engine, query: QueryId) -> Vec<Seen> {
    let results = engine.drain(query).expect("results");
    let number =
        |text: String| text.trim_start_matches("<http://ex/e").trim_end_matches('>').parse().expect("a number");
    let one = |result: &whorl_engine::QueryResult| {
        let Answered::Bindings { inserted, .. } = &result.answer else { panic!("SELECT gives bindings") };
        let mut events: Vec<usize> =
            inserted.iter().map(|row| number(engine.dictionary().term(row[0]).to_string())).collect();
        events.sort_unstable();
        let window = result.windows[0];
        assert_eq!(result.at, window.close, "a report carries the close of its window");
        (window.open.as_millis(), window.close.as_millis(), events)
    };
    results.iter().map(one).collect()
}

#[test]
#[allow(clippy::print_stderr, reason = "the number of cells belongs in the log")]
fn every_event_is_in_the_windows_whose_borders_hold_it() {
    let (mut cells, mut wrong) = (0, Vec::new());
    for width in 1..=12 {
        for slide in 1..=12 {
            for t0 in [-12, -5, 0, 1, 7, 12] {
                for (shift, partial) in [(0, false), (0, true), (1, false), (1, true)] {
                    for layout in 0..LAYOUTS {
                        let cell = Cell { width, slide, t0, shift, partial, layout };
                        cells += 1;
                        wrong.extend(cell.check().err());
                    }
                }
            }
        }
    }
    eprintln!("{cells} cells");
    assert!(wrong.is_empty(), "{} of {cells} cells differ; the first:\n{}", wrong.len(), wrong[0]);
    assert_eq!(cells, 24_192);
}

#[test]
fn a_report_of_one_window_carries_the_bounds_the_others_have_at_that_instant() {
    // At 5 the tumbling window empties; by then the current window of the other kind is [2, 6), no longer [0, 4).
    let query = "PREFIX : <http://ex/> SELECT ?e
        FROM NAMED WINDOW :steps ON :s [RANGE 4ms STEP 2ms] FROM NAMED WINDOW :tumbles ON :s [RANGE 5ms]
        WHERE { WINDOW :steps { ?e :in :x } OPTIONAL { WINDOW :tumbles { ?e :in ?y } } }";
    let report = Report { close: false, change: true, nonempty: false, periodic: None };
    let mut engine = Engine::new(EngineOptions::default());
    let query =
        engine.register(query, &ParseOptions { report: Some(report), ..ParseOptions::default() }).expect("a query");
    engine.push_triples(STREAM, Timestamp::from_millis(3), &[triple(0)]).expect("an event");
    engine.advance_to(Timestamp::from_millis(6)).expect("a watermark");
    let results = engine.drain(query).expect("results");
    let bounds = results.iter().map(|r| {
        (r.at.as_millis(), r.windows.iter().map(|w| (w.open.as_millis(), w.close.as_millis())).collect::<Vec<_>>())
    });
    assert_eq!(bounds.collect::<Vec<_>>(), [(3, vec![(0, 4), (0, 5)]), (5, vec![(2, 6), (5, 10)])]);
}
