//! Apply calls of the fake, and their faults.

use cty::{Type, Value};
use prost::Message;
use proto::{Bytes, tfplugin6 as pb};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tonic::Status;

use super::provider::{
    NONSENSE, bad, encoded, error, sent, thing, value, with, with_invalid_utf_8,
};
use crate::grpc_server::Fake;

/// Duration of a slow create.
const CREATE: Duration = Duration::from_secs(1);

/// True after this process has destroyed the object, until it creates one.
pub(super) static DESTROYED: AtomicBool = AtomicBool::new(false);

/// Object of the newest apply; null after a destroy.
static OBJECT: Mutex<Option<Value>> = Mutex::new(None);

/// Imports the object by its id, as long as it exists.
pub(super) fn import(request: Bytes) -> Result<Bytes, Status> {
    let request = pb::import_resource_state::Request::decode(request).map_err(bad)?;
    let object = OBJECT.lock().map_err(bad)?.clone();
    let object = object.filter(|_| request.id == "made");
    let mut reply = pb::import_resource_state::Response::default();
    match object.filter(|object| !object.is_null()) {
        Some(object) => {
            reply
                .imported_resources
                .push(pb::import_resource_state::ImportedResource {
                    type_name: "fake_thing".to_owned(),
                    state: sent(&object)?,
                    ..Default::default()
                })
        }
        None => reply
            .diagnostics
            .push(error("no such thing", "it was destroyed")),
    }
    Ok(encoded(&reply))
}

/// Creates slowly; a request to stop ends the create of `obeys-stop`, and blocks that of
/// `ignores-stop`.
pub(super) async fn create_slowly(fake: &Fake, request: Bytes) -> Result<Bytes, Status> {
    let decoded = pb::apply_resource_change::Request::decode(request.clone()).map_err(bad)?;
    let creates = value(decoded.prior_state)?.is_null();
    tokio::select! {
        biased; // the request first
        () = fake.stop.cancelled(), if creates => {}
        () = tokio::time::sleep(CREATE), if creates => return apply(&fake.name, request),
        else => return apply(&fake.name, request),
    }
    if &*fake.name == "ignores-stop" {
        std::future::pending::<()>().await;
    }
    Ok(encoded(&pb::apply_resource_change::Response {
        new_state: sent(&Value::null(thing()))?,
        diagnostics: vec![error("the create was cancelled", "nothing exists")],
        ..Default::default()
    }))
}

pub(super) fn apply(name: &str, request: Bytes) -> Result<Bytes, Status> {
    let request = pb::apply_resource_change::Request::decode(request).map_err(bad)?;
    let planned = value(request.planned_state)?;
    let made = if planned.is_null() {
        planned.clone()
    } else {
        with(&planned, "id", Value::string("made"))
    };
    let destroys = planned.is_null() && name != "destroys-nothing";
    DESTROYED.store(destroys, Ordering::Relaxed);
    if (destroys || !planned.is_null())
        && let Ok(mut object) = OBJECT.lock()
    {
        *object = Some(made.clone());
    }
    let mut reply = pb::apply_resource_change::Response {
        new_state: sent(&made)?,
        ..Default::default()
    };
    match name {
        // Providers on the old SDK may return a value that differs from the plan.
        "legacy-other-note" => {
            reply.legacy_type_system = true;
            if !planned.is_null() && !value(request.prior_state)?.is_null() {
                reply.new_state = sent(&with(&made, "note", Value::string("another")))?;
            }
        }
        "apply-unknown" => reply.new_state = sent(&planned)?,
        "apply-other-type" => {
            let list = Value::list(Type::Number, vec![Value::int(1), Value::int(2)]);
            let msgpack = cty::msgpack::encode(&list, &Type::list(Type::Number)).map_err(bad)?;
            reply.new_state = Some(pb::DynamicValue {
                msgpack: msgpack.into(),
                json: Bytes::new(),
            });
        }
        "apply-other-value" => {
            reply.new_state = sent(&with(&made, "name", Value::string("another")))?
        }
        // Infinity can be sent over the protocol, but not stored in a state.
        "apply-endless" => {
            reply.new_state = sent(&with(&made, "size", Value::number(cty::Number::infinity())))?
        }
        "destroy-endless" if planned.is_null() => {
            reply
                .diagnostics
                .push(error("it is not gone", "and it has grown"));
            reply.new_state = sent(&with(
                &value(request.prior_state)?,
                "size",
                Value::number(cty::Number::infinity()),
            ))?;
        }
        "apply-nothing" => reply.new_state = sent(&Value::null(thing()))?,
        "apply-nonsense" => return Ok(Bytes::from_static(NONSENSE)),
        "apply-half" => reply.diagnostics.push(error(
            "half of it is there",
            "the thing was made and its note was not written",
        )),
        "apply-last-words" => {
            // Written right before the answer, so the pipe may be read after it.
            let many: String = (1..=600)
                .map(|n| format!("[INFO] line {n} {}\n", "x".repeat(80)))
                .collect();
            eprintln!("{many}[ERROR] the very last line");
            reply
                .diagnostics
                .push(error("not this time", "see the log"));
            reply.new_state = None;
        }
        "apply-no-severity" => {
            reply.diagnostics.push(pb::Diagnostic {
                severity: 0,
                summary: "is this an error?".to_owned(),
                ..Default::default()
            });
            reply.new_state = None;
        }
        "apply-wild-path" => {
            use pb::attribute_path::{Step, step::Selector};
            let steps = [
                Selector::AttributeName("nowhere".into()),
                Selector::ElementKeyInt(-7),
                Selector::ElementKeyString("\u{1b}[2J".into()),
            ];
            let steps = steps
                .into_iter()
                .map(|s| Step { selector: Some(s) })
                .collect();
            let attribute = Some(pb::AttributePath { steps });
            reply.diagnostics.push(pb::Diagnostic {
                attribute,
                ..error("wrong at a place", "that the schema does not have")
            });
            reply.new_state = None;
        }
        "apply-not-text" => {
            reply.diagnostics.push(error("MARK", "MARK"));
            return Ok(with_invalid_utf_8(&encoded(&reply)));
        }
        "apply-value-not-text" => {
            reply.new_state = sent(&with(&made, "note", Value::string("MARK")))?;
            return Ok(with_invalid_utf_8(&encoded(&reply)));
        }
        "apply-long-words" => {
            reply.diagnostics.push(error(
                &"long ".repeat(2_000_000),
                &"longer ".repeat(3_000_000),
            ));
            reply.new_state = None;
        }
        "apply-many-words" => {
            let every = |n| error(&format!("wrong for the {n}th time"), "and it will be again");
            reply.diagnostics = (1..=20_000).map(every).collect();
            reply.new_state = None;
        }
        "apply-too-large" => reply.private = vec![0; 300 << 20].into(),
        _ => {}
    }
    Ok(encoded(&reply))
}
