//! Provider configurations of objects, declared and recorded.

use crate::stage::testing::check;

#[tokio::test]
async fn objects_use_the_configured_or_the_recorded_provider() {
    check(
        r#"
# An undeclared object needs the configuration that the state records.
config: locals {}
state: lab_thing.a !by=provider["registry.opentofu.org/hashicorp/lab"].east
says: error: Provider configuration not present

# The configuration is still declared.
config: provider lab { alias = "east" }
state: lab_thing.a !by=provider["registry.opentofu.org/hashicorp/lab"].east
changes: - lab_thing.a (delete_because_no_resource_config)

# A declared object changes its provider: the new one plans it.
config: provider lab { alias = "east" }
        resource lab_thing a { provider = lab.east }
state: lab_thing.a
changes: none
edits: put lab_thing.a

# A provider that is not declared.
config: resource lab_thing a { provider = lab.west }
says: error: Provider configuration not present

# An instance of a provider with for_each.
config: provider lab { alias = "by"; for_each = toset(["x", "y"]) }
        resource lab_thing a { provider = lab.by["x"] }
changes: + lab_thing.a

# An instance that the provider block does not have.
config: provider lab { alias = "by"; for_each = toset(["x", "y"]) }
        resource lab_thing a { provider = lab.by["z"] }
says: error: Provider instance not present

# An undeclared object of an instance that is no longer declared.
config: provider lab { alias = "by"; for_each = toset(["x"]) }
state: lab_thing.a !by=provider["registry.opentofu.org/hashicorp/lab"].by["y"]
says: error: Provider instance not present

# Each instance of a resource may have its own provider instance.
config: provider lab { alias = "by"; for_each = toset(["x", "y"]) }
        resource lab_thing a { for_each = toset(["x", "y"]); provider = lab.by[each.key] }
changes: + lab_thing.a["x"]
         + lab_thing.a["y"]

# A provider that is passed to a module.
config: provider lab { alias = "east" }
        module m { source = "./m"; providers = { lab = lab.east } }
        @@m terraform { required_providers { lab = { source = "hashicorp/lab" } } }
            resource lab_thing a {}
changes: + module.m.lab_thing.a

# A failed configuration is reported once, not for each resource.
config: provider lab { region = "nowhere" }
        resource lab_thing a {}
        resource lab_thing b {}
says: error: Invalid region

# Without state, a destroy calls no provider.
config: provider lab { region = "nowhere" }
        resource lab_thing a {}
flags: -destroy
changes: none

# A configuration may depend on a resource that does not exist yet.
config: resource lab_thing a {}
        provider lab { alias = "later"; region = lab_thing.a.id }
        resource lab_thing b { provider = lab.later }
changes: + lab_thing.a
         + lab_thing.b
"#,
    )
    .await;
}

#[tokio::test]
async fn ephemeral_resources_are_opened_and_closed_while_planning() {
    check(
        r#"
# Its result may be a write-only argument.
config: ephemeral lab_lease e { name = "x" }
        resource lab_thing a { token = ephemeral.lab_lease.e.result }
values: + lab_thing.a: id none > ?, note none > ?
calls: close ephemeral.lab_lease.e
       open ephemeral.lab_lease.e
       plan lab_thing.a

# Other arguments are stored, so they cannot be ephemeral.
config: ephemeral lab_lease e { name = "x" }
        resource lab_thing a { name = ephemeral.lab_lease.e.result }
says: error: Invalid use of ephemeral value

# It cannot configure its own provider.
config: ephemeral lab_lease e { name = "x" }
        provider lab { region = ephemeral.lab_lease.e.result }
        resource lab_thing a {}
says: error: Cycle: provider["registry.opentofu.org/hashicorp/lab"], ephemeral.lab_lease.e

# Each instance is opened.
config: ephemeral lab_lease e { count = 2; name = "x" }
        resource lab_thing a { token = ephemeral.lab_lease.e[0].result }
calls: close ephemeral.lab_lease.e[0]
       close ephemeral.lab_lease.e[1]
       open ephemeral.lab_lease.e[0]
       open ephemeral.lab_lease.e[1]
       plan lab_thing.a

# After a failed plan it is closed as well.
config: ephemeral lab_lease e { name = "x" }
        resource lab_thing a { name = "refused"; token = ephemeral.lab_lease.e.result }
says: error: Refused
calls: close ephemeral.lab_lease.e
       open ephemeral.lab_lease.e
       plan lab_thing.a

# Outside of the targets nothing is opened.
config: ephemeral lab_lease e { name = "x" }
        resource lab_thing a { token = ephemeral.lab_lease.e.result }
        resource lab_thing b {}
flags: -target=lab_thing.b
calls: plan lab_thing.b

# A dependency with a pending change: it is opened by the deploy.
config: resource lab_thing b {}
        ephemeral lab_lease e { name = "x"; depends_on = [lab_thing.b] }
        resource lab_thing a { token = ephemeral.lab_lease.e.result }
calls: plan lab_thing.a
       plan lab_thing.b

# Without a pending change it is opened now.
state: lab_thing.b
calls: close ephemeral.lab_lease.e
       open ephemeral.lab_lease.e
       plan lab_thing.a
       plan lab_thing.b
       read lab_thing.b
       upgrade lab_thing.b

# With an unknown argument it is opened by the deploy.
config: resource lab_thing b {}
        ephemeral lab_lease e { name = lab_thing.b.id }
        resource lab_thing a { token = ephemeral.lab_lease.e.result }
changes: + lab_thing.b
         + lab_thing.a
calls: plan lab_thing.a
       plan lab_thing.b
"#,
    )
    .await;
}
