//! Law 11: when all windows are empty, no state is left.

use crate::run::{definition, drained, hold, is_by_count, started, step};
use crate::scenario::{Event, Scenario, Step};
use whorl_engine::{Engine, EngineOptions, ParseOptions, Probing, R2s, Retraction, WindowKind};

#[test]
fn when_all_windows_are_empty_nothing_is_kept() {
    hold(11, |scenario: &Scenario, random| {
        let query = definition(scenario);
        // These windows are never empty after their first event.
        if query.windows.iter().any(|window| is_by_count(&window.kind) || window.kind == WindowKind::All) {
            return None;
        }
        // ISTREAM and DSTREAM compare with the last reported result (example J: with `nonempty`, the x of the next
        // window is not new). If the emptying itself is not reported, that result is rightly kept: such queries are
        // left out.
        let steps = |kind: &WindowKind| matches!(kind, WindowKind::Step { .. } | WindowKind::Past { .. });
        let reports_all = query.report.change || query.report.close && query.windows.iter().all(|w| steps(&w.kind));
        if query.r2s != R2s::Rstream && (!reports_all || query.report.periodic.is_some()) {
            return None;
        }
        let mut scenario = scenario.clone();
        scenario.options.report = Some(whorl_engine::Report { nonempty: false, ..query.report });
        scenario.steps.push(Step::Close);
        let options = EngineOptions {
            retraction: *random.pick(&[Retraction::Auto, Retraction::Tree, Retraction::Probe]),
            probing: Probing::Fixed(random.next()),
            ..EngineOptions::default()
        };
        let (mut engine, query) = started(&scenario, options)?;
        // Results of static data alone, and the one row of an aggregate over nothing, exist from the beginning.
        let at_first = engine.state_size();
        scenario.steps.iter().for_each(|one| step(&mut engine, one));
        let reports = drained(&mut engine, query).len();
        engine.close();
        assert!(
            engine.state_size() <= at_first,
            "{at_first} at first, {:?}\n{}",
            engine.stats(),
            engine.explain(query).expect("a plan")
        );
        Some(reports)
    });
}

#[test]
fn a_query_that_is_let_go_leaves_nothing() {
    hold(21, |scenario: &Scenario, random| {
        let (mut engine, query) = started(scenario, EngineOptions::default())?;
        let steps = scenario.steps.iter().take(1 + random.below(scenario.steps.len()));
        steps.for_each(|one| step(&mut engine, one));
        let before = engine.state_size();
        drained(&mut engine, query);
        engine.unregister(query).expect("it runs");
        // Events within the lateness still wait in their stream, whichever query reads it.
        let waits = !scenario.lateness.is_empty();
        assert!(waits || engine.state_size() == 0, "{before} before, {:?} after", engine.stats());
        Some(before)
    });
}

#[test]
fn terms_of_results_that_are_taken_go_without_another_event() {
    let mut engine = Engine::new(EngineOptions::default());
    let text =
        "PREFIX : <http://ex/> SELECT ?e FROM NAMED WINDOW :w ON :s [RANGE 5ms] WHERE { WINDOW :w { ?e :in :x } }";
    let query = engine.register(text, &ParseOptions::default()).expect("a query");
    step(&mut engine, &Step::Event(Event { stream: "http://ex/s", at: 1, turtle: ":a :in :x .".to_owned() }));
    engine.close();
    assert_eq!(drained(&mut engine, query).len(), 2);
    engine.close();
    assert_eq!(engine.state_size(), 0, "{:?}", engine.stats());
}
