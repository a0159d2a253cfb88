//! Servers and databases: objects with an address in a network.

use cty::Value;
use sdk::schema::{Attr, Block, Nested, Nesting, Schema};
use sdk::{Diagnostic, Object};
use sha2::{Digest as _, Sha256};

use super::kinds::{ObjectContext, name_attr};
use super::network::Cidr;

pub(super) fn positive(name: &str) -> Attr {
    Attr::number(name).check(
        |value| match value.as_number().and_then(cty::Number::to_u64) {
            Some(1..=1_000_000) => Ok(()),
            _ => Err("must be a whole number from 1".into()),
        },
    )
}

/// Returns a free address in the network of `network_id`; `None` without a network.
fn join_network(object: &Object, made: &ObjectContext<'_>) -> Result<Option<String>, Diagnostic> {
    let Some(id) = object.text("network_id") else {
        return Ok(None);
    };
    let network = made
        .cloud
        .objects
        .get(id)
        .filter(|object| object.kind == "lab_network")
        .ok_or_else(|| {
            Diagnostic::error(
                format!("network {id} does not exist"),
                "create the network first, or correct the id",
            )
            .at_attr("network_id")
        })?;
    let text = network
        .attributes
        .get("cidr")
        .and_then(serde_json::Value::as_str)
        .unwrap_or_default();
    let cidr = Cidr::parse(text).map_err(|problem| {
        Diagnostic::error(format!("network {id} is broken"), problem).at_attr("network_id")
    })?;
    // The first addresses are reserved, as in real clouds; a network that is too small has none
    // left.
    let first = (cidr.size() >= 10).then(|| cidr.address(10));
    let free = first
        .and_then(|first| made.cloud.free_address(id, first))
        .filter(|free| *free <= cidr.address(cidr.size()));
    free.map(|address| Some(address.to_string()))
        .ok_or_else(|| {
            Diagnostic::error(
                format!("network {id} has no free address"),
                format!("all of {text} is taken"),
            )
            .at_attr("network_id")
        })
}

pub(super) fn server() -> Schema {
    let disk = Block::new()
        .describe("An additional disk.")
        .attr(Attr::string("name").required())
        .attr(positive("size_gb").required())
        .attr(
            Attr::string("kind")
                .default("ssd".into())
                .one_of(&["ssd", "hdd", "nvme"]),
        );
    let health = Block::new()
        .describe("Health check of the server.")
        .attr(Attr::string("path").required())
        .attr(positive("interval_s").default(Value::int(10)));
    Schema::new()
        .version(1)
        .describe("A virtual machine.")
        .attr(name_attr())
        .attr(
            Attr::string("image")
                .required()
                .replaces()
                .describe("Id of an image; a change replaces the server."),
        )
        .attr(
            Attr::string("size")
                .default("small".into())
                .one_of(&["small", "medium", "large", "huge"]),
        )
        .attr(
            Attr::string("network_id")
                .replaces()
                .describe("Id of its network; a change replaces the server."),
        )
        .attr(Attr::set("security_groups"))
        .attr(Attr::string("user_data").describe("A script for the first start."))
        .attr(Attr::strings("tags"))
        .attr(Attr::string("private_ip").computed().stable())
        .attr(Attr::string("public_ip").computed().stable())
        .block(Nested::new("disk", Nesting::List, disk).max(8))
        .block(Nested::new("health_check", Nesting::Single, health))
}

pub(super) fn server_made(object: &mut Object, made: &ObjectContext<'_>) -> Result<(), Diagnostic> {
    let image = object.text("image").unwrap_or_default();
    if !image.starts_with("img-") {
        return Err(Diagnostic::error(
            format!("image {image} does not exist"),
            "ids of images begin with img-; see the data source lab_image",
        )
        .at_attr("image"));
    }
    let address = join_network(object, made)?.unwrap_or_else(|| "192.0.2.10".into());
    object.fill("private_ip", address);
    // Derived from the id, so that an id always has the same address.
    let number = Sha256::digest(made.id.as_bytes());
    object.fill("public_ip", format!("203.0.113.{}", 1 + number[0] % 254));
    Ok(())
}

pub(super) fn database() -> Schema {
    let backup = Block::new()
        .describe("Backups; none by default.")
        .attr(positive("retention_days").required())
        .attr(Attr::string("window").default("03:00".into()));
    Schema::new()
        .describe("A managed database.")
        .attr(name_attr().replaces())
        .attr(
            Attr::string("engine")
                .required()
                .replaces()
                .one_of(&["postgres", "mysql"]),
        )
        .attr(Attr::string("engine_version").optional_computed().stable())
        .attr(
            Attr::string("size")
                .default("small".into())
                .one_of(&["small", "medium", "large", "huge"]),
        )
        .attr(positive("storage_gb").default(Value::int(20)))
        .attr(Attr::string("network_id").replaces())
        .attr(Attr::string("username").default("app".into()))
        .attr(Attr::string("password").required().sensitive())
        .attr(Attr::strings("tags"))
        .attr(Attr::string("private_ip").computed().stable())
        .attr(Attr::string("endpoint").computed().stable())
        .attr(Attr::number("port").computed().stable())
        .attr(Attr::string("connection_string").computed().sensitive())
        .block(Nested::new("backup", Nesting::Single, backup))
}

pub(super) fn compute_database(
    object: &mut Object,
    made: &ObjectContext<'_>,
) -> Result<(), Diagnostic> {
    let postgres = object.text("engine") == Some("postgres");
    let address = join_network(object, made)?.unwrap_or_else(|| "192.0.2.20".into());
    object.fill("private_ip", address);
    object.fill("engine_version", if postgres { "17.2" } else { "8.4" });
    object.fill(
        "endpoint",
        format!("{}.{}.db.lab.internal", made.id, made.region),
    );
    object.fill("port", Value::int(if postgres { 5432 } else { 3306 }));
    database_changed(object, made)
}

pub(super) fn database_changed(
    object: &mut Object,
    _: &ObjectContext<'_>,
) -> Result<(), Diagnostic> {
    let text = |name: &str| object.text(name).unwrap_or_default().to_owned();
    let (engine, user, password, endpoint) = (
        text("engine"),
        text("username"),
        text("password"),
        text("endpoint"),
    );
    let port = object.int("port").unwrap_or_default();
    object.fill(
        "connection_string",
        format!("{engine}://{user}:{password}@{endpoint}:{port}/app"),
    );
    Ok(())
}
