//! Planning of links: their ends, and changes around them.

use crate::stage::testing::check;

#[tokio::test]
async fn links_are_planned_with_the_objects_at_their_ends() {
    check(
        r#"
# A new link comes after both ends.
config: resource lab_thing a { name = "x" }
        resource lab_thing b { name = "y" }
        link l { from = lab_thing.a; to = lab_thing.b }
values: + lab_thing.a: id none > ?, name none > "x", note none > ?
        + lab_thing.b: id none > ?, name none > "y", note none > ?
        + link.l: from none > "lab_thing.a", id none > ?, to none > "lab_thing.b"
order: apply lab_thing.a
       apply lab_thing.b
       apply link.l after apply lab_thing.a, apply lab_thing.b
needs: link.l needs lab_thing.a, lab_thing.b

# A link of existing objects stays.
state:  lab_thing.a name=x
        lab_thing.b name=y
        link.l from=lab_thing.a to=lab_thing.b id=lab_thing.a-lab_thing.b <lab_thing.a <lab_thing.b
changes: none

# An update of an end leaves the link.
state:  lab_thing.a name=x
        lab_thing.b name=z
        link.l from=lab_thing.a to=lab_thing.b id=lab_thing.a-lab_thing.b <lab_thing.a <lab_thing.b
changes: ~ lab_thing.b

# The replacement of an end replaces the link.
state:  lab_thing.a name=x
        lab_thing.b name=y zone=old
        link.l from=lab_thing.a to=lab_thing.b id=lab_thing.a-lab_thing.b <lab_thing.a <lab_thing.b
values: -/+ lab_thing.b (replace_because_cannot_update): id "lab_thing.b" > ?, note none > ?, zone! "old" > none
        -/+ link.l (replace_because_cannot_update): id! "lab_thing.a-lab_thing.b" > ?
order: apply lab_thing.b after destroy lab_thing.b
       apply link.l after apply lab_thing.b
       destroy lab_thing.b after destroy link.l
       destroy link.l

# A link to another object is replaced.
state:  lab_thing.a name=x
        lab_thing.b name=y
        lab_thing.c name=z
        link.l from=lab_thing.a to=lab_thing.c id=lab_thing.a-lab_thing.c <lab_thing.a <lab_thing.c
values: -/+ link.l (replace_because_cannot_update): id! "lab_thing.a-lab_thing.c" > ?, to "lab_thing.c" > "lab_thing.b"
        - lab_thing.c (delete_because_no_resource_config): id "lab_thing.c" > none, name "z" > none

# A removed link is destroyed before its ends.
config: locals {}
state:  lab_thing.a name=x
        lab_thing.b name=y
        link.l from=lab_thing.a to=lab_thing.b id=lab_thing.a-lab_thing.b <lab_thing.a <lab_thing.b
order: destroy lab_thing.a after destroy link.l
       destroy lab_thing.b after destroy link.l
       destroy link.l

# If an end moves, the ends and the dependencies of its link are renamed.
config: resource lab_thing a { name = "x" }
        resource lab_thing new { name = "y" }
        moved { from = lab_thing.b; to = lab_thing.new }
        link l { from = lab_thing.a; to = lab_thing.new }
state:  lab_thing.a name=x
        lab_thing.b name=y
        link.l from=lab_thing.a to=lab_thing.b id=lab_thing.a-lab_thing.b <lab_thing.a <lab_thing.b
changes: = lab_thing.new <- lab_thing.b
edits: move lab_thing.b to lab_thing.new
       put link.l
       put link.l
"#,
    )
    .await;
}

#[tokio::test]
async fn links_need_two_instances_that_a_plugin_links() {
    check(
        r#"
# A provider links certain pairs of types.
config: resource lab_thing a { name = "x" }
        resource lab_other b { name = "y" }
        link l { from = lab_thing.a; to = lab_other.b }
says: error: Link not supported
explains: Supported links: lab_thing to lab_thing.

# An end is one instance.
config: resource lab_thing a { count = 2; name = "x" }
        resource lab_thing b { name = "y" }
        link l { from = lab_thing.a; to = lab_thing.b }
says: error: Invalid end of a link
explains: Add a key: lab_thing.a[…].

# An instance has a key.
config: resource lab_thing a { count = 2; name = "x" }
        resource lab_thing b { name = "y" }
        link l { from = lab_thing.a[1]; to = lab_thing.b }
needs: link.l needs lab_thing.a[1], lab_thing.b

# The instance must exist.
config: resource lab_thing a { count = 1; name = "x" }
        resource lab_thing b { name = "y" }
        link l { from = lab_thing.a[1]; to = lab_thing.b }
says: error: Invalid index

# An end must be declared.
config: resource lab_thing a { name = "x" }
        link l { from = lab_thing.a; to = lab_thing.b }
says: error: Invalid end of a link
explains: There is no resource lab_thing.b in this module.
"#,
    )
    .await;
}

#[tokio::test]
async fn link_is_selected_with_its_ends() {
    check(
        r#"
# A selected link takes its new ends with it.
config: resource lab_thing a { name = "x" }
        resource lab_thing b { name = "y" }
        resource lab_thing c { name = "z" }
        link l { from = lab_thing.a; to = lab_thing.b }
select: only link.l
taken:  lab_thing.a
        lab_thing.b
        link.l

# Without one of its ends a link is deselected.
select: leave lab_thing.b
taken:  lab_thing.a
        lab_thing.c
"#,
    )
    .await;
}
