//! Order of the operations of a deploy: each operation with those that it waits for.

use crate::stage::testing::check;

#[tokio::test]
async fn creations_and_updates_follow_their_dependencies() {
    check(
        r#"
# A chain.
config: resource lab_thing a {}
        resource lab_thing b { name = lab_thing.a.id }
        resource lab_thing c { name = lab_thing.b.id }
order: apply lab_thing.a
       apply lab_thing.b after apply lab_thing.a
       apply lab_thing.c after apply lab_thing.b

# Independent resources wait for nothing.
config: resource lab_thing a {}
        resource lab_thing b {}
order: apply lab_thing.a
       apply lab_thing.b

# depends_on orders without a reference.
config: resource lab_thing a {}
        resource lab_thing b { depends_on = [lab_thing.a] }
order: apply lab_thing.a
       apply lab_thing.b after apply lab_thing.a

# Through an unchanged resource.
config: resource lab_thing a { name = "new" }
        resource lab_thing b { name = lab_thing.a.id }
        resource lab_thing c { name = lab_thing.b.name; size = 1 }
state: lab_thing.a name=old
       lab_thing.b name=lab_thing.a <lab_thing.a
       lab_thing.c name=lab_thing.a <lab_thing.a <lab_thing.b
order: apply lab_thing.a
       apply lab_thing.c after apply lab_thing.a

# A constant key waits for one instance only.
config: resource lab_thing a { count = 2 }
        resource lab_thing b { name = lab_thing.a[0].id }
order: apply lab_thing.a[0]
       apply lab_thing.a[1]
       apply lab_thing.b after apply lab_thing.a[0]

# Other references wait for all instances.
config: resource lab_thing a { count = 2 }
        resource lab_thing b { name = join(",", lab_thing.a[*].id) }
order: apply lab_thing.a[0]
       apply lab_thing.a[1]
       apply lab_thing.b after apply lab_thing.a[0], apply lab_thing.a[1]

# Data sources are read after the resources that they depend on, and before their dependents.
config: resource lab_thing a {}
        data lab_data d { name = lab_thing.a.id }
        resource lab_thing b { name = data.lab_data.d.value }
order: apply data.lab_data.d after apply lab_thing.a
       apply lab_thing.a
       apply lab_thing.b after apply data.lab_data.d

# A data source of a check is read after all other changes.
config: resource lab_thing a {}
        resource lab_thing b {}
        check c { data lab_data d { name = "x" }; assert { condition = data.lab_data.d.value != ""; error_message = "Empty." } }
state: lab_thing.old
order: apply data.lab_data.d after apply lab_thing.a, apply lab_thing.b, destroy lab_thing.old
       apply lab_thing.a
       apply lab_thing.b
       destroy lab_thing.old
"#,
    )
    .await;
}

#[tokio::test]
async fn destroys_follow_those_of_their_dependents() {
    check(
        r#"
# A chain, in reverse.
config: locals {}
state: lab_thing.a
       lab_thing.b <lab_thing.a
       lab_thing.c <lab_thing.a <lab_thing.b
order: destroy lab_thing.a after destroy lab_thing.b
       destroy lab_thing.b after destroy lab_thing.c
       destroy lab_thing.c

# The recorded dependencies decide, not the configuration.
config: resource lab_thing a { count = 0 }
        resource lab_thing b { count = 0 }
state: lab_thing.a[0] <lab_thing.b
       lab_thing.b[0]
order: destroy lab_thing.a[0]
       destroy lab_thing.b[0] after destroy lab_thing.a[0]

# A dependent is updated after the destroy of the object that it no longer needs.
config: resource lab_thing b { name = "new" }
state: lab_thing.a
       lab_thing.b name=old <lab_thing.a
order: apply lab_thing.b after destroy lab_thing.a
       destroy lab_thing.a

# Under create_before_destroy it is updated first.
config: resource lab_thing b { name = "new" }
state: lab_thing.a !create_first
       lab_thing.b name=old <lab_thing.a
order: apply lab_thing.b
       destroy lab_thing.a after apply lab_thing.b

# Module instances are independent of each other.
config: module m { source = "./m"; count = 0 }
        @@m resource lab_thing a {}
            resource lab_thing b {}
state: module.m[0].lab_thing.a
       module.m[0].lab_thing.b <module.m.lab_thing.a
       module.m[1].lab_thing.a
       module.m[1].lab_thing.b <module.m.lab_thing.a
order: destroy module.m[0].lab_thing.a after destroy module.m[0].lab_thing.b
       destroy module.m[0].lab_thing.b
       destroy module.m[1].lab_thing.a after destroy module.m[1].lab_thing.b
       destroy module.m[1].lab_thing.b

# Deposed objects are destroyed after the dependents that may still use them.
config: resource lab_thing a { name = "new" }
        resource lab_thing b { name = lab_thing.a.name }
state: lab_thing.a name=old
       lab_thing.a id=old !deposed=0badcafe
       lab_thing.b name=old <lab_thing.a
order: apply lab_thing.a
       apply lab_thing.b after apply lab_thing.a
       destroy lab_thing.a (deposed 0badcafe) after apply lab_thing.b
"#,
    )
    .await;
}

#[tokio::test]
async fn replacements_destroy_first_unless_create_before_destroy_is_set() {
    check(
        r#"
# One resource.
config: resource lab_thing a { zone = "b" }
state: lab_thing.a zone=a
order: apply lab_thing.a after destroy lab_thing.a
       destroy lab_thing.a

# One resource, created first.
config: resource lab_thing a { zone = "b"; lifecycle { create_before_destroy = true } }
state: lab_thing.a zone=a
order: apply lab_thing.a
       destroy lab_thing.a after apply lab_thing.a

# A dependent that is updated.
config: resource lab_thing a { zone = "b" }
        resource lab_thing b { name = lab_thing.a.id }
state: lab_thing.a zone=a
       lab_thing.b name=lab_thing.a <lab_thing.a
order: apply lab_thing.a after destroy lab_thing.a
       apply lab_thing.b after apply lab_thing.a
       destroy lab_thing.a

# The old object stays until its dependent uses the new one.
config: resource lab_thing a { zone = "b"; lifecycle { create_before_destroy = true } }
        resource lab_thing b { name = lab_thing.a.id }
state: lab_thing.a zone=a
       lab_thing.b name=lab_thing.a <lab_thing.a
order: apply lab_thing.a
       apply lab_thing.b after apply lab_thing.a
       destroy lab_thing.a after apply lab_thing.b

# Both are replaced: destroyed in reverse, then created.
config: resource lab_thing a { zone = "b" }
        resource lab_thing b { zone = lab_thing.a.id }
state: lab_thing.a zone=a
       lab_thing.b zone=lab_thing.a <lab_thing.a
order: apply lab_thing.a after destroy lab_thing.a
       apply lab_thing.b after apply lab_thing.a
       destroy lab_thing.a after destroy lab_thing.b
       destroy lab_thing.b

# Both are replaced and created first: created in order, then destroyed in reverse.
config: resource lab_thing a { zone = "b"; lifecycle { create_before_destroy = true } }
        resource lab_thing b { zone = lab_thing.a.id; lifecycle { create_before_destroy = true } }
state: lab_thing.a zone=a
       lab_thing.b zone=lab_thing.a <lab_thing.a
order: apply lab_thing.a
       apply lab_thing.b after apply lab_thing.a
       destroy lab_thing.a after destroy lab_thing.b
       destroy lab_thing.b after apply lab_thing.b

# The dependent is destroyed first although its dependency is created first.
config: resource lab_thing a { zone = "b"; lifecycle { create_before_destroy = true } }
        resource lab_thing b { zone = lab_thing.a.id }
state: lab_thing.a zone=a
       lab_thing.b zone=lab_thing.a <lab_thing.a
order: apply lab_thing.a after destroy lab_thing.b
       apply lab_thing.b after apply lab_thing.a
       destroy lab_thing.a after apply lab_thing.b
       destroy lab_thing.b
"#,
    )
    .await;
}
