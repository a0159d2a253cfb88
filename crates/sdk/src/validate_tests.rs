//! Tables of mistakes, with their messages.

use std::sync::Arc;

use cty::{Type, Value};

use super::*;
use crate::diagnostics::{Diagnostics, Failure};
use crate::provider::{Change, Context, State, Upgrader};
use crate::schema::Timeouts;

/// Provider `lab` with one resource type.
struct Lab(Arc<Thing>);

#[derive(Clone)]
struct Thing {
    name: &'static str,
    schema: Schema,
    updates: bool,
    upgraders: Vec<i64>,
    twice: bool,
    provider: Schema,
}

impl Provider for Lab {
    fn name(&self) -> &str {
        "lab"
    }

    fn schema(&self) -> Schema {
        self.0.provider.clone()
    }

    fn resources(&self) -> Vec<Arc<dyn Resource>> {
        let one: Arc<dyn Resource> = self.0.clone();
        match self.0.twice {
            true => vec![one.clone(), one],
            false => vec![one],
        }
    }
}

#[async_trait::async_trait]
impl Resource for Thing {
    fn name(&self) -> &str {
        self.name
    }

    fn schema(&self) -> Schema {
        self.schema.clone()
    }

    fn supports_update(&self) -> bool {
        self.updates
    }

    async fn create(&self, _: &Context, change: Change) -> Result<State, Failure> {
        Ok(State::new(change.planned))
    }

    async fn read(&self, _: &Context, state: State) -> Result<Option<State>, Failure> {
        Ok(Some(state))
    }

    async fn update(&self, _: &Context, _: Change) -> Result<State, Failure> {
        Err(crate::no_update(self.name))
    }

    async fn delete(&self, _: &Context, _: State) -> Result<Diagnostics, Failure> {
        Ok(Diagnostics::new())
    }

    fn upgraders(&self) -> Vec<Upgrader> {
        let versions = self.upgraders.iter();
        versions.map(|from| Upgrader::new(*from, Ok)).collect()
    }
}

fn thing(schema: Schema) -> Thing {
    Thing {
        name: "lab_thing",
        schema,
        updates: true,
        upgraders: Vec::new(),
        twice: false,
        provider: Schema::new(),
    }
}

fn said(thing: Thing) -> Vec<String> {
    let found = internal_validate(&Lab(Arc::new(thing)));
    found.iter().map(ToString::to_string).collect()
}

fn of_attr(attr: Attr) -> Vec<String> {
    said(thing(Schema::new().attr(attr)))
}

#[test]
fn s4_03_mistakes_in_attributes_are_reported_with_their_place() {
    let neither = Attr {
        optional: false,
        ..Attr::string("b")
    };
    let cases = [
        (Attr::string("Name"), "Name: use lower-case letters"),
        (Attr::string("1st"), "1st: use lower-case letters"),
        (
            neither,
            "b: an attribute must be required, optional or computed",
        ),
        (
            Attr::string("b").required().computed(),
            "b: a required attribute cannot be optional or computed, nor have a default",
        ),
        (
            Attr::string("b").default("x".into()).required(),
            "b: a required attribute cannot be optional or computed, nor have a default",
        ),
        (
            Attr::string("b").default(Value::int(1)),
            "b: the default is number, not string",
        ),
        (
            Attr::string("b").stable(),
            "b: only a computed attribute can be stable",
        ),
        (
            Attr::string("b").computed().write_only(),
            "b: a write-only attribute cannot be computed",
        ),
        (
            Attr::string("id").required(),
            "id: the attribute id must be computed",
        ),
        (
            Attr::strings("b").replaces().identity(),
            "b: only a stored string, number, bool",
        ),
        (Attr::string("b").identity(), "b: identity cannot change"),
        (
            Attr::string("b").computed().identity(),
            "b: identity cannot change",
        ),
        (Attr::string("count"), "count: the name is reserved"),
        (Attr::string("for_each"), "for_each: the name is reserved"),
        (
            Attr::string("depends_on"),
            "depends_on: the name is reserved",
        ),
        (Attr::string("lifecycle"), "lifecycle: the name is reserved"),
        (Attr::string("provider"), "provider: the name is reserved"),
        (
            Attr::string("provisioner"),
            "provisioner: the name is reserved",
        ),
        (
            Attr::string("connection"),
            "connection: the name is reserved",
        ),
        (
            Attr::nested("b", Nesting::List, [Attr::new("c", Type::Dynamic)]),
            "b: a collection of objects cannot have attributes of the type \"any\"",
        ),
        (
            Attr::nested("b", Nesting::Single, [Attr::string("c"), Attr::string("c")]),
            "b.c is declared twice",
        ),
    ];
    for (attr, wanted) in cases {
        let found = of_attr(attr);
        let wanted = format!("lab_thing: {wanted}");
        assert!(
            found.len() == 1 && found[0].starts_with(&wanted),
            "{wanted}: {found:?}"
        );
    }
    assert_eq!(of_attr(Attr::string("b").default("x".into())), [""; 0]);
    assert_eq!(of_attr(Attr::string("b").optional_computed()), [""; 0]);
}

#[test]
fn s4_03_names_of_types_and_blocks_are_checked() {
    let twice = || Block::new().attr(Attr::string("b")).attr(Attr::string("b"));
    assert_eq!(
        said(thing(Schema::of(twice()))),
        ["lab_thing: b is declared twice"]
    );
    let within = Block::new().block(Nested::new("a", Nesting::List, twice()));
    assert_eq!(
        said(thing(Schema::of(within))),
        ["lab_thing: a.b is declared twice"]
    );
    let repeated = Thing {
        twice: true,
        ..thing(Schema::new())
    };
    assert_eq!(said(repeated)[0], "lab_thing is declared twice");
    let other = Thing {
        name: "lap_thing",
        ..thing(Schema::new())
    };
    assert!(said(other)[0].starts_with("lap_thing: type names must begin with lab_"));
    let limits = Nested::new("a", Nesting::List, Block::new()).min(3).max(2);
    let limits = said(thing(Schema::new().block(limits)));
    assert!(
        limits[0].contains("(3) is greater than the maximum (2)"),
        "{limits:?}"
    );
    let provider = Thing {
        provider: Schema::new().attr(Attr::string("alias")),
        ..thing(Schema::new())
    };
    assert!(said(provider)[0].starts_with("the provider: alias: the name is reserved"));
}

#[test]
fn s4_03_without_update_every_configured_attribute_replaces() {
    let schema = Schema::new()
        .attr(Attr::string("a").required().replaces())
        .attr(Attr::string("b"))
        .attr(Attr::string("id").computed())
        .attr(Attr::nested("c", Nesting::Single, [Attr::string("d")]).replaces())
        .timeouts(Timeouts::new().create("1m"));
    let immutable = Thing {
        updates: false,
        ..thing(schema.clone())
    };
    let found = said(immutable);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("lab_thing: b: objects of this type cannot be updated"));
    assert_eq!(said(thing(schema)), [""; 0]);
}

#[test]
fn s4_03_state_upgraders_are_contiguous() {
    let found = |version: i64, upgraders: &[i64]| {
        said(Thing {
            upgraders: upgraders.to_vec(),
            ..thing(Schema::new().version(version))
        })
    };
    for valid in [(0, &[][..]), (2, &[0, 1]), (2, &[1]), (3, &[2, 1])] {
        assert_eq!(found(valid.0, valid.1), [""; 0], "{valid:?}");
    }
    assert!(found(3, &[0, 2])[0].contains("no upgrader takes states of version 1"));
    assert!(found(3, &[0, 1])[0].contains("no upgrader takes states of version 2"));
    assert!(found(1, &[])[0].contains("no upgrader takes states of version 0"));
    assert!(found(1, &[0, 1])[0].contains("an upgrader takes states of version 1, which"));
    assert!(found(1, &[0, 0])[0].contains("upgrader of version 0 is declared twice"));
}

#[test]
fn default_time_limits_are_durations() {
    let found = said(thing(
        Schema::new().timeouts(Timeouts::new().create("soon")),
    ));
    let wanted =
        "lab_thing: timeouts: the time limit \"soon\" is not a positive duration, such as 20m";
    assert_eq!(found, [wanted]);
}
