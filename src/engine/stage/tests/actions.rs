//! Actions on a declared object: created, updated, replaced, or left alone.

use crate::stage::testing::check;

#[tokio::test]
async fn action_follows_from_the_configuration_and_the_object() {
    check(
        r#"
# A declared resource without an object is created.
config: resource lab_thing a { name = "x" }
changes: + lab_thing.a

# An object as configured has no change.
state: lab_thing.a name=x
changes: none

# A changed argument is an update.
state: lab_thing.a name=y
values: ~ lab_thing.a: name "y" > "x"

# An argument that is no longer set becomes null.
state: lab_thing.a name=x size=3
values: ~ lab_thing.a: size 3 > none

# A computed attribute keeps its value when it is not configured.
state: lab_thing.a name=x note=kept
changes: none

# Attributes that the provider computes are known after apply.
values: + lab_thing.a: id none > ?, name none > "x", note none > ?

# A configured value of a computed attribute is known.
config: resource lab_thing a { note = "set" }
values: + lab_thing.a: id none > ?, note none > "set"

# A block that is added, and one that changes.
config: resource lab_thing a { rule { port = 2 }; rule { port = 3 } }
state: lab_thing.a rule=[{"port":1}]
values: ~ lab_thing.a: rule[0].port 1 > 2, rule[1].port none > 3

# One key of a map.
config: resource lab_thing a { tags = { k = "new", same = "s" } }
state: lab_thing.a tags={"k":"old","same":"s","gone":"g"}
values: ~ lab_thing.a: tags["gone"] "g" > none, tags["k"] "old" > "new"
"#,
    )
    .await;
}

#[tokio::test]
async fn replacement_follows_from_attribute_taint_request_or_trigger() {
    check(
        r#"
# An attribute that cannot be updated in place.
config: resource lab_thing a { zone = "b" }
state: lab_thing.a zone=a note=n
values: -/+ lab_thing.a (replace_because_cannot_update): id "lab_thing.a" > ?, note "n" > ?, zone! "a" > "b"

# The same attribute unchanged: an update in place is enough.
config: resource lab_thing a { zone = "a"; name = "new" }
state: lab_thing.a zone=a
changes: ~ lab_thing.a

# Setting and removing such an attribute replaces too.
config: resource lab_thing a { zone = "a" }
        resource lab_thing b {}
state: lab_thing.a
       lab_thing.b zone=b
changes: -/+ lab_thing.a (replace_because_cannot_update)
         -/+ lab_thing.b (replace_because_cannot_update)

# A tainted object is replaced even if it is as configured.
config: resource lab_thing a { name = "x" }
state: lab_thing.a name=x !tainted
values: -/+ lab_thing.a (replace_because_tainted): id "lab_thing.a" > ?, note none > ?

# Taint is the reason even if an attribute forces the replacement too.
config: resource lab_thing a { zone = "b" }
state: lab_thing.a zone=a !tainted
changes: -/+ lab_thing.a (replace_because_tainted)

# A requested replacement of an unchanged object.
config: resource lab_thing a { name = "x" }
state: lab_thing.a name=x
flags: -replace=lab_thing.a
changes: -/+ lab_thing.a (replace_by_request)

# The attribute is the better reason for a requested replacement.
config: resource lab_thing a { zone = "b" }
state: lab_thing.a zone=a
flags: -replace=lab_thing.a
changes: -/+ lab_thing.a (replace_because_cannot_update)

# A request for an object that does not exist yet changes nothing.
config: resource lab_thing a { name = "x" }
flags: -replace=lab_thing.a
changes: + lab_thing.a

# A request for one of several instances.
config: resource lab_thing a { count = 2 }
state: lab_thing.a[0]
       lab_thing.a[1]
flags: -replace=lab_thing.a[1]
changes: -/+ lab_thing.a[1] (replace_by_request)

# A request for an unknown instance is reported.
state: lab_thing.a[0]
       lab_thing.a[1]
flags: -replace=lab_thing.a[2]
says: warning: --replace matches nothing
changes: none

# A request for an unknown resource is reported.
flags: -replace=lab_thing.other
says: warning: --replace matches nothing
changes: + lab_thing.a[0]
         + lab_thing.a[1]

# A write-only argument is null on both sides, so the provider's word is enough.
config: resource lab_thing a { token = "rotate" }
state: lab_thing.a
values: -/+ lab_thing.a (replace_because_cannot_update): id "lab_thing.a" > ?, note none > ?

# Another write-only value is no change.
config: resource lab_thing a { token = "other" }
state: lab_thing.a
changes: none

# Only the first plan has the request's warnings, although a replacement is planned twice.
config: resource lab_thing a { name = "warned"; zone = "b" }
state: lab_thing.a name=warned zone=a
says: warning: Deprecated
changes: -/+ lab_thing.a (replace_because_cannot_update)
"#,
    )
    .await;
}

#[tokio::test]
async fn create_before_destroy_reverses_the_order_of_a_replacement() {
    check(
        r#"
# Without the argument the old object is destroyed first.
config: resource lab_thing a { zone = "b" }
state: lab_thing.a zone=a
changes: -/+ lab_thing.a (replace_because_cannot_update)

# With the argument the new object is created first.
config: resource lab_thing a { zone = "b"; lifecycle { create_before_destroy = true } }
state: lab_thing.a zone=a
changes: +/- lab_thing.a (replace_because_cannot_update)

# A dependency of such a resource is created first too, or its destroy would have to wait.
config: resource lab_thing low { zone = "b" }
        resource lab_thing high { name = lab_thing.low.name; lifecycle { create_before_destroy = true } }
state: lab_thing.low zone=a
       lab_thing.high <lab_thing.low
changes: +/- lab_thing.low (replace_because_cannot_update)

# A dependency through a local value counts.
config: resource lab_thing low { zone = "b" }
        locals { via = lab_thing.low.name }
        resource lab_thing high { name = local.via; lifecycle { create_before_destroy = true } }
state: lab_thing.low zone=a
       lab_thing.high <lab_thing.low
changes: +/- lab_thing.low (replace_because_cannot_update)

# A dependent of such a resource keeps its own order.
config: resource lab_thing low { zone = "b"; lifecycle { create_before_destroy = true } }
        resource lab_thing high { zone = lab_thing.low.zone }
state: lab_thing.low zone=a
       lab_thing.high zone=a <lab_thing.low
changes: +/- lab_thing.low (replace_because_cannot_update)
         -/+ lab_thing.high (replace_because_cannot_update)

# The state's order does not decide for a resource that is declared.
config: resource lab_thing a { zone = "b" }
state: lab_thing.a zone=a !create_first
changes: -/+ lab_thing.a (replace_because_cannot_update)

# Tainted objects are replaced in the configured order.
config: resource lab_thing a { lifecycle { create_before_destroy = true } }
state: lab_thing.a !tainted
changes: +/- lab_thing.a (replace_because_tainted)
"#,
    )
    .await;
}

#[tokio::test]
async fn replace_triggered_by_replaces_with_a_change_of_the_reference() {
    check(
        r#"
# Any change of the resource triggers.
config: resource lab_thing a { name = "new" }
        resource lab_thing b { lifecycle { replace_triggered_by = [lab_thing.a] } }
state: lab_thing.a name=old
       lab_thing.b
changes: ~ lab_thing.a
         -/+ lab_thing.b (replace_by_triggers)

# No change, no trigger.
state: lab_thing.a name=new
       lab_thing.b
changes: none

# A creation of the reference triggers.
state: lab_thing.b
changes: + lab_thing.a
         -/+ lab_thing.b (replace_by_triggers)

# A creation of the resource itself records the trigger as its reason.
state: lab_thing.a name=old
changes: ~ lab_thing.a
         + lab_thing.b (replace_by_triggers)

# Only the named attribute triggers.
config: resource lab_thing a { name = "new"; size = 1 }
        resource lab_thing b { lifecycle { replace_triggered_by = [lab_thing.a.size] } }
        resource lab_thing c { lifecycle { replace_triggered_by = [lab_thing.a.name] } }
state: lab_thing.a name=old size=1
       lab_thing.b
       lab_thing.c
changes: ~ lab_thing.a
         -/+ lab_thing.c (replace_by_triggers)

# An attribute that becomes unknown triggers.
config: resource lab_thing a { zone = "b" }
        resource lab_thing b { lifecycle { replace_triggered_by = [lab_thing.a.id] } }
state: lab_thing.a zone=a
       lab_thing.b
changes: -/+ lab_thing.a (replace_because_cannot_update)
         -/+ lab_thing.b (replace_by_triggers)

# Only the named instance triggers.
config: resource lab_thing a { count = 2; name = "n${count.index}" }
        resource lab_thing b { count = 2; lifecycle { replace_triggered_by = [lab_thing.a[count.index]] } }
state: lab_thing.a[0] name=n0
       lab_thing.a[1] name=old
       lab_thing.b[0]
       lab_thing.b[1]
changes: ~ lab_thing.a[1]
         -/+ lab_thing.b[1] (replace_by_triggers)

# A destroy of an instance does not trigger.
config: resource lab_thing a { count = 1 }
        resource lab_thing b { lifecycle { replace_triggered_by = [lab_thing.a] } }
state: lab_thing.a[0]
       lab_thing.a[1]
       lab_thing.b
changes: - lab_thing.a[1] (delete_because_count_index)

# The trigger explains more than taint.
config: resource lab_thing a { name = "new" }
        resource lab_thing b { lifecycle { replace_triggered_by = [lab_thing.a] } }
state: lab_thing.a name=old
       lab_thing.b !tainted
changes: ~ lab_thing.a
         -/+ lab_thing.b (replace_by_triggers)

# Replacements pass on along a chain of triggers.
config: resource lab_thing a { name = "new" }
        resource lab_thing b { lifecycle { replace_triggered_by = [lab_thing.a] } }
        resource lab_thing c { lifecycle { replace_triggered_by = [lab_thing.b] } }
state: lab_thing.a name=old
       lab_thing.b
       lab_thing.c
changes: ~ lab_thing.a
         -/+ lab_thing.b (replace_by_triggers)
         -/+ lab_thing.c (replace_by_triggers)

# Other expressions are no references.
config: resource lab_thing b { lifecycle { replace_triggered_by = [var.x] } }
        variable x { default = 1 }
says: error: Invalid reference in replace_triggered_by expression
      error: Invalid replace_triggered_by expression
"#,
    )
    .await;
}

#[tokio::test]
async fn ignore_changes_keeps_the_value_of_the_object() {
    check(
        r#"
# An ignored attribute keeps its value.
config: resource lab_thing a { name = "new"; size = 2; lifecycle { ignore_changes = [name] } }
state: lab_thing.a name=old size=1
values: ~ lab_thing.a: size 1 > 2

# A creation uses the configured value.
values: + lab_thing.a: id none > ?, name none > "new", note none > ?, size none > 2

# A replacement creates an object as configured.
config: resource lab_thing a { name = "new"; zone = "b"; lifecycle { ignore_changes = [name] } }
state: lab_thing.a name=old zone=a
values: -/+ lab_thing.a (replace_because_cannot_update): id "lab_thing.a" > ?, name "old" > "new", note none > ?, zone! "a" > "b"

# An ignored attribute does not force a replacement.
config: resource lab_thing a { zone = "b"; lifecycle { ignore_changes = [zone] } }
state: lab_thing.a zone=a
changes: none

# A tainted object is replaced by one as configured.
state: lab_thing.a zone=a !tainted
values: -/+ lab_thing.a (replace_because_tainted): id "lab_thing.a" > ?, note none > ?, zone "a" > "b"

# All attributes are ignored.
config: resource lab_thing a { name = "new"; zone = "b"; lifecycle { ignore_changes = all } }
state: lab_thing.a name=old zone=a size=3
changes: none

# One key of a map is ignored, whether it changes, is new, or is gone.
config: resource lab_thing a { tags = { k = "new", l = "new" }; lifecycle { ignore_changes = [tags["k"]] } }
state: lab_thing.a tags={"k":"old","l":"old"}
values: ~ lab_thing.a: tags["l"] "old" > "new"

# An ignored key that the object does not have is not added.
state: lab_thing.a tags={"l":"old"}
values: ~ lab_thing.a: tags["l"] "old" > "new"

# An ignored key that the configuration does not have stays.
config: resource lab_thing a { tags = { l = "new" }; lifecycle { ignore_changes = [tags["k"]] } }
state: lab_thing.a tags={"k":"old","l":"old"}
values: ~ lab_thing.a: tags["l"] "old" > "new"

# The argument of a block by its index.
config: resource lab_thing a { rule { port = 2 }; rule { port = 2 }; lifecycle { ignore_changes = [rule[0].port] } }
state: lab_thing.a rule=[{"port":1},{"port":1}]
values: ~ lab_thing.a: rule[1].port 1 > 2

# Drift of an ignored attribute stays.
config: resource lab_thing a { name = "x"; lifecycle { ignore_changes = [name] } }
state: lab_thing.a name=x ~name=drifted
changes: none
drift: ~ lab_thing.a: name "x" > "drifted"

# A provider on the legacy SDK plans the ignored attribute again, so it is restored.
config: resource lab_legacy a { name = "x"; lifecycle { ignore_changes = [name] } }
state: lab_legacy.a name=OLD
changes: none
"#,
    )
    .await;
}

#[tokio::test]
async fn sensitive_values_are_hidden_and_a_changed_mark_is_an_update() {
    check(
        r#"
# The schema hides an attribute.
config: resource lab_thing a { secret = "s" }
values: + lab_thing.a: id none > ?, note none > ?, secret none > ***

# A sensitive variable hides the attribute that it sets.
config: variable v { sensitive = true; default = "hidden" }
        resource lab_thing a { name = var.v }
values: + lab_thing.a: id none > ?, name none > ***, note none > ?

# The value stays the same and becomes sensitive: an update without a call of the provider.
state: lab_thing.a name=hidden
changes: ~ lab_thing.a

# The hidden value cannot be told from another one.
state: lab_thing.a name=other
values: ~ lab_thing.a: name *** > ***

# A resource with a sensitive argument passes the mark on to its references.
config: variable v { sensitive = true; default = "hidden" }
        resource lab_thing a { name = var.v }
        resource lab_thing b { name = lab_thing.a.name; size = 1 }
values: + lab_thing.a: id none > ?, name none > ***, note none > ?
        + lab_thing.b: id none > ?, name none > ***, note none > ?, size none > 1
"#,
    )
    .await;
}

#[tokio::test]
async fn wrong_answers_of_a_provider_end_the_plan() {
    check(
        r#"
# The provider refuses the configuration.
config: resource lab_thing a { name = "invalid" }
says: error: Invalid name

# The provider refuses the change.
config: resource lab_thing a { name = "refused" }
says: error: Refused

# The plan changes a configured value.
config: resource lab_thing a { name = "broken" }
says: error: Provider produced invalid plan

# The plan has no object.
config: resource lab_thing a { name = "none" }
says: error: Provider produced invalid plan

# Providers on the legacy SDK may change configured values.
config: resource lab_legacy a { name = "UPPER" }
values: + lab_legacy.a: id none > ?, name none > "upper", note none > ?

# A warning comes with the change.
config: resource lab_thing a { name = "warned" }
says: warning: Deprecated
changes: + lab_thing.a

# A call that fails.
config: resource lab_thing a { name = "x" }
state: lab_thing.a name=crash
says: error: Plugin call failed

# A wrong configuration of the provider.
config: provider lab { region = "nowhere" }
        resource lab_thing a {}
says: error: Invalid region

# An unsupported type.
config: resource lab_nothing a {}
says: error: Invalid resource type

# An unsupported argument.
config: resource lab_thing a { colour = "red" }
says: error: Unsupported argument
"#,
    )
    .await;
}
