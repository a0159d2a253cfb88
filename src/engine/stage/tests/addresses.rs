//! Addresses in flags and blocks that match nothing, or that the flag does not accept.

use crate::stage::testing::check;

#[tokio::test]
async fn addresses_without_a_match_are_warnings() {
    check(
        r#"
# An address that neither the configuration nor the state has.
config: resource lab_thing a { count = 2 }
flags: -target=lab_thing.x
says: warning: --target matches nothing
explains: Neither the configuration nor the state has lab_thing.x.
changes: none

# A key that the resource does not have; the hint lists those that it has.
flags: -replace=lab_thing.a[7]
says: warning: --replace matches nothing
explains: no instance lab_thing.a[7]. This address replaces nothing. Instances of the resource: lab_thing.a[0], lab_thing.a[1].

# A replacement needs the key of an instance.
flags: -replace=lab_thing.a
says: warning: --replace matches nothing
explains: no instance lab_thing.a.

# A target is one of its instances.
flags: -target=lab_thing.a[7]
says: warning: --target matches nothing
explains: no instance lab_thing.a[7]. This address adds nothing to the stage.

# Or all of them.
flags: -target=lab_thing.a
changes: + lab_thing.a[0]
         + lab_thing.a[1]

# Or one that a refresh has nothing to read of.
flags: -refresh-only -target=lab_thing.a[7]
says: warning: --target matches nothing
changes: none

# An exclude must not hide a typo.
flags: -exclude=lab_thing.a[7]
says: warning: --exclude matches nothing
explains: no instance lab_thing.a[7]. This address excludes no object. Instances of the resource: lab_thing.a[0], lab_thing.a[1].
changes: + lab_thing.a[0]
         + lab_thing.a[1]

# Module instances that do not exist: with a key of another type, nested, and with a resource.
config: module m { source = "./m"; for_each = { x = 1, y = 2 } }
        @@m module n { source = "./n"; count = 2 }
            resource lab_thing a {}
        @@m/n resource lab_thing b {}
flags: -target=module.m["z"]
says: warning: --target matches nothing
explains: no instance module.m["z"]. This address adds nothing to the stage. Instances of the module: module.m["x"], module.m["y"].
changes: none

# With a resource, and with a number instead of a text.
flags: -target=module.m[0] -target=module.m["z"].lab_thing.a
says: warning: --target matches nothing
      warning: --target matches nothing
changes: none

# Nested in an instance that exists.
flags: -target=module.m["x"].module.n[5].lab_thing.b
says: warning: --target matches nothing
explains: Instances of the module: module.m["x"].module.n[0]
changes: none

# In all instances of the outer module.
flags: -exclude=module.m.module.n[5] -exclude=module.m.module.n[1]
says: warning: --exclude matches nothing
changes: + module.m["x"].lab_thing.a
         + module.m["y"].lab_thing.a
         + module.m["x"].module.n[0].lab_thing.b
         + module.m["y"].module.n[0].lab_thing.b

# A destroy looks the address up in the state alone.
state: module.m["x"].lab_thing.a
       module.m["y"].lab_thing.a
flags: -destroy -exclude=module.m["z"]
says: warning: --exclude matches nothing
changes: - module.m["x"].lab_thing.a
         - module.m["y"].lab_thing.a

# An instance of the state that the configuration no longer declares.
state: module.m["z"].lab_thing.a
flags: -target=module.m["z"]
changes: - module.m["z"].lab_thing.a (delete_because_no_module)
"#,
    )
    .await;
}

#[tokio::test]
async fn addresses_that_a_flag_does_not_accept_are_errors() {
    check(
        r#"
# Only managed resources can be replaced.
config: resource lab_thing a { count = 2 }
flags: -replace=data.lab_data.d
says: error: Invalid address for --replace
explains: data.lab_data.d is not a managed resource.

# Ephemeral resources have no objects.
flags: -replace=ephemeral.lab_lease.e
says: error: Invalid address for --replace
explains: ephemeral.lab_lease.e is not a managed resource.

# A module is no instance.
flags: -replace=module.m
says: error: Invalid address for --replace

# A destroy replaces nothing.
flags: -destroy -replace=lab_thing.a[0]
says: error: --replace cannot be combined with this mode
explains: Remove --replace or the mode.

# Nor does a refresh.
flags: -refresh-only -replace=lab_thing.a[0]
says: error: --replace cannot be combined with this mode
explains: Remove --replace or the mode.

# A text that is no address.
flags: -exclude=lab_thing.
says: error: Invalid address for --exclude
"#,
    )
    .await;
}

#[tokio::test]
async fn blocks_that_name_nothing_are_reported() {
    check(
        r#"
# An import without its resource stops only stages that import.
config: import { to = lab_thing.none; id = "x" }
says: error: Configuration for import target does not exist
explains: The configuration for the import target lab_thing.none does not exist.

# A destroy imports nothing.
flags: -destroy
changes: none

# Nor does a refresh.
flags: -refresh-only
changes: none

# A dependency on something that never changes.
config: resource lab_thing a { depends_on = [path.module] }
        output o { value = 1; depends_on = [terraform.workspace] }
says: warning: Entry of depends_on has no effect
      warning: Entry of depends_on has no effect
explains: path.module never changes during a deploy
          terraform.workspace never changes during a deploy
changes: + lab_thing.a

# A dependency on something that does not exist.
config: resource lab_thing a { depends_on = [path.nowhere] }
says: error: Invalid "path" attribute
      warning: Entry of depends_on has no effect

# A trigger that does not exist: only the plan knows.
config: resource lab_thing a {}
        resource lab_thing b { lifecycle { replace_triggered_by = [lab_thing.a[0]] } }
says: error: No change found for a replacement trigger
"#,
    )
    .await;
}
