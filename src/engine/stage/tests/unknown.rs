//! Values that are known only after apply: their effect on changes, instances and data sources.

use crate::stage::testing::check;

#[tokio::test]
async fn unknown_values_pass_on_to_dependents() {
    check(
        r#"
# A reference to a computed attribute of a new object.
config: resource lab_thing a {}
        resource lab_thing b { name = lab_thing.a.id }
values: + lab_thing.a: id none > ?, note none > ?
        + lab_thing.b: id none > ?, name none > ?, note none > ?

# The attribute of an existing object is known.
state: lab_thing.a
values: + lab_thing.b: id none > ?, name none > "lab_thing.a", note none > ?

# An object that depends on a new one is updated.
config: resource lab_thing a {}
        resource lab_thing b { name = lab_thing.a.id }
state: lab_thing.b name=old <lab_thing.a
values: + lab_thing.a: id none > ?, note none > ?
        ~ lab_thing.b: name "old" > ?

# A replacement makes the computed attributes unknown, an update does not.
config: resource lab_thing a { zone = "b" }
        resource lab_thing b { name = lab_thing.a.id }
state: lab_thing.a zone=a
       lab_thing.b name=lab_thing.a <lab_thing.a
values: -/+ lab_thing.a (replace_because_cannot_update): id "lab_thing.a" > ?, note none > ?, zone! "a" > "b"
        ~ lab_thing.b: name "lab_thing.a" > ?

# An update keeps them.
config: resource lab_thing a { name = "new" }
        resource lab_thing b { name = lab_thing.a.id }
state: lab_thing.a name=old
       lab_thing.b name=lab_thing.a <lab_thing.a
values: ~ lab_thing.a: name "old" > "new"

# An unknown value where a change forces a replacement may be another one.
config: resource lab_thing a {}
        resource lab_thing b { zone = lab_thing.a.id }
state: lab_thing.b zone=z <lab_thing.a
values: + lab_thing.a: id none > ?, note none > ?
        -/+ lab_thing.b (replace_because_cannot_update): id "lab_thing.b" > ?, note none > ?, zone! "z" > ?

# Part of a text makes the whole text unknown.
config: resource lab_thing a {}
        resource lab_thing b { name = "before-${lab_thing.a.id}" }
state: lab_thing.b name=before-old <lab_thing.a
values: + lab_thing.a: id none > ?, note none > ?
        ~ lab_thing.b: name "before-old" > ?

# One key of a map is unknown, the others are not.
config: resource lab_thing a {}
        resource lab_thing b { tags = { k = lab_thing.a.id, l = "known" } }
state: lab_thing.b tags={"k":"old","l":"known"} <lab_thing.a
values: + lab_thing.a: id none > ?, note none > ?
        ~ lab_thing.b: tags["k"] "old" > ?

# The number of blocks is known; null is no value to show.
config: resource lab_thing a {}
        resource lab_thing b { dynamic rule { for_each = [lab_thing.a.size, 2]; content { port = rule.value } } }
values: + lab_thing.a: id none > ?, note none > ?
        + lab_thing.b: id none > ?, note none > ?, rule[1].port none > 2

# Time is unknown, the time of the plan is not.
config: resource lab_thing a { name = timestamp() }
        resource lab_thing b { name = plantimestamp() == "" ? "no" : "yes" }
values: + lab_thing.a: id none > ?, name none > ?, note none > ?
        + lab_thing.b: id none > ?, name none > "yes", note none > ?

# Outputs of a module pass it on.
config: module m { source = "./m" }
        resource lab_thing b { name = module.m.id }
        @@m resource lab_thing a {}
            output id { value = lab_thing.a.id }
values: + module.m.lab_thing.a: id none > ?, note none > ?
        + lab_thing.b: id none > ?, name none > ?, note none > ?

# An object that will be destroyed is not visible.
config: resource lab_thing a { count = 1 }
        resource lab_thing b { size = length(lab_thing.a) }
state: lab_thing.a[0]
       lab_thing.a[1]
       lab_thing.b size=2 <lab_thing.a
values: - lab_thing.a[1] (delete_because_count_index): id "lab_thing.a[1]" > none
        ~ lab_thing.b: size 2 > 1
"#,
    )
    .await;
}

#[tokio::test]
async fn instances_must_be_known_while_planning() {
    check(
        r#"
# The number of instances.
config: resource lab_thing a {}
        resource lab_thing b { count = length(lab_thing.a.id) }
says: error: Invalid count argument

# The same number is known once the object exists.
state: lab_thing.a id=xy
changes: + lab_thing.b[0]
         + lab_thing.b[1]

# The keys of for_each.
config: resource lab_thing a {}
        resource lab_thing b { for_each = toset([lab_thing.a.id]) }
says: error: Invalid for_each argument

# The values behind known keys may be unknown.
config: resource lab_thing a {}
        resource lab_thing b { for_each = { k = lab_thing.a.id }; name = each.value }
values: + lab_thing.a: id none > ?, note none > ?
        + lab_thing.b["k"]: id none > ?, name none > ?, note none > ?

# Enabled.
config: resource lab_thing a {}
        resource lab_thing b { lifecycle { enabled = lab_thing.a.id == "x" } }
says: error: Invalid enabled argument

# A module call.
config: resource lab_thing a {}
        module m { source = "./m"; count = length(lab_thing.a.id) }
        @@m resource lab_thing b {}
says: error: Invalid count argument

# With a target the dependency can be deployed first.
config: resource lab_thing a {}
        resource lab_thing b { count = length(lab_thing.a.id) }
flags: -target=lab_thing.a
changes: + lab_thing.a
"#,
    )
    .await;
}

#[tokio::test]
async fn data_sources_are_read_as_soon_as_their_configuration_is_known() {
    check(
        r#"
# While planning: its value is known, and enters the state without a change.
config: data lab_data d { name = "x" }
        resource lab_thing a { name = data.lab_data.d.value }
values: + lab_thing.a: id none > ?, name none > "data:x", note none > ?
edits: put data.lab_data.d

# An unchanged value is not written again.
state: data.lab_data.d name=x value=data:x
       lab_thing.a name=data:x <data.lab_data.d
changes: none
edits: none

# With the deploy, if its configuration is unknown.
config: resource lab_thing a {}
        data lab_data d { name = lab_thing.a.id }
        resource lab_thing b { name = data.lab_data.d.value }
values: + lab_thing.a: id none > ?, note none > ?
        <= data.lab_data.d (read_because_config_unknown): name none > ?, value none > ?
        + lab_thing.b: id none > ?, name none > ?, note none > ?

# With the deploy, if it refers to a resource with a pending change, even to a known attribute.
config: resource lab_thing a { name = "new" }
        data lab_data d { name = lab_thing.a.name }
state: lab_thing.a name=old
changes: ~ lab_thing.a
         <= data.lab_data.d (read_because_dependency_pending)

# While planning, if that resource does not change.
state: lab_thing.a name=new
changes: none

# And if the only change is the destroy of a deposed object.
state: lab_thing.a name=new
       lab_thing.a id=old !deposed=0badcafe
changes: - lab_thing.a (deposed 0badcafe)

# With the deploy, if a resource in depends_on has a pending change.
config: resource lab_thing a { name = "new" }
        data lab_data d { name = "x"; depends_on = [lab_thing.a] }
state: lab_thing.a name=old
changes: ~ lab_thing.a
         <= data.lab_data.d (read_because_dependency_pending)

# A branch that is not taken refers to it all the same.
config: resource lab_thing a {}
        data lab_data d { name = true ? "x" : lab_thing.a.id }
changes: + lab_thing.a
         <= data.lab_data.d (read_because_dependency_pending)

# So does its number of instances.
config: resource lab_thing a { name = "x" }
        data lab_data d { for_each = toset([lab_thing.a.name]); name = "x" }
changes: + lab_thing.a
         <= data.lab_data.d["x"] (read_because_dependency_pending)

# And a condition.
config: resource lab_thing a { name = "x" }
        data lab_data d { name = "x"; lifecycle { precondition { condition = lab_thing.a.name != ""; error_message = "No." } } }
changes: + lab_thing.a
         <= data.lab_data.d (read_because_dependency_pending)

# A variable of a module in between: only direct references wait.
config: resource lab_thing a { name = "x" }
        module m { source = "./m"; in = lab_thing.a.name }
        @@m variable in {}
            data lab_data d { name = var.in }
changes: + lab_thing.a

# An output of a module in between.
config: module m { source = "./m" }
        data lab_data d { name = module.m.out }
        @@m resource lab_thing a { name = "x" }
            output out { value = lab_thing.a.name }
changes: + module.m.lab_thing.a

# A local value in between.
config: resource lab_thing a { name = "new" }
        locals { via = lab_thing.a.name }
        data lab_data d { name = local.via }
state: lab_thing.a name=old
changes: ~ lab_thing.a

# With a condition of its own, it waits for everything that it depends on.
config: resource lab_thing a { name = "new" }
        locals { via = lab_thing.a.name }
        data lab_data d { name = local.via; lifecycle { postcondition { condition = self.value != ""; error_message = "Empty." } } }
state: lab_thing.a name=old
changes: ~ lab_thing.a
         <= data.lab_data.d (read_because_dependency_pending)

# A module's depends_on holds for the data sources in it.
config: resource lab_thing a { name = "new" }
        module m { source = "./m"; depends_on = [lab_thing.a] }
        @@m data lab_data d { name = "x" }
state: lab_thing.a name=old
changes: ~ lab_thing.a
         <= module.m.data.lab_data.d (read_because_dependency_pending)

# A data source of a check is read again by the deploy.
config: check c { data lab_data d { name = "x" }; assert { condition = data.lab_data.d.value != ""; error_message = "Empty." } }
changes: <= data.lab_data.d (read_because_check_nested)
checks: pass check.c

# A failed read.
config: data lab_data d { name = "missing" }
says: error: Not found

# A failed read of a check is a warning.
config: check c { data lab_data d { name = "missing" }; assert { condition = data.lab_data.d.value != ""; error_message = "Empty." } }
says: warning: Not found
checks: fail check.c

# A data source is read although the stage does not refresh.
config: data lab_data d { name = "x" }
flags: -refresh=false
calls: read-data data.lab_data.d

# An invalid configuration.
config: data lab_data d { name = "invalid" }
says: error: Invalid name
"#,
    )
    .await;
}
