//! Laws 6 and 7: no instant is special, and `(]` is `[)` one millisecond later.

use crate::random::Random;
use crate::run::{Seen, definition, hold, in_order, moved, reports, time};
use crate::scenario::Scenario;
use whorl_engine::{Bounds, ContinuousQuery, Timestamp, WindowKind};

/// The step of a window, and its width.
fn reach(kind: &WindowKind) -> (i64, i64) {
    match kind {
        WindowKind::Step { width, slide } => (slide.as_millis(), width.as_millis()),
        WindowKind::Past { from, slide, .. } => (slide.as_millis(), from.as_millis()),
        WindowKind::Sliding { width } => (1, width.as_millis()),
        _ => (1, 1),
    }
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// A duration after which every window begins anew.
fn cycle(query: &ContinuousQuery) -> i64 {
    let period = query.report.periodic.map_or(1, |period| period.as_millis());
    let steps = query.windows.iter().map(|window| reach(&window.kind).0);
    steps.fold(period, |lcm, step| lcm / gcd(lcm, step) * step)
}

fn later(seen: Seen, by: i64) -> Seen {
    let move_bound = |ms: i64| if ms == i64::MIN || ms == i64::MAX { ms } else { ms + by };
    let windows = seen.windows.into_iter().map(|(open, close)| (move_bound(open), move_bound(close))).collect();
    Seen { at: seen.at + by, windows, ..seen }
}

/// The scenario shifted so far that no window in use begins before t0.
fn far_from_t0(scenario: &Scenario, query: &ContinuousQuery) -> Scenario {
    let first = scenario.steps.iter().map(time).min().unwrap_or(0);
    let reach: i64 = query.windows.iter().map(|window| reach(&window.kind)).map(|(step, back)| step + back).sum();
    moved(scenario, query.t0.as_millis() + reach + 20 - first)
}

#[test]
fn a_shift_by_a_multiple_of_all_steps_shifts_all_reports() {
    hold(16, |scenario: &Scenario, random: &mut Random| {
        let query = definition(scenario);
        let scenario = far_from_t0(scenario, &query);
        let by = random.range(1, 5) * cycle(&query);
        let expected: Vec<Seen> = reports(&scenario)?.into_iter().map(|seen| later(seen, by)).collect();
        let got = reports(&moved(&scenario, by))?;
        assert_eq!(got, expected);
        Some(got.len())
    });
}

#[test]
fn a_shift_of_events_and_t0_shifts_all_reports() {
    hold(26, |scenario: &Scenario, random: &mut Random| {
        let query = definition(scenario);
        let period = query.report.periodic.map_or(1, |period| period.as_millis());
        let by = random.range(-1_000, 1_000) * period + *random.pick(&[0, 1_700_000_000_000 / period * period]);
        let expected: Vec<Seen> = reports(scenario)?.into_iter().map(|seen| later(seen, by)).collect();
        let mut shifted = moved(scenario, by);
        shifted.options.t0 = Some(Timestamp::from_millis(query.t0.as_millis() + by));
        let got = reports(&shifted)?;
        assert_eq!(got, expected);
        Some(got.len())
    });
}

#[test]
fn the_half_open_bounds_differ_by_one_millisecond() {
    hold(7, |scenario: &Scenario, _| {
        let query = definition(scenario);
        let by_change = query.report.change && !query.report.close;
        let steps = |kind: &WindowKind| match kind {
            WindowKind::Step { .. } => true,
            WindowKind::Past { .. } => !by_change,
            _ => false,
        };
        if query.report.periodic.is_some() || !query.windows.iter().all(|window| steps(&window.kind)) {
            return None;
        }
        let mut scenario = if by_change { in_order(scenario) } else { scenario.clone() };
        scenario.options.bounds = Some(Bounds::OpenClosed);
        let got = reports(&scenario)?;
        let mut earlier = moved(&scenario, -1);
        earlier.options.bounds = Some(Bounds::ClosedOpen);
        let mut expected = reports(&earlier)?;
        if by_change {
            // Not at a close but at an arrival or an expiry: the instant itself is shifted.
            expected.iter_mut().for_each(|seen| seen.at += 1);
        }
        assert_eq!(got, expected);
        Some(got.len())
    });
}
