//! Stages that targets or excludes limit to a part of the configuration.

use crate::stage::testing::check;

#[tokio::test]
async fn targets_include_their_dependencies() {
    check(
        r#"
# The target and the resources that it needs.
config: resource lab_thing low {}
        resource lab_thing mid { name = lab_thing.low.id }
        resource lab_thing high { name = lab_thing.mid.id }
        resource lab_thing apart {}
flags: -target=lab_thing.mid
changes: + lab_thing.low
         + lab_thing.mid

# Several targets.
flags: -target=lab_thing.low -target=lab_thing.apart
changes: + lab_thing.apart
         + lab_thing.low

# A dependency through a local value, an output and a variable of modules.
config: resource lab_thing low {}
        locals { l = lab_thing.low.id }
        module m { source = "./m"; in = local.l }
        resource lab_thing high { name = module.m.out }
        @@m variable in {}
            resource lab_thing a { name = var.in }
            resource lab_thing b {}
            output out { value = lab_thing.a.id }
flags: -target=lab_thing.high
changes: + lab_thing.low
         + module.m.lab_thing.a
         + lab_thing.high

# A module with all of its resources.
flags: -target=module.m
changes: + lab_thing.low
         + module.m.lab_thing.a
         + module.m.lab_thing.b

# What an unchanged target needs; c does not change.
config: resource lab_thing a { name = "new" }
        resource lab_thing b { name = "new"; depends_on = [lab_thing.a] }
        resource lab_thing c { depends_on = [lab_thing.b] }
        resource lab_thing d { name = "new" }
state: lab_thing.a name=old
       lab_thing.b name=old <lab_thing.a
       lab_thing.c <lab_thing.b
       lab_thing.d name=old
flags: -target=lab_thing.c
changes: ~ lab_thing.a
         ~ lab_thing.b

# What a data source needs that is read while planning.
config: resource lab_thing a { name = "new" }
        locals { name = lab_thing.a.name }
        data lab_data d { name = local.name }
        resource lab_thing b { name = "new" }
state: lab_thing.a name=old
       lab_thing.b name=old
flags: -target=data.lab_data.d
changes: ~ lab_thing.a

# Of the instances of a resource, an unchanged target needs one.
config: resource lab_thing a { count = 2; name = "new" }
        resource lab_thing b { zone = lab_thing.a[0].id }
state: lab_thing.a[0] id=a name=old
       lab_thing.a[1] name=old
       lab_thing.b zone=a <lab_thing.a
flags: -target=lab_thing.b
changes: ~ lab_thing.a[0]
         ~ lab_thing.a[1]
deselected: lab_thing.a[1]

# A replacement outside of the targets does not make its needs create first.
config: resource lab_thing a { zone = "new" }
        resource lab_thing b { zone = lab_thing.a.id; lifecycle { create_before_destroy = true } }
state: lab_thing.a zone=old
       lab_thing.b zone=old <lab_thing.a
flags: -target=lab_thing.a
changes: -/+ lab_thing.a (replace_because_cannot_update)

# Nor does an excluded one.
state: lab_thing.a zone=old
       lab_thing.b zone=old <lab_thing.a
flags: -exclude=lab_thing.b
changes: -/+ lab_thing.a (replace_because_cannot_update)

# One of the targets does.
state: lab_thing.a zone=old
       lab_thing.b zone=old <lab_thing.a
flags: -target=lab_thing.b
changes: +/- lab_thing.a (replace_because_cannot_update)
         +/- lab_thing.b (replace_because_cannot_update)

# One instance; its siblings stay.
config: resource lab_thing a { count = 3 }
flags: -target=lab_thing.a[1]
changes: + lab_thing.a[1]

# All instances of a dependency are planned; those that no target needs are deselected.
config: resource lab_thing a { count = 2 }
        resource lab_thing b { count = 2; name = lab_thing.a[count.index].id }
        resource lab_thing c { name = lab_thing.a[0].id }
flags: -target=lab_thing.c
changes: + lab_thing.a[0]
         + lab_thing.a[1]
         + lab_thing.c
deselected: lab_thing.a[1]

# An object outside of the targets stays although it is no longer declared.
config: resource lab_thing a {}
state: lab_thing.gone
flags: -target=lab_thing.a
changes: + lab_thing.a

# A target may be an object that is no longer declared.
state: lab_thing.gone
flags: -target=lab_thing.gone
changes: - lab_thing.gone (delete_because_no_resource_config)

# A resource outside of the targets has the value of the state.
config: resource lab_thing a { name = "new" }
        output o { value = lab_thing.a.name }
        resource lab_thing b {}
state: lab_thing.a name=old
       output.o="old"
flags: -target=lab_thing.b
changes: + lab_thing.b
outputs: none

# Outputs whose resources are all in the stage are evaluated.
state: lab_thing.a name=old
       output.o="old"
flags: -target=lab_thing.a
changes: ~ lab_thing.a
outputs: ~ o: "old" > "new"

# Deposed objects are destroyed only if the target names them itself.
config: resource lab_thing low {}
        resource lab_thing high { name = lab_thing.low.name }
state: lab_thing.low
       lab_thing.low id=old !deposed=0badcafe
       lab_thing.high <lab_thing.low
flags: -target=lab_thing.high
changes: none

# Named itself.
state: lab_thing.low
       lab_thing.low id=old !deposed=0badcafe
       lab_thing.high <lab_thing.low
flags: -target=lab_thing.low
changes: - lab_thing.low (deposed 0badcafe)

# Objects outside of the targets are not read.
config: resource lab_thing a {}
        resource lab_thing b {}
state: lab_thing.a
       lab_thing.b
flags: -target=lab_thing.a
calls: plan lab_thing.a
       read lab_thing.a
       upgrade lab_thing.a
"#,
    )
    .await;
}

#[tokio::test]
async fn excludes_leave_out_their_dependents() {
    check(
        r#"
# The excluded resource and those that need it.
config: resource lab_thing low {}
        resource lab_thing mid { name = lab_thing.low.id }
        resource lab_thing high { name = lab_thing.mid.id }
        resource lab_thing apart {}
flags: -exclude=lab_thing.mid
changes: + lab_thing.apart
         + lab_thing.low

# A module.
config: module m { source = "./m" }
        resource lab_thing b { name = module.m.id }
        resource lab_thing c {}
        @@m resource lab_thing a {}
            output id { value = lab_thing.a.id }
flags: -exclude=module.m
changes: + lab_thing.c

# One instance: its siblings are staged, dependents of the resource are not.
config: resource lab_thing a { count = 2 }
        resource lab_thing b { name = lab_thing.a[0].id }
flags: -exclude=lab_thing.a[1]
changes: + lab_thing.a[0]

# An excluded object stays although it is no longer declared.
config: resource lab_thing a {}
state: lab_thing.gone
flags: -exclude=lab_thing.gone
changes: + lab_thing.a

# Excludes and targets cannot be combined.
flags: -exclude=lab_thing.a -target=lab_thing.b
says: error: --target and --exclude cannot be combined

# A typo is reported.
flags: -exclude=lab_thing.typo
says: warning: --exclude matches nothing
changes: + lab_thing.a

# A text that is no address.
flags: -target=lab_thing..a
says: error: Invalid address for --target
"#,
    )
    .await;
}

#[tokio::test]
async fn narrowed_destroys_follow_the_recorded_dependencies() {
    check(
        r#"
# A target is destroyed with its dependents.
config: resource lab_thing low {}
        resource lab_thing mid { name = lab_thing.low.id }
        resource lab_thing high { name = lab_thing.mid.id }
        resource lab_thing apart {}
state: lab_thing.low
       lab_thing.mid <lab_thing.low
       lab_thing.high <lab_thing.low <lab_thing.mid
       lab_thing.apart
flags: -destroy -target=lab_thing.mid
changes: - lab_thing.mid
         - lab_thing.high

# An excluded object stays with its dependencies.
state: lab_thing.low
       lab_thing.mid <lab_thing.low
       lab_thing.high <lab_thing.low <lab_thing.mid
       lab_thing.apart
flags: -destroy -exclude=lab_thing.mid
changes: - lab_thing.apart
         - lab_thing.high

# The state decides, even if the configuration has other references now.
config: resource lab_thing a {}
        resource lab_thing b {}
state: lab_thing.a
       lab_thing.b <lab_thing.a
flags: -destroy -target=lab_thing.a
changes: - lab_thing.a
         - lab_thing.b

# One instance, with the dependents of its resource.
config: resource lab_thing a { count = 2 }
        resource lab_thing b {}
state: lab_thing.a[0]
       lab_thing.a[1]
       lab_thing.b <lab_thing.a
flags: -destroy -target=lab_thing.a[1]
changes: - lab_thing.a[1]
         - lab_thing.b

# Module instances are independent of each other.
config: module m { source = "./m"; count = 2 }
        @@m resource lab_thing a {}
            resource lab_thing b { name = lab_thing.a.id }
state: module.m[0].lab_thing.a
       module.m[0].lab_thing.b <module.m.lab_thing.a
       module.m[1].lab_thing.a
       module.m[1].lab_thing.b <module.m.lab_thing.a
flags: -destroy -target=module.m[0].lab_thing.a
changes: - module.m[0].lab_thing.a
         - module.m[0].lab_thing.b

# Outputs stay.
config: resource lab_thing a {}
        output o { value = lab_thing.a.name }
state: lab_thing.a name=x
       output.o="x"
flags: -destroy -target=lab_thing.a
changes: - lab_thing.a
outputs: none

# Protected objects cannot be targets, nor dependents of one.
config: resource lab_thing a {}
        resource lab_thing b { lifecycle { prevent_destroy = true } }
state: lab_thing.a
       lab_thing.b <lab_thing.a
flags: -destroy -target=lab_thing.a
says: error: Instance cannot be destroyed

# They can be excluded.
state: lab_thing.a
       lab_thing.b
flags: -destroy -exclude=lab_thing.b
changes: - lab_thing.a
"#,
    )
    .await;
}

#[tokio::test]
async fn targets_must_include_new_instances_that_others_need() {
    check(
        r#"
# A target needs a new instance that the targets leave out.
config: resource lab_thing a { count = 2 }
        resource lab_thing b { name = lab_thing.a[1].id }
flags: -target=lab_thing.a[0] -target=lab_thing.b
says: error: Targets exclude a dependency

# Both are targets.
flags: -target=lab_thing.a[1] -target=lab_thing.b
changes: + lab_thing.a[1]
         + lab_thing.b

# An instance that exists needs no target.
state: lab_thing.a[1]
flags: -target=lab_thing.a[0] -target=lab_thing.b
changes: + lab_thing.a[0]
         + lab_thing.b

# A target without an instance is reported.
config: resource lab_thing a { count = 2 }
flags: -target=lab_thing.a[5]
says: warning: --target matches nothing
changes: none
"#,
    )
    .await;
}
