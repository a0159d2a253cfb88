//! Dependencies of changes: direct ones by instance as far as known, and all of them by resource.

use crate::stage::testing::check;

#[tokio::test]
async fn needs_name_the_instances_that_an_expression_uses() {
    check(
        r#"
# An attribute of a resource.
config: resource lab_thing a {}
        resource lab_thing b { name = lab_thing.a.id }
needs: lab_thing.b needs lab_thing.a

# A module as a whole waits for its arguments, also for one that nothing in it uses.
config: resource lab_thing a {}
        module m { source = "./m"; in = lab_thing.a.id }
        resource lab_thing b { depends_on = [module.m] }
        @@m variable in {}
            resource lab_thing c {}
needs: lab_thing.b needs lab_thing.a, module.m.lab_thing.c

# A constant key.
config: resource lab_thing a { count = 2 }
        resource lab_thing b { name = lab_thing.a[0].id }
needs: lab_thing.b needs lab_thing.a[0]

# The index of the instance itself.
config: resource lab_thing a { count = 2 }
        resource lab_thing b { count = 2; name = lab_thing.a[count.index].id }
needs: lab_thing.b[0] needs lab_thing.a[0]
       lab_thing.b[1] needs lab_thing.a[1]

# Its key.
config: resource lab_thing a { for_each = toset(["x", "y"]) }
        resource lab_thing b { for_each = toset(["x"]); name = lab_thing.a[each.key].id }
needs: lab_thing.b["x"] needs lab_thing.a["x"]

# A chained for_each pairs equal keys.
config: resource lab_thing a { for_each = toset(["x", "y"]) }
        resource lab_thing b { for_each = lab_thing.a; name = each.value.id }
needs: lab_thing.b["x"] needs lab_thing.a["x"]
       lab_thing.b["y"] needs lab_thing.a["y"]

# A key that is known while planning.
config: resource lab_thing a { count = 2 }
        resource lab_thing b { name = lab_thing.a[length("x") - 1].id }
needs: lab_thing.b needs lab_thing.a[0]

# An unknown key may be any instance.
config: resource lab_thing a { count = 2 }
        resource lab_thing b {}
        resource lab_thing c { name = lab_thing.a[tonumber(lab_thing.b.id)].id }
needs: lab_thing.c needs lab_thing.a, lab_thing.b

# A splat uses all instances.
config: resource lab_thing a { count = 2 }
        resource lab_thing b { name = join(",", lab_thing.a[*].id) }
needs: lab_thing.b needs lab_thing.a

# Through a local value and a data source.
config: resource lab_thing a {}
        data lab_data d { name = lab_thing.a.id }
        locals { l = data.lab_data.d.value }
        resource lab_thing b { name = local.l }
needs: data.lab_data.d needs lab_thing.a
       lab_thing.b needs data.lab_data.d, lab_thing.a

# By key through a local value that is the resource.
config: resource lab_thing a { count = 2 }
        locals { l = lab_thing.a }
        resource lab_thing b { count = 2; name = local.l[count.index].id }
needs: lab_thing.b[0] needs lab_thing.a[0]
       lab_thing.b[1] needs lab_thing.a[1]

# By key through a local value with an element for each instance.
config: resource lab_thing a { for_each = toset(["x", "y"]) }
        resource lab_thing c {}
        locals { l = { for k, v in lab_thing.a : k => "${v.id} ${lab_thing.c.id}" } }
        resource lab_thing b { for_each = toset(["x"]); name = local.l[each.key] }
        resource lab_thing d { name = local.l.y }
needs: lab_thing.b["x"] needs lab_thing.a["x"], lab_thing.c
       lab_thing.d needs lab_thing.a["y"], lab_thing.c

# Elements under other keys may belong to any instance.
config: resource lab_thing a { for_each = toset(["x", "y"]) }
        locals { l = { for k, v in lab_thing.a : "${k}1" => v.id } }
        resource lab_thing b { name = local.l.x1 }
needs: lab_thing.b needs lab_thing.a

# Through an argument and an output of a module.
config: resource lab_thing a {}
        module m { source = "./m"; in = lab_thing.a.id }
        resource lab_thing b { name = module.m.out }
        @@m variable in {}
            output out { value = var.in }
needs: lab_thing.b needs lab_thing.a

# Inside of a module, by its instance.
config: module m { source = "./m"; count = 2 }
        @@m resource lab_thing a {}
            resource lab_thing b { name = lab_thing.a.id }
needs: module.m[0].lab_thing.b needs module.m[0].lab_thing.a
       module.m[1].lab_thing.b needs module.m[1].lab_thing.a

# The number of instances is a need of each instance.
config: resource lab_thing a { size = 1 }
        resource lab_thing b { count = lab_thing.a.size }
needs: lab_thing.b[0] needs lab_thing.a

# The number of module instances too.
config: resource lab_thing a { size = 1 }
        module m { source = "./m"; count = lab_thing.a.size }
        @@m resource lab_thing b {}
needs: module.m[0].lab_thing.b needs lab_thing.a

# depends_on of a resource and of a module.
config: resource lab_thing a {}
        resource lab_thing b { depends_on = [lab_thing.a] }
        module m { source = "./m"; depends_on = [lab_thing.b] }
        @@m resource lab_thing c {}
needs: lab_thing.b needs lab_thing.a
       module.m.lab_thing.c needs lab_thing.b

# The configuration of its provider.
config: resource lab_thing a {}
        provider lab { alias = "later"; region = lab_thing.a.id }
        resource lab_thing b { provider = lab.later }
needs: lab_thing.b needs lab_thing.a

# A condition.
config: resource lab_thing a {}
        resource lab_thing b { lifecycle { precondition { condition = lab_thing.a.name == null; error_message = "No." } } }
needs: lab_thing.b needs lab_thing.a

# Both arms of a condition.
config: resource lab_thing a {}
        resource lab_thing b {}
        variable v { default = true }
        resource lab_thing c { name = var.v ? lab_thing.a.id : lab_thing.b.id }
needs: lab_thing.c needs lab_thing.a, lab_thing.b
"#,
    )
    .await;
}

#[tokio::test]
async fn recorded_dependencies_are_transitive_and_name_resources() {
    check(
        r#"
# A chain.
config: resource lab_thing a { count = 2 }
        resource lab_thing b { name = lab_thing.a[0].id }
        resource lab_thing c { name = lab_thing.b.id }
depends: lab_thing.b on lab_thing.a
         lab_thing.c on lab_thing.a, lab_thing.b

# Inside of a module, without keys.
config: module m { source = "./m"; count = 1 }
        @@m resource lab_thing a {}
            resource lab_thing b { name = lab_thing.a.id }
depends: module.m[0].lab_thing.b on module.m.lab_thing.a

# Data sources count.
config: data lab_data d { name = "x" }
        resource lab_thing a { name = data.lab_data.d.value }
depends: lab_thing.a on data.lab_data.d

# An unchanged object takes over its new dependencies at once.
config: resource lab_thing a {}
        resource lab_thing b { depends_on = [lab_thing.a] }
state: lab_thing.a
       lab_thing.b
changes: none
edits: put lab_thing.b

# A changed object takes them over with its operation.
config: resource lab_thing a {}
        resource lab_thing b { name = "new"; depends_on = [lab_thing.a] }
state: lab_thing.a
       lab_thing.b name=old
changes: ~ lab_thing.b
edits: none

# A destroy has the recorded ones.
config: locals {}
state: lab_thing.a
       lab_thing.b <lab_thing.a
depends: lab_thing.b on lab_thing.a

# A destroy of a declared object has both.
config: resource lab_thing a {}
        resource lab_thing b {}
        resource lab_thing c { name = lab_thing.b.id }
state: lab_thing.a
       lab_thing.b
       lab_thing.c name=lab_thing.b <lab_thing.a
flags: -destroy
depends: lab_thing.c on lab_thing.a, lab_thing.b
"#,
    )
    .await;
}

#[tokio::test]
async fn relevant_attributes_contribute_to_changes_and_outputs() {
    check(
        r#"
# The attribute that a changed resource uses.
config: resource lab_thing a { name = "x" }
        resource lab_thing b { name = lab_thing.a.name }
state: lab_thing.a name=x
relevant: lab_thing.a ["name"]

# Through a local value and a module.
config: resource lab_thing a { name = "x" }
        module m { source = "./m"; in = lab_thing.a.name }
        @@m variable in {}
            locals { l = var.in }
            resource lab_thing b { name = local.l }
state: lab_thing.a name=x
relevant: lab_thing.a ["name"]

# An output that changes.
config: resource lab_thing a { tags = { k = "v" } }
        output o { value = lab_thing.a.tags["k"] }
state: lab_thing.a tags={"k":"v"}
relevant: lab_thing.a ["tags","k"]

# An unchanged output uses nothing.
state: lab_thing.a tags={"k":"v"}
       output.o="v"
relevant: none

# Unchanged resources use nothing.
config: resource lab_thing a { name = "x" }
        resource lab_thing b { name = lab_thing.a.name }
state: lab_thing.a name=x
       lab_thing.b name=x
relevant: none
"#,
    )
    .await;
}
