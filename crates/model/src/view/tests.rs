//! Tests of the fold of events.

use super::*;

fn said(intent: Option<i64>, summary: &str) -> Diagnostic {
    Diagnostic {
        severity: Severity::Warning,
        summary: summary.to_owned(),
        detail: "it may have been carried out or not".to_owned(),
        address: None,
        range: None,
        snippet: None,
        further: None,
        intent,
    }
}

#[test]
fn diagnostics_of_a_deploy_are_not_counted_as_those_of_its_stage() {
    let mut view = View::default();
    let mut fold = |kind| {
        view.apply(&Event {
            seq: 0,
            at: 0,
            kind,
        })
    };
    fold(EventKind::Diagnostic(said(None, "of the stage")));
    fold(EventKind::DeployStarted(DeployStarted {
        deploy: 1,
        stage: 1,
        mode: StageMode::Normal,
        who: String::new(),
        host: String::new(),
        parallelism: 10,
        operations: Vec::new(),
    }));
    for _ in 0..2 {
        fold(EventKind::Diagnostic(said(None, "of the deploy")));
    }
    let summaries = |all: &VecDeque<Diagnostic>| -> Vec<String> {
        all.iter().map(|d| d.summary.clone()).collect()
    };
    assert_eq!(summaries(&view.diagnostics), ["of the stage"]);
    let deploy = view.deploy.as_ref().unwrap();
    assert_eq!(summaries(&deploy.diagnostics), ["of the deploy"]);
}

#[test]
fn unknown_outcome_diagnostic_is_removed_when_settled() {
    let mut view = View::default();
    let mut seq = 0;
    let mut fold = |view: &mut View, kind| {
        seq += 1;
        view.apply(&Event { seq, at: 0, kind });
    };
    let all = [
        said(Some(7), "Unknown outcome"),
        said(Some(8), "Unknown outcome"),
        said(None, "Deprecated"),
    ];
    all.iter()
        .for_each(|d| fold(&mut view, EventKind::Diagnostic(d.clone())));
    let open = Unknown {
        kind: String::new(),
        provider: String::new(),
        values: Default::default(),
        intent: 8,
        deploy: 3,
        address: "a.b".to_owned(),
        deposed: None,
        step: OperationStep::Update,
        begun_at: 0,
        creation: false,
        provisioner: false,
        destroy_time: false,
        id: None,
        detail: "said otherwise by now".to_owned(),
    };
    fold(
        &mut view,
        EventKind::UnknownOutcomes {
            outcomes: vec![open],
        },
    );
    assert_eq!(view.diagnostics, &all[1..]);
    fold(
        &mut view,
        EventKind::UnknownOutcomes {
            outcomes: Vec::new(),
        },
    );
    assert_eq!(view.diagnostics, &all[2..]);
}
