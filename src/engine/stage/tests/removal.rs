//! Objects that are no longer declared or no longer wanted: destroyed, forgotten, or protected.

use crate::stage::testing::check;

#[tokio::test]
async fn undeclared_objects_are_destroyed_with_the_reason() {
    check(
        r#"
# The resource is no longer declared.
config: locals {}
state: lab_thing.a name=x
values: - lab_thing.a (delete_because_no_resource_config): id "lab_thing.a" > none, name "x" > none

# An index out of range of count.
config: resource lab_thing a { count = 1 }
state: lab_thing.a[0]
       lab_thing.a[1]
       lab_thing.a[7]
changes: - lab_thing.a[1] (delete_because_count_index)
         - lab_thing.a[7] (delete_because_count_index)

# A key that is no longer in for_each.
config: resource lab_thing a { for_each = toset(["x"]) }
state: lab_thing.a["x"]
       lab_thing.a["y"]
changes: - lab_thing.a["y"] (delete_because_each_key)

# From count to for_each: no key stays.
config: resource lab_thing a { for_each = toset(["x"]) }
state: lab_thing.a[0]
changes: - lab_thing.a[0] (delete_because_wrong_repetition)
         + lab_thing.a["x"]

# From a single instance to for_each.
state: lab_thing.a
changes: - lab_thing.a (delete_because_wrong_repetition)
         + lab_thing.a["x"]

# From for_each to a single instance.
config: resource lab_thing a {}
state: lab_thing.a["x"]
changes: + lab_thing.a
         - lab_thing.a["x"] (delete_because_wrong_repetition)

# Disabled.
config: resource lab_thing a { lifecycle { enabled = false } }
state: lab_thing.a
changes: - lab_thing.a (delete_because_enabled_false)

# A module instance that is no longer called.
config: module m { source = "./m"; count = 1 }
        @@m resource lab_thing a {}
state: module.m[0].lab_thing.a
       module.m[1].lab_thing.a
changes: - module.m[1].lab_thing.a (delete_because_no_module)

# A module that is no longer called at all: its resources have no configuration.
config: locals {}
state: module.m.lab_thing.a
changes: - module.m.lab_thing.a (delete_because_no_resource_config)

# A resource that is no longer in a module with that instance.
config: module m { source = "./m" }
        @@m locals {}
state: module.m.lab_thing.a
changes: - module.m.lab_thing.a (delete_because_no_resource_config)

# A moved object whose target is not declared.
config: moved { from = lab_thing.old; to = lab_thing.new }
state: lab_thing.old
changes: - lab_thing.new <- lab_thing.old (delete_because_no_move_target)

# An object that a read no longer finds needs no destroy.
config: locals {}
state: lab_thing.a !gone
changes: none
drift: - lab_thing.a: id "lab_thing.a" > none
edits: remove lab_thing.a

# A data source is dropped from the state without a change.
config: locals {}
state: data.lab_data.a name=x value=y
changes: none
edits: remove data.lab_data.a

# An object of a type that the provider no longer has.
config: locals {}
state: lab_gone.a
says: error: Unsupported resource type
"#,
    )
    .await;
}

#[tokio::test]
async fn deposed_objects_are_destroyed() {
    check(
        r#"
# A deposed object of a declared instance.
config: resource lab_thing a {}
state: lab_thing.a
       lab_thing.a id=old !deposed=0badcafe
changes: - lab_thing.a (deposed 0badcafe)

# Both objects of an undeclared resource, the current one with its reason.
config: locals {}
state: lab_thing.a
       lab_thing.a id=old !deposed=0badcafe
changes: - lab_thing.a (delete_because_no_resource_config)
         - lab_thing.a (deposed 0badcafe)

# Several deposed objects of an instance without a current one.
config: resource lab_thing a {}
state: lab_thing.a id=o1 !deposed=00000001
       lab_thing.a id=o2 !deposed=00000002
changes: + lab_thing.a
         - lab_thing.a (deposed 00000001)
         - lab_thing.a (deposed 00000002)

# Deposed objects only, of an undeclared resource.
config: locals {}
state: lab_thing.a id=old !deposed=0badcafe
changes: - lab_thing.a (deposed 0badcafe)

# A deposed object that a read no longer finds.
config: resource lab_thing a {}
state: lab_thing.a
       lab_thing.a id=old !deposed=0badcafe !gone
changes: none
drift: - lab_thing.a (deposed 0badcafe): id "old" > none
edits: remove lab_thing.a (deposed 0badcafe)

# Deposed objects move with the current one.
config: resource lab_thing b {}
        moved { from = lab_thing.a; to = lab_thing.b }
state: lab_thing.a
       lab_thing.a id=old !deposed=0badcafe
changes: = lab_thing.b <- lab_thing.a
         - lab_thing.b (deposed 0badcafe) <- lab_thing.a
"#,
    )
    .await;
}

#[tokio::test]
async fn removed_blocks_and_lifecycle_destroy_forget_objects() {
    check(
        r#"
# A removed block forgets the object unless it says otherwise.
config: removed { from = lab_thing.a; lifecycle { destroy = false } }
state: lab_thing.a
changes: × lab_thing.a (delete_because_no_resource_config)

# A removed block may destroy.
config: removed { from = lab_thing.a; lifecycle { destroy = true } }
state: lab_thing.a
changes: - lab_thing.a (delete_because_no_resource_config)

# It applies to all instances of the resource.
config: removed { from = lab_thing.a; lifecycle { destroy = false } }
state: lab_thing.a[0]
       lab_thing.a[1]
       lab_thing.b
changes: × lab_thing.a[0] (delete_because_no_resource_config)
         × lab_thing.a[1] (delete_because_no_resource_config)
         - lab_thing.b (delete_because_no_resource_config)

# A removed module.
config: removed { from = module.m; lifecycle { destroy = false } }
state: module.m.lab_thing.a
       module.m.lab_thing.a id=old !deposed=0badcafe
changes: × module.m.lab_thing.a (delete_because_no_resource_config)
         × module.m.lab_thing.a (deposed 0badcafe)

# The resource is still declared.
config: resource lab_thing a {}
        removed { from = lab_thing.a; lifecycle { destroy = false } }
state: lab_thing.a
says: error: Removed resource still exists

# An instance that is forgotten because its resource says so.
config: resource lab_thing a { count = 1; lifecycle { destroy = false } }
state: lab_thing.a[0]
       lab_thing.a[1]
changes: × lab_thing.a[1] (forgot_because_lifecycle_destroy_in_config)

# An undeclared object remembers the argument of its resource.
config: locals {}
state: lab_thing.a !skip_destroy
changes: × lab_thing.a (forgot_because_lifecycle_destroy_in_state)

# The declaration wins over the state.
config: resource lab_thing a { count = 0 }
state: lab_thing.a[0] !skip_destroy
changes: - lab_thing.a[0] (delete_because_count_index)

# A replacement with destroy = false forgets the old object.
config: resource lab_thing a { zone = "b"; lifecycle { destroy = false } }
state: lab_thing.a zone=a
changes: -/+ lab_thing.a (replace_because_cannot_update)
"#,
    )
    .await;
}

#[tokio::test]
async fn prevent_destroy_refuses_destroys_and_replacements() {
    check(
        r#"
# A replacement.
config: resource lab_thing a { zone = "b"; lifecycle { prevent_destroy = true } }
state: lab_thing.a zone=a
says: error: Instance cannot be destroyed

# An update is allowed.
config: resource lab_thing a { name = "new"; lifecycle { prevent_destroy = true } }
state: lab_thing.a name=old
changes: ~ lab_thing.a

# A destroy of everything.
state: lab_thing.a name=new
flags: -destroy
says: error: Instance cannot be destroyed

# An instance that is no longer declared.
config: resource lab_thing a { count = 1; lifecycle { prevent_destroy = true } }
state: lab_thing.a[0]
       lab_thing.a[1]
says: error: Instance cannot be destroyed

# A resource that is no longer declared has no argument that protects it.
config: locals {}
state: lab_thing.a
changes: - lab_thing.a (delete_because_no_resource_config)

# The value may be an expression.
config: variable keep { default = false }
        resource lab_thing a { zone = "b"; lifecycle { prevent_destroy = var.keep } }
state: lab_thing.a zone=a
changes: -/+ lab_thing.a (replace_because_cannot_update)

# The same expression with another value.
state: lab_thing.a zone=a
flags: -var=keep=true
says: error: Instance cannot be destroyed

# A value known only after apply.
config: resource lab_thing other {}
        resource lab_thing a { zone = "b"; lifecycle { prevent_destroy = lab_thing.other.note == "x" } }
state: lab_thing.a zone=a
says: error: Invalid value for prevent_destroy

# Unknown is no error for a change that destroys nothing.
state: lab_thing.a zone=b
changes: + lab_thing.other

# An invalid value is an error for every change.
config: resource lab_thing a { lifecycle { prevent_destroy = "maybe" } }
says: error: Invalid value for prevent_destroy

# Forgetting destroys nothing.
config: resource lab_thing a { count = 0; lifecycle { prevent_destroy = true; destroy = false } }
state: lab_thing.a[0]
changes: × lab_thing.a[0] (forgot_because_lifecycle_destroy_in_config)

# An object that no longer exists needs no protection.
config: resource lab_thing a { count = 0; lifecycle { prevent_destroy = true } }
state: lab_thing.a[0] !gone
changes: none

# A deposed object is not protected.
config: resource lab_thing a { lifecycle { prevent_destroy = true } }
state: lab_thing.a
       lab_thing.a id=old !deposed=0badcafe
changes: - lab_thing.a (deposed 0badcafe)
"#,
    )
    .await;
}

#[tokio::test]
async fn destroy_mode_destroys_every_object_of_the_state() {
    check(
        r#"
# The mode is the reason, so the changes have none.
config: resource lab_thing a { name = "new" }
        resource lab_thing b {}
state: lab_thing.a name=old
       lab_thing.orphan
flags: -destroy
changes: - lab_thing.a
         - lab_thing.orphan

# Nothing to destroy.
flags: -destroy
changes: none

# Without a state nothing is read, not even a data source that would fail.
config: data lab_data d { name = "missing" }
        resource lab_thing a { name = data.lab_data.d.value }
flags: -destroy
changes: none
calls: none

# Deposed objects too.
config: resource lab_thing a {}
state: lab_thing.a
       lab_thing.a id=old !deposed=0badcafe
flags: -destroy
changes: - lab_thing.a
         - lab_thing.a (deposed 0badcafe)

# Objects that no longer exist are dropped from the state.
state: lab_thing.a !gone
flags: -destroy
changes: none
edits: remove lab_thing.a

# The argument destroy = false keeps objects.
config: resource lab_thing a { lifecycle { destroy = false } }
state: lab_thing.a
flags: -destroy
changes: × lab_thing.a (forgot_because_lifecycle_destroy_in_config)

# A removed block does not.
config: removed { from = lab_thing.a; lifecycle { destroy = false } }
state: lab_thing.a
flags: -destroy
says: warning: The removed block has no effect in destroy mode
changes: - lab_thing.a

# Outputs are removed.
config: output o { value = "x" }
state: output.o="x"
       lab_thing.a
flags: -destroy
changes: - lab_thing.a
outputs: - o: "x" > none

# Failing conditions do not stop it.
config: locals { no = false; yes = true }
        resource lab_thing a { lifecycle { precondition { condition = local.no; error_message = "No." } } }
state: lab_thing.a
flags: -destroy
changes: - lab_thing.a

# A destroy replaces nothing.
state: lab_thing.a
flags: -destroy -replace=lab_thing.a
says: error: --replace cannot be combined with this mode
"#,
    )
    .await;
}
