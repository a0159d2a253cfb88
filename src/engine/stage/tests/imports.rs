//! Objects that the state does not have yet and that the provider imports.

use crate::stage::testing::check;

#[tokio::test]
async fn import_is_followed_by_a_plan_of_the_imported_object() {
    check(
        r#"
# An object as configured is only imported.
config: resource lab_thing a { name = "x" }
        import { to = lab_thing.a; id = "x" }
changes: = lab_thing.a (import "x")
calls: import lab_thing.a
       plan lab_thing.a
       read lab_thing.a

# It may be updated after the import.
config: resource lab_thing a { name = "new" }
        import { to = lab_thing.a; id = "x" }
values: ~ lab_thing.a (import "x"): name "x" > "new"

# Or replaced.
config: resource lab_thing a { name = "x"; zone = "b" }
        import { to = lab_thing.a; id = "x" }
state: remote x ~zone=a
changes: -/+ lab_thing.a (import "x") (replace_because_cannot_update)

# The read after the import completes the object.
config: resource lab_thing a { name = "x" }
        import { to = lab_thing.a; id = "x" }
state: remote x ~size=3
values: ~ lab_thing.a (import "x"): size 3 > none

# Once the state has the object, the block has no effect.
state: lab_thing.a name=x
changes: none

# Even with another id.
state: lab_thing.a id=other name=x
changes: none

# One of several instances.
config: resource lab_thing a { count = 2; name = "n${count.index}" }
        import { to = lab_thing.a[1]; id = "n1" }
changes: + lab_thing.a[0]
         = lab_thing.a[1] (import "n1")

# An import for each instance.
config: resource lab_thing a { for_each = toset(["x", "y"]); name = each.key }
        import { for_each = toset(["x", "y"]); to = lab_thing.a[each.key]; id = each.key }
changes: = lab_thing.a["x"] (import "x")
         = lab_thing.a["y"] (import "y")

# Into a module.
config: module m { source = "./m" }
        import { to = module.m.lab_thing.a; id = "x" }
        @@m resource lab_thing a { name = "x" }
changes: = module.m.lab_thing.a (import "x")

# The id may be an expression.
config: variable v { default = "x" }
        resource lab_thing a { name = "x" }
        import { to = lab_thing.a; id = var.v }
changes: = lab_thing.a (import "x")

# A destroy imports nothing.
config: resource lab_thing a { name = "x" }
        import { to = lab_thing.a; id = "x" }
flags: -destroy
changes: none

# A moved object is in the state, so its new address is not imported.
config: resource lab_thing a { name = "x" }
        import { to = lab_thing.a; id = "x" }
        moved { from = lab_thing.old; to = lab_thing.a }
state: lab_thing.old name=x
changes: = lab_thing.a <- lab_thing.old
"#,
    )
    .await;
}

#[tokio::test]
async fn imports_that_are_not_possible_are_errors() {
    check(
        r#"
# The provider finds no object with the id.
config: resource lab_thing a {}
        import { to = lab_thing.a; id = "x" }
state: remote x !gone
says: error: Cannot import non-existent remote object

# It finds several.
config: resource lab_thing a {}
        import { to = lab_thing.a; id = "several" }
says: error: Import did not find one object

# It finds an object of another type.
config: resource lab_thing a {}
        import { to = lab_thing.a; id = "mistyped" }
says: error: Import found another type of object

# The resource is not declared.
config: import { to = lab_thing.a; id = "x" }
says: error: Configuration for import target does not exist

# The instance is not declared.
config: resource lab_thing a { count = 1 }
        import { to = lab_thing.a[1]; id = "x" }
says: error: Configuration for import target does not exist

# The id is known only after apply.
config: resource lab_thing a {}
        resource lab_thing b {}
        import { to = lab_thing.a; id = lab_thing.b.id }
says: error: Invalid import id argument
"#,
    )
    .await;
}
