//! Windows read instant by instant: what arrives, what expires, and what they say about themselves.

use super::*;
use crate::model::TermId;
use crate::parse::{Bounds, WindowKind};
use crate::window::EventTriples;

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millis(ms)
}

fn element(ms: i64, seq: u64) -> Element {
    Element { at: at(ms), seq, graph: TermId::UNBOUND, triples: EventTriples::One([TermId::UNBOUND; 3]) }
}

fn filled(rule: Rule, reading: Reading, times: &[i64]) -> Window {
    let mut window = Window::new(rule, reading);
    window.start(at(0));
    for (seq, ms) in times.iter().enumerate() {
        window.accept(&element(*ms, seq as u64), at(0));
    }
    window
}

fn step(width: i64, slide: i64) -> Rule {
    let kind = WindowKind::Step { width: Span::from_millis(width), slide: Span::from_millis(slide) };
    Rule::Step(StepRule::new(&kind, at(0), Bounds::ClosedOpen, false).expect("it steps"))
}

fn arrived(window: &Window) -> Vec<u64> {
    window.arrivals().iter().map(|arrival| arrival.element.seq).collect()
}

#[test]
fn events_of_one_instant_stay_in_the_order_they_came_in() {
    let mut window = filled(Rule::All, Reading::Current, &[5, 9, 5, 7]);
    window.read(at(9), Phase::Tick).expect("something arrives");
    assert_eq!(arrived(&window), [0, 2, 3, 1]);
}

#[test]
fn of_more_elements_than_a_window_counts_the_last_are_shown() {
    let mut window = filled(Rule::Elements { size: 2, step: 1 }, Reading::Current, &[1, 2, 3, 4, 5]);
    let taken = window.read(at(4), Phase::Tick).expect("something arrives");
    assert_eq!((arrived(&window), taken.bound), (vec![2, 3], 3));
    assert_eq!((window.len(), window.waiting()), (2, 1));
}

#[test]
fn elements_wait_for_the_step() {
    let mut window = filled(Rule::Elements { size: 3, step: 2 }, Reading::Current, &[1, 2, 3, 4, 5]);
    window.read(at(4), Phase::Tick).expect("something arrives");
    assert_eq!((arrived(&window), window.waiting()), (vec![1, 2, 3], 1));
    window.read(at(5), Phase::Tick).expect("something is counted");
    assert_eq!((arrived(&window), window.waiting(), window.len()), (vec![], 1, 3));
}

#[test]
fn what_waits_at_the_clock_is_no_arrival_to_come() {
    let window = filled(Rule::All, Reading::Current, &[5, 8]);
    assert_eq!([4, 5, 8].map(|clock| window.next_arrival(at(clock))), [Some(at(5)), Some(at(8)), None]);
}

#[test]
fn an_element_of_a_sliding_window_expires_a_width_after_its_time() {
    let mut window = filled(Rule::Sliding { width: Span::from_millis(10) }, Reading::Current, &[5]);
    assert_eq!(window.next_expiry(), None, "it is not in view yet");
    window.read(at(5), Phase::Tick).expect("something arrives");
    assert_eq!(window.next_expiry(), Some(at(15)));
    assert!(!window.read(at(14), Phase::Tick).is_some_and(|taken| taken.expired));
    assert!(window.read(at(15), Phase::Tick).is_some_and(|taken| taken.expired));
}

#[test]
fn closes_that_are_passed_over_do_not_come_again() {
    let mut window = filled(step(10, 5), Reading::Closed, &[]);
    assert_eq!(window.next_close(), Some(at(9)));
    window.skip_closes_before(at(100));
    assert_eq!(window.next_close(), Some(at(104)));
}

#[test]
fn a_window_reports_the_bounds_of_what_it_shows() {
    let bounds = |open, close| WindowBounds { open, close };
    let mut closed = filled(step(10, 5), Reading::Closed, &[3]);
    assert_eq!(closed.reported(at(4)), WindowBounds::NONE);
    closed.read(at(9), Phase::Close).expect("it closes");
    assert_eq!(closed.reported(at(9)), bounds(at(0), at(10)));
    let current = filled(step(10, 5), Reading::Current, &[3]);
    assert_eq!(current.reported(at(12)), bounds(at(5), at(15)));
    let sliding = filled(Rule::Sliding { width: Span::from_millis(10) }, Reading::Current, &[]);
    assert_eq!(sliding.reported(at(12)), bounds(at(2), at(12)));
    assert_eq!(filled(Rule::All, Reading::Current, &[]).reported(at(12)), bounds(Timestamp::MIN, at(12)));
}

#[test]
fn an_event_that_is_admitted_directly_enters_as_through_the_queues() {
    let sliding = Rule::Sliding { width: Span::from_millis(10) };
    let counts = [Rule::Elements { size: 3, step: 1 }, Rule::Triples { size: 2 }, Rule::All];
    for rule in counts.into_iter().chain([sliding, step(10, 5), step(4, 9)]) {
        let mut queued = filled(rule.clone(), Reading::Current, &[]);
        let mut direct = filled(rule.clone(), Reading::Current, &[]);
        let mut clock = 0;
        for (seq, ms) in [0, 3, 3, 9, 7, 14, 30, 29, 31].into_iter().enumerate() {
            clock = ms.max(clock);
            let element = element(ms, seq as u64);
            if queued.accept(&element, at(clock)) == Accepted::Yes {
                let taken = queued.read(at(clock), Phase::Tick).expect("the event arrives");
                assert!(direct.admits_directly(&element));
                let (key, admitted) = direct.admit(&element, at(clock));
                assert_eq!(queued.arrivals()[0].expiry_key, key, "{rule:?}");
                assert_eq!(format!("{taken:?}"), format!("{admitted:?}"), "{rule:?}");
            }
            let shown = |window: &Window| {
                (window.len(), window.waiting(), window.oldest_seq(), window.next_expiry(), window.reported(at(clock)))
            };
            assert_eq!(shown(&queued), shown(&direct), "{rule:?}");
        }
    }
    let two = Element { triples: [[TermId::UNBOUND; 3]; 2].as_slice().into(), ..element(0, 0) };
    assert!(!filled(Rule::Triples { size: 2 }, Reading::Current, &[]).admits_directly(&two));
    assert!(!filled(Rule::Elements { size: 2, step: 2 }, Reading::Current, &[]).admits_directly(&two));
    assert!(!filled(step(10, 5), Reading::Closed, &[]).admits_directly(&two), "it waits for the close");
    assert!(!filled(Rule::All, Reading::Current, &[5]).admits_directly(&two), "another event waits");
}
