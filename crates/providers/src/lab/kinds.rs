//! What there is in the lab: each resource type's schema, what the lab says of a new or changed
//! object, and what it refuses. A table over plain functions; the calls themselves are in
//! `resource`.

use cty::{Type, Value};
use sdk::schema::{Attr, Block, Nested, Nesting, Schema};
use sdk::{Diagnostic, Object};
use sha2::{Digest as _, Sha256};

use super::cloud::Cloud;
use super::network::Cidr;

/// One resource type.
pub(super) struct Kind {
    /// Its name.
    pub(super) name: &'static str,
    /// How ids begin.
    pub(super) prefix: &'static str,
    /// Its schema, without what all types have.
    pub(super) schema: fn() -> Schema,
    /// Fills in what the lab says of a new object, or refuses it.
    pub(super) made: fn(&mut Object, &Made<'_>) -> Result<(), Diagnostic>,
    /// The same for a changed object.
    pub(super) changed: fn(&mut Object, &Made<'_>) -> Result<(), Diagnostic>,
    /// Attributes that the lab never tells and therefore does not keep.
    pub(super) secret: &'static [&'static str],
}

/// Where an object is made.
pub(super) struct Made<'a> {
    /// Everything that exists.
    pub(super) cloud: &'a Cloud,
    /// Its id.
    pub(super) id: &'a str,
    /// The provider's region.
    pub(super) region: &'a str,
}

/// All resource types.
pub(super) static KINDS: [Kind; 6] = [
    Kind {
        name: "lab_network",
        prefix: "net",
        schema: network,
        made: network_made,
        changed: network_changed,
        secret: &[],
    },
    Kind {
        name: "lab_server",
        prefix: "srv",
        schema: server,
        made: server_made,
        changed: nothing,
        secret: &[],
    },
    Kind {
        name: "lab_database",
        prefix: "db",
        schema: database,
        made: database_made,
        changed: database_changed,
        secret: &["password", "connection_string"],
    },
    Kind {
        name: "lab_bucket",
        prefix: "bkt",
        schema: bucket,
        made: bucket_made,
        changed: nothing,
        secret: &[],
    },
    Kind {
        name: "lab_dns_record",
        prefix: "dns",
        schema: dns_record,
        made: dns_made,
        changed: nothing,
        secret: &[],
    },
    Kind {
        name: "lab_thing",
        prefix: "thing",
        schema: thing,
        made: thing_made,
        changed: thing_changed,
        secret: &[],
    },
];

fn nothing(_: &mut Object, _: &Made<'_>) -> Result<(), Diagnostic> {
    Ok(())
}

fn cidr_attr(name: &str) -> Attr {
    Attr::string(name)
        .required()
        .replaces()
        .check(|value| Cidr::parse(value.as_str().unwrap_or_default()).map(|_| ()))
}

fn name_attr() -> Attr {
    Attr::string("name")
        .required()
        .describe("Its name.")
        .check(|value| {
            let text = value.as_str().unwrap_or_default();
            let fits = (1..=63).contains(&text.len())
                && text
                    .chars()
                    .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c));
            if fits {
                Ok(())
            } else {
                Err(format!(
                    "{text:?}: 1 to 63 lower-case letters, digits, dots and hyphens"
                ))
            }
        })
}

fn positive(name: &str) -> Attr {
    Attr::number(name).check(
        |value| match value.as_number().and_then(cty::Number::to_u64) {
            Some(1..=1_000_000) => Ok(()),
            _ => Err("must be a whole number from 1".into()),
        },
    )
}

fn network() -> Schema {
    let subnet = Block::new()
        .describe("A part of the network.")
        .attr(Attr::string("name").required())
        .attr(cidr_attr("cidr").describe("Must lie within the network."))
        .attr(
            Attr::string("zone")
                .default("a".into())
                .describe("Availability zone; default `a`."),
        )
        .attr(Attr::string("id").computed().stable());
    Schema::new()
        .describe("A private network.")
        .attr(name_attr())
        .attr(
            cidr_attr("cidr")
                .describe("Its addresses, as `10.1.0.0/16`. A change replaces the network."),
        )
        .attr(Attr::bool("dns_enabled").default(Value::bool(true)))
        .attr(Attr::strings("tags"))
        .attr(
            Attr::string("gateway")
                .computed()
                .stable()
                .describe("Its first address."),
        )
        .block(Nested::new("subnet", Nesting::List, subnet).max(16))
}

fn network_made(object: &mut Object, made: &Made<'_>) -> Result<(), Diagnostic> {
    if let Ok(cidr) = Cidr::parse(object.text("cidr").unwrap_or_default()) {
        object.fill("gateway", cidr.address(1).to_string());
    }
    network_changed(object, made)
}

fn network_changed(object: &mut Object, made: &Made<'_>) -> Result<(), Diagnostic> {
    let refuse =
        |problem: String| Diagnostic::error("the subnets do not fit", problem).at_attr("subnet");
    let whole = Cidr::parse(object.text("cidr").unwrap_or_default()).map_err(refuse)?;
    let subnets = object.get("subnet");
    let mut filled = Vec::new();
    for value in subnets.as_slice().unwrap_or_default() {
        let mut subnet = Object::of(value).map_err(refuse)?;
        let text = subnet.text("cidr").unwrap_or_default().to_owned();
        if !whole.contains(Cidr::parse(&text).map_err(refuse)?) {
            return Err(refuse(format!(
                "{text} does not lie within {}",
                object.text("cidr").unwrap_or_default()
            )));
        }
        let id = digest(&[made.id, subnet.text("name").unwrap_or_default(), &text]);
        subnet.fill("id", format!("subnet-{id}"));
        filled.push(subnet.into_value().map_err(refuse)?);
    }
    if let Some(ty) = subnets
        .ty()
        .element_type()
        .cloned()
        .filter(|_| !filled.is_empty())
    {
        object.set("subnet", Value::list(ty, filled));
    }
    Ok(())
}

/// The network that `network_id` names, and the next address in it.
fn join_network(object: &Object, made: &Made<'_>) -> Result<Option<String>, Diagnostic> {
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

fn server() -> Schema {
    let disk = Block::new()
        .describe("A disk of its own.")
        .attr(Attr::string("name").required())
        .attr(positive("size_gb").required())
        .attr(
            Attr::string("kind")
                .default("ssd".into())
                .one_of(&["ssd", "hdd", "nvme"]),
        );
    let health = Block::new()
        .describe("How the lab finds out whether the server is well.")
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

fn server_made(object: &mut Object, made: &Made<'_>) -> Result<(), Diagnostic> {
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
    let number = Sha256::digest(made.id.as_bytes());
    object.fill("public_ip", format!("203.0.113.{}", 1 + number[0] % 254));
    Ok(())
}

fn database() -> Schema {
    let backup = Block::new()
        .describe("Backups; without it there are none.")
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

fn database_made(object: &mut Object, made: &Made<'_>) -> Result<(), Diagnostic> {
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

fn database_changed(object: &mut Object, _: &Made<'_>) -> Result<(), Diagnostic> {
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

fn bucket() -> Schema {
    let rule = Block::new()
        .describe("When objects are removed.")
        .attr(Attr::string("prefix").required())
        .attr(positive("expire_days").required());
    Schema::new()
        .describe("A store for objects. Its name is unique in the lab.")
        .attr(name_attr().replaces())
        .attr(Attr::bool("versioned").default(Value::bool(false)))
        .attr(
            Attr::string("policy")
                .describe("Who may do what, as JSON.")
                .check(|value| {
                    let parsed = serde_json::from_str::<serde::de::IgnoredAny>(
                        value.as_str().unwrap_or_default(),
                    );
                    parsed
                        .map(|_| ())
                        .map_err(|error| format!("the policy is not valid JSON: {error}"))
                }),
        )
        .attr(Attr::strings("tags"))
        .attr(Attr::string("url").computed().stable())
        .block(Nested::new("lifecycle_rule", Nesting::Set, rule))
}

fn bucket_made(object: &mut Object, made: &Made<'_>) -> Result<(), Diagnostic> {
    let name = object.text("name").unwrap_or_default().to_owned();
    if let Some((id, _)) = made.cloud.find("lab_bucket", &name) {
        return Err(Diagnostic::error(
            format!("bucket {name} exists already"),
            format!("it has the id {id}; import it, or choose another name"),
        )
        .at_attr("name"));
    }
    object.fill(
        "url",
        format!("https://{name}.buckets.{}.lab.internal", made.region),
    );
    Ok(())
}

fn dns_record() -> Schema {
    Schema::new()
        .describe("A DNS record.")
        .attr(Attr::string("zone").required().replaces())
        .attr(name_attr().replaces())
        .attr(
            Attr::string("type")
                .default("A".into())
                .replaces()
                .one_of(&["A", "AAAA", "CNAME", "TXT"]),
        )
        .attr(positive("ttl").default(Value::int(300)))
        .attr(Attr::list("records").required())
        .attr(Attr::string("fqdn").computed().stable())
}

fn dns_made(object: &mut Object, _: &Made<'_>) -> Result<(), Diagnostic> {
    let name = format!(
        "{}.{}",
        object.text("name").unwrap_or_default(),
        object.text("zone").unwrap_or_default()
    );
    object.fill("fqdn", name);
    Ok(())
}

fn thing() -> Schema {
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
        .describe("A thing: anything that has no type of its own.")
        .attr(name_attr())
        .attr(Attr::string("kind").describe("What it stands for."))
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
                .describe("Sent to the lab, kept by nobody."),
        )
        .attr(Attr::nested("spec", Nesting::Single, spec))
        .attr(
            Attr::number("revision")
                .computed()
                .describe("Grows with every change."),
        )
}

fn thing_made(object: &mut Object, made: &Made<'_>) -> Result<(), Diagnostic> {
    object.fill("revision", Value::int(1));
    thing_spec(object, made)
}

fn thing_changed(object: &mut Object, made: &Made<'_>) -> Result<(), Diagnostic> {
    let stored = made
        .cloud
        .objects
        .get(made.id)
        .and_then(|object| object.attributes.get("revision")?.as_i64());
    object.fill("revision", Value::int(stored.unwrap_or(0) + 1));
    thing_spec(object, made)
}

fn thing_spec(object: &mut Object, _: &Made<'_>) -> Result<(), Diagnostic> {
    let value = object.get("spec");
    if !value.is_given() {
        return Ok(());
    }
    let refuse =
        |problem: String| Diagnostic::error("the spec cannot be taken", problem).at_attr("spec");
    let mut spec = Object::of(&value).map_err(refuse)?;
    let words = [
        spec.int("replicas").unwrap_or(1).to_string(),
        spec.text("command").unwrap_or_default().to_owned(),
    ];
    spec.fill("checksum", digest(&[&words[0], &words[1]]));
    object.set("spec", spec.into_value().map_err(refuse)?);
    Ok(())
}

/// Eight hex digits of a hash over texts.
pub(super) fn digest(texts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for text in texts {
        hash.update((text.len() as u64).to_be_bytes());
        hash.update(text.as_bytes());
    }
    hash.finalize()
        .iter()
        .take(4)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
