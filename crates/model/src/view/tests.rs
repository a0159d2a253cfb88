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
