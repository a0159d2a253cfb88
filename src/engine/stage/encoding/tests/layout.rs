//! Layout of a recorded change.

use super::*;

/// Records of earlier stages have this layout.
#[test]
fn change_record_layout_is_stable_for_each_action() {
    let made = stage(vec![change(
        "thing_x.a",
        Action::NoOp,
        Value::int(1),
        Value::int(2),
    )]);
    let good = record(&made, || show::summary(&made), Vec::new(), None)
        .unwrap()
        .0;
    let all = serde_json::json!({
        "address": "thing_x.a", "deposed": "0badcafe", "previous": "thing_x.old",
        "provider": "provider[\"example.com/acme/thing\"]", "reason": "replace_by_request",
        "before": [0, "AQ==", []], "after": [0, "Ag==", []],
        "private": "AP8D", "prior_private": "e30=", "schema_version": 1,
        "dependencies": ["thing_x.n"], "prior_dependencies": ["thing_x.o"],
        "needs": ["thing_x.n[0]"], "prior_needs": ["thing_x.o[0]"],
        "tainted": true, "drifted": true,
        "identity_before": [0, "Aw==", []], "identity_after": [0, "BA==", []],
        "replace_paths": [], "create_before_destroy": false, "skip_destroy": false,
        "deferred_read": false,
    });
    let configured = serde_json::json!({
        "config": [0, "BQ==", []], "create_before_destroy": false, "skip_destroy": true,
    });
    let imported = serde_json::json!({"importing": "an id"});
    let identified = serde_json::json!({"importing": {"identity": {"name": "b"}}});
    let forced = serde_json::json!({
        "replace_paths": [[{"type": "get_attr", "value": "count"}]],
    });
    let late = serde_json::json!({"create_before_destroy": true});
    let forgotten = serde_json::json!({"skip_destroy": true});
    let waiting = serde_json::json!({"deferred_read": true});
    let runs = serde_json::json!({"commands": [{"command": "echo", "on_destroy": false}]});
    for (action, has) in [
        ("no_op", vec![&configured, &late, &identified]),
        ("read", vec![&waiting]),
        ("create", vec![&configured, &late, &runs]),
        ("update", vec![&configured, &imported]),
        ("replace", vec![&configured, &imported, &forced, &runs]),
        (
            "replace_create_first",
            vec![&configured, &late, &forced, &runs],
        ),
        ("destroy", vec![&late, &runs]),
        ("forget", vec![&late, &forgotten]),
    ] {
        let mut kept = all.clone();
        kept["action"] = action.into();
        for (name, value) in has.iter().flat_map(|more| more.as_object().unwrap()) {
            kept[name] = value.clone();
        }
        let mut detail: Json = good.detail.read().unwrap();
        detail["changes"] = Json::Array(vec![kept.clone()]);
        let older = StageRecord {
            detail: CompressedJson::compress(&detail).unwrap(),
            ..good.clone()
        };
        let read = restore(&older, None, |_, _| None).unwrap();
        let again = record(&read, || show::summary(&read), Vec::new(), None).unwrap();
        let again: Json = again.0.detail.read().unwrap();
        assert_eq!(again["changes"][0], kept, "{action}");
    }
}
