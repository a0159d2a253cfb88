//! Changes that go along when a change of a stage is selected or deselected.

use crate::stage::testing::check;

#[tokio::test]
async fn dependents_go_along_with_a_deselected_change() {
    check(
        r#"
# A chain: what needs the new object cannot be created.
config: resource lab_thing a {}
        resource lab_thing b { name = lab_thing.a.id }
        resource lab_thing c { name = lab_thing.b.id }
        resource lab_thing apart {}
select: leave lab_thing.a
taken: lab_thing.apart
along: lab_thing.b with lab_thing.a
       lab_thing.c with lab_thing.b

# The end of the chain goes alone.
select: leave lab_thing.c
taken: lab_thing.a
       lab_thing.apart
       lab_thing.b
along: none

# Through a local value and a module.
config: resource lab_thing a {}
        module m { source = "./m"; in = lab_thing.a.id }
        @@m variable in {}
            locals { l = var.in }
            resource lab_thing b { name = local.l }
select: leave lab_thing.a
taken: none
along: module.m.lab_thing.b with lab_thing.a

# A dependent of one instance.
config: resource lab_thing a { count = 2 }
        resource lab_thing b { count = 2; name = lab_thing.a[count.index].id }
select: leave lab_thing.a[0]
taken: lab_thing.a[1]
       lab_thing.b[1]
along: lab_thing.b[0] with lab_thing.a[0]

# A dependent of the whole resource.
config: resource lab_thing a { count = 2 }
        resource lab_thing b { size = length(lab_thing.a) }
select: leave lab_thing.a[0]
taken: lab_thing.a[1]
along: lab_thing.b with lab_thing.a[0]

# Through an unchanged resource.
config: resource lab_thing a { name = "new" }
        resource lab_thing b { name = lab_thing.a.id }
        resource lab_thing c { name = lab_thing.b.name; size = 1 }
state: lab_thing.a name=old
       lab_thing.b name=lab_thing.a <lab_thing.a
       lab_thing.c name=lab_thing.a <lab_thing.a <lab_thing.b
select: leave lab_thing.a
taken: none
along: lab_thing.c with lab_thing.a

# An object cannot be destroyed while its dependent stays.
config: locals {}
state: lab_thing.a
       lab_thing.b <lab_thing.a
select: leave lab_thing.b
taken: none
along: lab_thing.a with lab_thing.b

# Its dependent can be destroyed alone.
state: lab_thing.a
       lab_thing.b <lab_thing.a
select: leave lab_thing.a
taken: lab_thing.b
along: none

# A replacement waits for the destroy of its dependent.
config: resource lab_thing a { zone = "b" }
state: lab_thing.a zone=a
       lab_thing.b <lab_thing.a
select: leave lab_thing.b
taken: none
along: lab_thing.a with lab_thing.b

# A data source waits for its resource, and passes the need on to its own dependents.
config: resource lab_thing a {}
        data lab_data d { name = lab_thing.a.id }
        resource lab_thing b { name = data.lab_data.d.value }
select: leave lab_thing.a
taken: none
along: data.lab_data.d with lab_thing.a
       lab_thing.b with lab_thing.a

# Deposed objects are independent of the current one.
config: resource lab_thing a { name = "new" }
state: lab_thing.a name=old
       lab_thing.a id=old !deposed=0badcafe
select: leave lab_thing.a (deposed 0badcafe)
taken: lab_thing.a
along: none
"#,
    )
    .await;
}

#[tokio::test]
async fn dependencies_go_along_with_a_selected_change() {
    check(
        r#"
# A chain: what the object needs must exist.
config: resource lab_thing a {}
        resource lab_thing b { name = lab_thing.a.id }
        resource lab_thing c { name = lab_thing.b.id }
        resource lab_thing apart {}
select: nothing
        take lab_thing.c
taken: lab_thing.a
       lab_thing.b
       lab_thing.c
along: lab_thing.b with lab_thing.c
       lab_thing.a with lab_thing.b

# The begin of the chain goes alone.
select: nothing
        take lab_thing.a
taken: lab_thing.a
along: none

# Only one change, with its dependencies.
select: only lab_thing.b
taken: lab_thing.a
       lab_thing.b
along: lab_thing.a with lab_thing.b

# The inverse of a selection takes the dependencies that it needs.
select: leave lab_thing.c
        inverse
taken: lab_thing.a
       lab_thing.b
       lab_thing.c
along: lab_thing.b with lab_thing.c
       lab_thing.a with lab_thing.b

# A destroy takes the destroys of dependents along.
config: locals {}
state: lab_thing.a
       lab_thing.b <lab_thing.a
       lab_thing.c <lab_thing.a <lab_thing.b
select: nothing
        take lab_thing.a
taken: lab_thing.a
       lab_thing.b
       lab_thing.c
along: lab_thing.b with lab_thing.a
       lab_thing.c with lab_thing.a

# The old object of a create-first replacement is destroyed after the update of its dependent.
config: resource lab_thing a { zone = "b"; lifecycle { create_before_destroy = true } }
        resource lab_thing b { name = lab_thing.a.id }
state: lab_thing.a zone=a
       lab_thing.b name=lab_thing.a <lab_thing.a
select: nothing
        take lab_thing.a
taken: lab_thing.a
       lab_thing.b
along: lab_thing.b with lab_thing.a

# A plain replacement does not need that update.
config: resource lab_thing a { zone = "b" }
        resource lab_thing b { name = lab_thing.a.id }
state: lab_thing.a zone=a
       lab_thing.b name=lab_thing.a <lab_thing.a
select: nothing
        take lab_thing.a
taken: lab_thing.a
along: none

# Changes that targets deselected can be selected again.
config: resource lab_thing a { count = 2 }
        resource lab_thing b { name = lab_thing.a[0].id }
flags: -target=lab_thing.b
deselected: lab_thing.a[1]
select: take lab_thing.a[1]
taken: lab_thing.a[0]
       lab_thing.a[1]
       lab_thing.b
"#,
    )
    .await;
}
