//! Table of the lab's resource types: schema, computed values of new and changed objects, and
//! validation by the lab. `resource` implements the calls.

use cty::Value;
use sdk::schema::{Attr, Block, Nested, Nesting, Schema};
use sdk::{Diagnostic, Object};

use super::cloud::Cloud;
use super::machines::{
    compute_database, database, database_changed, positive, server, server_made,
};
use super::network::Cidr;
use super::thing::{digest, thing_changed, thing_made, thing_schema};

/// Resource type of the lab.
pub(super) struct Kind {
    /// Type name.
    pub(super) name: &'static str,
    /// Prefix of ids.
    pub(super) prefix: &'static str,
    /// Returns the schema without the attributes that all types have.
    pub(super) schema: fn() -> Schema,
    /// Sets the computed values of a new object, or rejects it.
    pub(super) compute: fn(&mut Object, &ObjectContext<'_>) -> Result<(), Diagnostic>,
    /// Sets the computed values of a changed object, or rejects it.
    pub(super) changed: fn(&mut Object, &ObjectContext<'_>) -> Result<(), Diagnostic>,
    /// Attributes that the lab never returns and therefore does not store.
    pub(super) secret: &'static [&'static str],
}

/// Context for the computed values of a new or changed object.
pub(super) struct ObjectContext<'a> {
    /// Contents of the lab.
    pub(super) cloud: &'a Cloud,
    /// Id of the object.
    pub(super) id: &'a str,
    /// Region of the provider.
    pub(super) region: &'a str,
}

/// All resource types.
pub(super) static KINDS: [Kind; 6] = [
    Kind {
        name: "lab_network",
        prefix: "net",
        schema: network,
        compute: compute_network,
        changed: network_changed,
        secret: &[],
    },
    Kind {
        name: "lab_server",
        prefix: "srv",
        schema: server,
        compute: server_made,
        changed: no_computed_values,
        secret: &[],
    },
    Kind {
        name: "lab_database",
        prefix: "db",
        schema: database,
        compute: compute_database,
        changed: database_changed,
        secret: &["password", "connection_string"],
    },
    Kind {
        name: "lab_bucket",
        prefix: "bkt",
        schema: bucket,
        compute: bucket_made,
        changed: no_computed_values,
        secret: &[],
    },
    Kind {
        name: "lab_dns_record",
        prefix: "dns",
        schema: dns_record,
        compute: compute_dns,
        changed: no_computed_values,
        secret: &[],
    },
    Kind {
        name: "lab_thing",
        prefix: "thing",
        schema: thing_schema,
        compute: thing_made,
        changed: thing_changed,
        secret: &[],
    },
];

fn no_computed_values(_: &mut Object, _: &ObjectContext<'_>) -> Result<(), Diagnostic> {
    Ok(())
}

fn cidr_attr(name: &str) -> Attr {
    Attr::string(name)
        .required()
        .replaces()
        .check(|value| Cidr::parse(value.as_str().unwrap_or_default()).map(|_| ()))
}

pub(super) fn name_attr() -> Attr {
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
                    "{text:?} is not a valid name; use 1 to 63 lower-case letters, digits, dots and hyphens"
                ))
            }
        })
}

pub(super) fn network() -> Schema {
    let subnet = Block::new()
        .describe("A range of the network.")
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

fn compute_network(object: &mut Object, made: &ObjectContext<'_>) -> Result<(), Diagnostic> {
    if let Ok(cidr) = Cidr::parse(object.text("cidr").unwrap_or_default()) {
        object.fill("gateway", cidr.address(1).to_string());
    }
    network_changed(object, made)
}

fn network_changed(object: &mut Object, made: &ObjectContext<'_>) -> Result<(), Diagnostic> {
    let refuse =
        |problem: String| Diagnostic::error("the subnets do not fit", problem).at_attr("subnet");
    let whole = Cidr::parse(object.text("cidr").unwrap_or_default()).map_err(refuse)?;
    let subnets = object.get("subnet");
    let mut filled = Vec::new();
    for value in subnets.as_slice().unwrap_or_default() {
        let mut subnet = Object::of(value).map_err(|e| refuse(e.into()))?;
        let text = subnet.text("cidr").unwrap_or_default().to_owned();
        // The schema cannot express relations between attributes, so the lab checks this.
        if !whole.contains(Cidr::parse(&text).map_err(refuse)?) {
            return Err(refuse(format!(
                "{text} does not lie within {}",
                object.text("cidr").unwrap_or_default()
            )));
        }
        // Derived from the subnet's name and range, so that it stays the same if subnets are
        // reordered.
        let id = digest(&[made.id, subnet.text("name").unwrap_or_default(), &text]);
        subnet.fill("id", format!("subnet-{id}"));
        filled.push(subnet.into_value().map_err(|e| refuse(e.into()))?);
    }
    // An empty list keeps its type, which no element could give it.
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

fn bucket() -> Schema {
    let rule = Block::new()
        .describe("Rule for the removal of objects.")
        .attr(Attr::string("prefix").required())
        .attr(positive("expire_days").required());
    Schema::new()
        .describe("A store for objects. Its name is unique in the lab.")
        .attr(name_attr().replaces())
        .attr(Attr::bool("versioned").default(Value::bool(false)))
        .attr(
            Attr::string("policy")
                .describe("Access policy, as JSON.")
                .check(|value| {
                    // Only the syntax is checked, so the parsed value is not needed.
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

fn bucket_made(object: &mut Object, made: &ObjectContext<'_>) -> Result<(), Diagnostic> {
    let name = object.text("name").unwrap_or_default().to_owned();
    // The check and the insertion happen under one lock; see `LabResource::make`.
    if let Some((id, _)) = made.cloud.find("lab_bucket", &name) {
        return Err(Diagnostic::error(
            format!("bucket {name} exists already"),
            format!("the existing bucket has the id {id}; import it, or choose another name"),
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

fn compute_dns(object: &mut Object, _: &ObjectContext<'_>) -> Result<(), Diagnostic> {
    let name = format!(
        "{}.{}",
        object.text("name").unwrap_or_default(),
        object.text("zone").unwrap_or_default()
    );
    object.fill("fqdn", name);
    Ok(())
}
