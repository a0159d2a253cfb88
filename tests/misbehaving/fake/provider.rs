//! Provider service with one resource type, `fake_thing`. Its answers are correct unless the name
//! selects a fault.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

use cty::{Type, Value};
use prost::Message;
use proto::{Bytes, tfplugin6 as pb};
use tonic::Status;

use super::apply::{DESTROYED, apply, create_slowly};
use crate::grpc_server::Fake;
use crate::{count, flood, panic_like_go};

/// Bytes of an invalid message: the length of field 1 exceeds the message.
pub(super) const NONSENSE: &[u8] = b"\x0a\xff\xff\xff\xff\x0f this is no message";

pub(super) fn thing() -> Type {
    Type::object([
        ("id", Type::String),
        ("name", Type::String),
        ("note", Type::String),
        ("size", Type::Number),
    ])
}

pub(super) fn bad(error: impl std::fmt::Display) -> Status {
    Status::internal(format!("the fake failed: {error}"))
}

pub(super) fn value(sent: Option<pb::DynamicValue>) -> Result<Value, Status> {
    match sent {
        Some(sent) => cty::msgpack::decode(&sent.msgpack, &thing()).map_err(bad),
        None => Ok(Value::null(thing())),
    }
}

pub(super) fn sent(value: &Value) -> Result<Option<pb::DynamicValue>, Status> {
    let msgpack = cty::msgpack::encode(value, &thing()).map_err(bad)?;
    Ok(Some(pb::DynamicValue {
        msgpack: msgpack.into(),
        json: Bytes::new(),
    }))
}

/// Object with one attribute set.
pub(super) fn with(object: &Value, name: &str, to: Value) -> Value {
    let mut all: BTreeMap<_, _> = object
        .as_map()
        .map(cty::Members::to_map)
        .unwrap_or_default();
    all.insert(name.into(), to);
    Value::object_from_map(all)
}

pub(super) fn error(summary: &str, detail: &str) -> pb::Diagnostic {
    pb::Diagnostic {
        severity: 1,
        summary: summary.to_owned(),
        detail: detail.to_owned(),
        attribute: None,
    }
}

/// Answers a call of the provider's service.
pub(crate) async fn answer(fake: &Fake, method: &str, request: Bytes) -> Result<Bytes, Status> {
    let name = &*fake.name;
    if matches!(name, "answers" | "answers-nested")
        && let Some(answer) = super::chosen_answers::answer(method, &request)?
    {
        return Ok(answer);
    }
    match (name, method) {
        ("panics-in-configure", "ConfigureProvider")
        | ("panics-in-plan", "PlanResourceChange")
        | ("panics-in-apply", "ApplyResourceChange")
        | ("panics-in-read", "ReadResource") => panic_like_go(),
        ("aborts-in-apply", "ApplyResourceChange") => crate::abort_like_go(),
        ("panics-once", "ApplyResourceChange") if count("panics") == 1 => panic_like_go(),
        ("replaced-and-panics", "ApplyResourceChange") => {
            replace_itself()?;
            panic_like_go()
        }
        ("dies-of-segv-in-apply", "ApplyResourceChange") => {
            crate::launch_faults::run_launch_fault("dies-of-segv").map_or((), drop)
        }
        ("exits-in-apply", "ApplyResourceChange") => exit_in_call(),
        ("flood-and-die-in-apply", "ApplyResourceChange") => {
            flood(200_000);
            eprintln!("[ERROR] the very last line");
            panic_like_go()
        }
        ("hangs-in-apply" | "stubborn", "ApplyResourceChange") => {
            count("applying");
            std::future::pending().await
        }
        ("schema-never", "GetProviderSchema") => std::future::pending().await,
        ("takes-all-memory-in-apply", "ApplyResourceChange") => {
            count("applying");
            // Allocates until the process is killed, up to 4 GB.
            let all: Vec<Vec<u8>> = (0..64).map(|_| vec![1; 64 << 20]).collect();
            drop(all);
        }
        ("obeys-stop" | "ignores-stop", "ApplyResourceChange") => {
            return create_slowly(fake, request).await;
        }
        ("never-answers-stop", "StopProvider") => std::future::pending().await,
        ("takes-memory-in-apply", "ApplyResourceChange") => drop(vec![1_u8; 256 << 20]),
        ("floods-in-apply", "ApplyResourceChange") => flood(1_000_000),
        ("hangs-up-in-apply", "ApplyResourceChange") => {
            eprintln!("[WARN] the connection is cut");
            fake.cut.cancel();
            tokio::time::sleep(Duration::from_secs(600)).await;
        }
        ("throttled-in-stage", "PlanResourceChange") if count("plans") <= 2 => {
            return Err(Status::resource_exhausted("too many requests, slow down"));
        }
        // The first plan call is that of the stage.
        ("busy-in-plan", "PlanResourceChange") if matches!(count("plans"), 2 | 3) => {
            return Err(Status::unavailable("the service is being restarted"));
        }
        ("busy-for-good", "PlanResourceChange") if count("plans") >= 2 => {
            return Err(Status::unavailable("the service is being restarted"));
        }
        ("busy-in-apply", "ApplyResourceChange") => {
            count("applies");
            return Err(Status::unavailable("the service is being restarted"));
        }
        ("refuses-in-apply", "ApplyResourceChange") => {
            return Err(Status::internal("the database is locked"));
        }
        ("grandchild-in-use", "ConfigureProvider") => crate::launch_faults::grandchild(false),
        ("replaces-itself", "PlanResourceChange") => replace_itself()?,
        _ => {}
    }
    match method {
        "GetProviderSchema" => schema(name),
        "ValidateProviderConfig" => Ok(encoded(&pb::validate_provider_config::Response::default())),
        "ConfigureProvider" => configure(name),
        "ValidateResourceConfig" => Ok(encoded(&pb::validate_resource_config::Response::default())),
        "UpgradeResourceState" => upgrade(request),
        "ReadResource" => read(name, request),
        "ImportResourceState" if matches!(name, "blind-read" | "destroys-nothing") => {
            super::apply::import(request)
        }
        "PlanResourceChange" => plan(name, request),
        "ApplyResourceChange" => apply(name, request),
        // Returns another value for each call, although the arguments are equal.
        "CallFunction" => {
            let ticket = cty::msgpack::encode(&Value::number(count("tickets")), &Type::Number)
                .map_err(bad)?;
            let result = Some(pb::DynamicValue {
                msgpack: ticket.into(),
                json: Bytes::new(),
            });
            Ok(encoded(&pb::call_function::Response {
                result,
                error: None,
            }))
        }
        "StopProvider" => {
            count("stops");
            fake.stop.cancel();
            Ok(encoded(&pb::stop_provider::Response::default()))
        }
        _ => Err(Status::unimplemented(format!("{method} is not for a fake"))),
    }
}

#[allow(
    clippy::disallowed_methods,
    reason = "the fake exits in the middle of a call on purpose"
)]
fn exit_in_call() -> ! {
    eprintln!("[ERROR] enough of it");
    std::process::exit(3)
}

pub(super) fn encoded(message: &impl Message) -> Bytes {
    message.encode_to_vec().into()
}

/// Replaces the file that this process was started from by another program.
fn replace_itself() -> Result<(), Status> {
    let own = std::env::args().next().unwrap_or_default();
    let new = crate::folder().join("new");
    std::fs::write(
        &new,
        "#!/bin/sh\necho '[ERROR] this is another release' >&2\nexit 1\n",
    )
    .map_err(bad)?;
    std::fs::set_permissions(&new, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .map_err(bad)?;
    std::fs::rename(&new, own).map_err(bad)
}

fn text(name: &str, required: bool, computed: bool, description: String) -> pb::schema::Attribute {
    let optional = !required && !computed;
    pb::schema::Attribute {
        name: name.to_owned(),
        r#type: Bytes::from_static(b"\"string\""),
        required,
        optional,
        computed,
        description,
        ..Default::default()
    }
}

fn schema(name: &str) -> Result<Bytes, Status> {
    let block = |attributes: Vec<pb::schema::Attribute>| {
        let block = pb::schema::Block {
            attributes,
            ..Default::default()
        };
        pb::Schema {
            version: 0,
            block: Some(block),
        }
    };
    let thing = block(vec![
        text("id", false, true, String::new()),
        text("name", true, false, String::new()),
        text("note", false, false, String::new()),
        pb::schema::Attribute {
            r#type: Bytes::from_static(b"\"number\""),
            ..text("size", false, true, String::new())
        },
    ]);
    let mut reply = pb::get_provider_schema::Response {
        provider: Some(block(Vec::new())),
        resource_schemas: [("fake_thing".to_owned(), thing)].into(),
        ..Default::default()
    };
    match name {
        "answers-otherwise" => {
            let returns = Some(pb::function::Return {
                r#type: Bytes::from_static(b"\"number\""),
            });
            reply.functions.insert(
                "ticket".to_owned(),
                pb::Function {
                    r#return: returns,
                    ..Default::default()
                },
            );
        }
        "schema-nonsense" => return Ok(Bytes::from_static(NONSENSE)),
        "schema-error" => reply.diagnostics.push(error(
            "the schema is in error",
            "fake_thing: id is both required and computed",
        )),
        "schema-unknown" => return Err(Status::unimplemented("unknown method GetProviderSchema")),
        "schema-without-provider" => reply.provider = None,
        "schema-of-no-type" => {
            let mut broken = text("size", false, false, String::new());
            broken.r#type = Bytes::from_static(b"[\"list\"");
            reply
                .resource_schemas
                .insert("fake_broken".to_owned(), block(vec![broken]));
        }
        "schema-not-text" => {
            reply
                .resource_schemas
                .insert("fake_MARK".to_owned(), block(Vec::new()));
            return Ok(with_invalid_utf_8(&encoded(&reply)));
        }
        "schema-large" | "schema-too-large" => {
            // Like a large provider: many types, with most of the bytes in descriptions.
            let count = if name == "schema-large" { 700 } else { 3_000 };
            let words = "all that there is to know of it; ".repeat(3_030);
            for n in 0..count {
                let described = block(vec![text("id", false, true, words.clone())]);
                reply
                    .resource_schemas
                    .insert(format!("fake_{n}"), described);
            }
        }
        _ => {}
    }
    Ok(encoded(&reply))
}

/// Message with the letters `MARK` in its texts replaced by invalid UTF-8.
pub(super) fn with_invalid_utf_8(message: &Bytes) -> Bytes {
    let mut bytes = message.to_vec();
    let mut at = 0;
    while let Some(found) = bytes[at..].windows(4).position(|w| w == b"MARK") {
        bytes[at + found..at + found + 4].copy_from_slice(b"\xff\xfe\xc0\x80");
        at += found + 4;
    }
    bytes.into()
}

fn configure(name: &str) -> Result<Bytes, Status> {
    let mut reply = pb::configure_provider::Response::default();
    if name == "configure-error" {
        reply.diagnostics.push(error(
            "no credentials",
            "neither a token nor a file with one was found",
        ));
    }
    Ok(encoded(&reply))
}

fn upgrade(request: Bytes) -> Result<Bytes, Status> {
    let request = pb::upgrade_resource_state::Request::decode(request).map_err(bad)?;
    let json = request.raw_state.map(|raw| raw.json).unwrap_or_default();
    let text = std::str::from_utf8(&json).map_err(bad)?;
    let json = serde_json::from_str(text).map_err(bad)?;
    let state = cty::json::decode_value(&json, &thing()).map_err(bad)?;
    Ok(encoded(&pb::upgrade_resource_state::Response {
        upgraded_state: sent(&state)?,
        diagnostics: Vec::new(),
    }))
}

fn read(name: &str, request: Bytes) -> Result<Bytes, Status> {
    let request = pb::read_resource::Request::decode(request).map_err(bad)?;
    let new_state = match DESTROYED.load(Ordering::Relaxed) {
        // This fake never looks at the object.
        true if name != "blind-read" => sent(&Value::null(thing()))?,
        _ => request.current_state,
    };
    Ok(encoded(&pb::read_resource::Response {
        new_state,
        private: request.private,
        ..Default::default()
    }))
}

fn plan(name: &str, request: Bytes) -> Result<Bytes, Status> {
    let request = pb::plan_resource_change::Request::decode(request).map_err(bad)?;
    let mut planned = value(request.proposed_new_state)?;
    if !planned.is_null() && planned.get_attr("id").is_some_and(|id| id.is_null()) {
        planned = with(&planned, "id", Value::unknown(Type::String));
    }
    let mut reply = pb::plan_resource_change::Response::default();
    match name {
        "plan-other-name" => planned = with(&planned, "name", Value::string("of my own choice")),
        "apply-endless" if !planned.is_null() => {
            planned = with(&planned, "size", Value::unknown(Type::Number))
        }
        "plan-empty-path" => {
            reply.requires_replace = vec![pb::AttributePath {
                steps: vec![pb::attribute_path::Step { selector: None }],
            }];
        }
        "legacy-other-note" => reply.legacy_type_system = true,
        "plan-nonsense" => return Ok(Bytes::from_static(NONSENSE)),
        _ => {}
    }
    reply.planned_state = sent(&planned)?;
    Ok(encoded(&reply))
}
