//! Generic resource type `lab_thing`, for tests with arbitrary values.

use cty::{Type, Value};
use sdk::schema::{Attr, Nesting, Schema};
use sdk::{Diagnostic, Object, ObjectError};
use sha2::{Digest as _, Sha256};

use super::kinds::{ObjectContext, name_attr};
use super::machines::positive;

pub(super) fn thing_schema() -> Schema {
    let port = [
        Attr::number("number").required(),
        Attr::string("protocol")
            .default("tcp".into())
            .one_of(&["tcp", "udp"]),
    ];
    let spec = [
        positive("replicas").default(Value::int(1)),
        Attr::string("command"),
        Attr::nested("ports", Nesting::List, port),
        Attr::string("checksum").computed(),
    ];
    Schema::new()
        .describe("A generic object.")
        .attr(name_attr())
        .attr(Attr::string("kind").describe("Kind of the object."))
        .attr(
            Attr::new("triggers", Type::map(Type::String))
                .replaces()
                .describe("A change replaces the thing."),
        )
        .attr(Attr::strings("data"))
        .attr(Attr::new("payload", Type::Dynamic).describe("Anything."))
        .attr(
            Attr::string("note")
                .write_only()
                .describe("Sent to the lab, never stored."),
        )
        .attr(Attr::nested("spec", Nesting::Single, spec))
        .attr(
            Attr::number("revision")
                .computed()
                .describe("Increases with every change."),
        )
}

pub(super) fn thing_made(object: &mut Object, made: &ObjectContext<'_>) -> Result<(), Diagnostic> {
    object.fill("revision", Value::int(1));
    thing_spec(object, made)
}

pub(super) fn thing_changed(
    object: &mut Object,
    made: &ObjectContext<'_>,
) -> Result<(), Diagnostic> {
    // The stored revision, not the planned one: another process may have changed the thing.
    let stored = made
        .cloud
        .objects
        .get(made.id)
        .and_then(|object| object.attributes.get("revision")?.as_i64());
    object.fill("revision", Value::int(stored.unwrap_or(0) + 1));
    thing_spec(object, made)
}

fn thing_spec(object: &mut Object, _: &ObjectContext<'_>) -> Result<(), Diagnostic> {
    let value = object.get("spec");
    if !value.is_given() {
        return Ok(());
    }
    let refuse = |e: ObjectError| Diagnostic::error("the spec is not valid", e).at_attr("spec");
    let mut spec = Object::of(&value).map_err(refuse)?;
    let words = [
        spec.int("replicas").unwrap_or(1).to_string(),
        spec.text("command").unwrap_or_default().to_owned(),
    ];
    spec.fill("checksum", digest(&[&words[0], &words[1]]));
    object.set("spec", spec.into_value().map_err(refuse)?);
    Ok(())
}

/// Returns eight hex digits of a hash over texts.
pub(super) fn digest(texts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for text in texts {
        // Length prefixes, so that different splits of the same text have different hashes.
        hash.update((text.len() as u64).to_be_bytes());
        hash.update(text.as_bytes());
    }
    hex::encode(&hash.finalize()[..4])
}
