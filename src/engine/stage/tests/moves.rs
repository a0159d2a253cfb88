//! Objects that change their address: explicit and implied moves, and moves that are not possible.

use crate::stage::testing::check;

#[tokio::test]
async fn moved_blocks_rename_objects() {
    check(
        r#"
# A resource moves without a change.
config: resource lab_thing b { name = "x" }
        moved { from = lab_thing.a; to = lab_thing.b }
state: lab_thing.a name=x
changes: = lab_thing.b <- lab_thing.a
edits: move lab_thing.a to lab_thing.b

# It may change at the same time.
state: lab_thing.a name=old
values: ~ lab_thing.b <- lab_thing.a: name "old" > "x"

# Without an object the block has no effect.
changes: + lab_thing.b

# The block has no effect once the object has moved.
state: lab_thing.b name=x
changes: none

# All instances of a resource move.
config: resource lab_thing b { count = 2 }
        moved { from = lab_thing.a; to = lab_thing.b }
state: lab_thing.a[0]
       lab_thing.a[1]
changes: = lab_thing.b[0] <- lab_thing.a[0]
         = lab_thing.b[1] <- lab_thing.a[1]

# One instance gets another key.
config: resource lab_thing a { for_each = toset(["x"]) }
        moved { from = lab_thing.a[0]; to = lab_thing.a["x"] }
state: lab_thing.a[0]
       lab_thing.a[1]
changes: - lab_thing.a[1] (delete_because_wrong_repetition)
         = lab_thing.a["x"] <- lab_thing.a[0]

# A chain of moves keeps the first address, in any order of the blocks.
config: resource lab_thing c {}
        moved { from = lab_thing.b; to = lab_thing.c }
        moved { from = lab_thing.a; to = lab_thing.b }
state: lab_thing.a
changes: = lab_thing.c <- lab_thing.a
edits: move lab_thing.a to lab_thing.b
       move lab_thing.b to lab_thing.c

# Into a module.
config: module m { source = "./m" }
        moved { from = lab_thing.a; to = module.m.lab_thing.a }
        @@m resource lab_thing a {}
state: lab_thing.a
changes: = module.m.lab_thing.a <- lab_thing.a

# Out of a module.
config: resource lab_thing a {}
        moved { from = module.m.lab_thing.a; to = lab_thing.a }
state: module.m.lab_thing.a
changes: = lab_thing.a <- module.m.lab_thing.a

# A module call gets another name.
config: module n { source = "./m" }
        moved { from = module.m; to = module.n }
        @@m resource lab_thing a {}
            resource lab_thing b { count = 1 }
state: module.m.lab_thing.a
       module.m.lab_thing.b[0]
changes: = module.n.lab_thing.a <- module.m.lab_thing.a
         = module.n.lab_thing.b[0] <- module.m.lab_thing.b[0]

# Moves inside of a moved module apply in any order.
config: module second { source = "./m"; for_each = toset(["k"]) }
        moved { from = module.first; to = module.second["k"] }
        moved { from = lab_thing.a; to = module.first.lab_thing.b }
        @@m resource lab_thing c {}
            moved { from = lab_thing.b; to = lab_thing.c }
state: lab_thing.a
changes: = module.second["k"].lab_thing.c <- lab_thing.a

# A block in a module applies to each instance of the module.
config: module m { source = "./m"; count = 2 }
        @@m resource lab_thing b {}
            moved { from = lab_thing.a; to = lab_thing.b }
state: module.m[0].lab_thing.a
       module.m[1].lab_thing.a
changes: = module.m[0].lab_thing.b <- module.m[0].lab_thing.a
         = module.m[1].lab_thing.b <- module.m[1].lab_thing.a

# Objects in the state that depend on it follow the move.
config: resource lab_thing b {}
        resource lab_thing c { name = lab_thing.b.name }
        moved { from = lab_thing.a; to = lab_thing.b }
state: lab_thing.a
       lab_thing.c <lab_thing.a
changes: = lab_thing.b <- lab_thing.a
edits: move lab_thing.a to lab_thing.b
       put lab_thing.c

# A refresh-only stage shows the move as drift.
config: resource lab_thing b {}
        moved { from = lab_thing.a; to = lab_thing.b }
state: lab_thing.a
flags: -refresh-only
changes: none
drift: = lab_thing.b <- lab_thing.a:
edits: move lab_thing.a to lab_thing.b
"#,
    )
    .await;
}

#[tokio::test]
async fn count_implies_moves() {
    check(
        r#"
# The single object becomes the first instance.
config: resource lab_thing a { count = 2 }
state: lab_thing.a
changes: = lab_thing.a[0] <- lab_thing.a
         + lab_thing.a[1]

# The first instance becomes the single object.
config: resource lab_thing a {}
state: lab_thing.a[0]
       lab_thing.a[1]
changes: = lab_thing.a <- lab_thing.a[0]
         - lab_thing.a[1] (delete_because_wrong_repetition)

# Without a first instance nothing moves.
state: lab_thing.a[1]
changes: + lab_thing.a
         - lab_thing.a[1] (delete_because_wrong_repetition)

# An object at the target stays there, without a warning.
state: lab_thing.a
       lab_thing.a[0]
changes: - lab_thing.a[0] (delete_because_wrong_repetition)

# A module call that gets count.
config: module m { source = "./m"; count = 1 }
        @@m resource lab_thing a {}
state: module.m.lab_thing.a
changes: = module.m[0].lab_thing.a <- module.m.lab_thing.a

# A module call that loses count.
config: module m { source = "./m" }
        @@m resource lab_thing a {}
state: module.m[0].lab_thing.a
changes: = module.m.lab_thing.a <- module.m[0].lab_thing.a

# Both at once.
config: module m { source = "./m"; count = 1 }
        @@m resource lab_thing a { count = 1 }
state: module.m.lab_thing.a
changes: = module.m[0].lab_thing.a[0] <- module.m.lab_thing.a

# An explicit move of the same object wins.
config: resource lab_thing a { count = 2 }
        moved { from = lab_thing.a; to = lab_thing.a[1] }
state: lab_thing.a
changes: + lab_thing.a[0]
         = lab_thing.a[1] <- lab_thing.a
"#,
    )
    .await;
}

#[tokio::test]
async fn moves_that_are_not_possible_are_reported() {
    check(
        r#"
# The target has an object: nothing moves, and the former address is not declared.
config: resource lab_thing b {}
        moved { from = lab_thing.a; to = lab_thing.b }
state: lab_thing.a
       lab_thing.b
says: warning: Unresolved resource instance address changes
changes: - lab_thing.a (delete_because_no_resource_config)

# A deposed object at the target blocks the move too.
state: lab_thing.a
       lab_thing.b id=old !deposed=0badcafe
says: warning: Unresolved resource instance address changes
changes: + lab_thing.b
         - lab_thing.b (deposed 0badcafe)
         - lab_thing.a (delete_because_no_resource_config)

# The former address is still declared.
config: resource lab_thing a {}
        resource lab_thing b {}
        moved { from = lab_thing.a; to = lab_thing.b }
state: lab_thing.a
says: error: Moved object still exists

# To the same address.
config: resource lab_thing a {}
        moved { from = lab_thing.a; to = lab_thing.a }
says: error: Redundant move statement

# One object to two addresses.
config: resource lab_thing b {}
        resource lab_thing c {}
        moved { from = lab_thing.a; to = lab_thing.b }
        moved { from = lab_thing.a; to = lab_thing.c }
says: error: Ambiguous move statements

# Two objects to one address.
config: resource lab_thing c {}
        moved { from = lab_thing.a; to = lab_thing.c }
        moved { from = lab_thing.b; to = lab_thing.c }
says: error: Ambiguous move statements

# A cycle.
config: moved { from = lab_thing.a; to = lab_thing.b }
        moved { from = lab_thing.b; to = lab_thing.a }
state: lab_thing.a
says: error: Cyclic dependency in move statements
      error: Cyclic dependency in move statements

# A stage with targets needs both addresses.
config: resource lab_thing b {}
        moved { from = lab_thing.a; to = lab_thing.b }
state: lab_thing.a
flags: -target=lab_thing.b
says: error: Moved resource instances excluded by targeting

# With both addresses it moves.
state: lab_thing.a
flags: -target=lab_thing.b -target=lab_thing.a
changes: = lab_thing.b <- lab_thing.a

# The former address may be an instance of a resource that is still declared.
config: resource lab_thing a { for_each = toset(["x"]) }
        moved { from = lab_thing.a[0]; to = lab_thing.a["x"] }
state: lab_thing.a[0]
flags: -target=lab_thing.a["x"] -target=lab_thing.a[0]
changes: = lab_thing.a["x"] <- lab_thing.a[0]
"#,
    )
    .await;
}

#[tokio::test]
async fn provider_converts_objects_that_change_their_type() {
    check(
        r#"
# The provider takes the object over.
config: resource lab_other b { name = "x" }
        moved { from = lab_thing.a; to = lab_other.b }
state: lab_thing.a name=x
changes: = lab_other.b <- lab_thing.a
calls: move lab_other.b
       plan lab_other.b
       read lab_other.b

# It has no such conversion.
config: resource lab_legacy b {}
        moved { from = lab_thing.a; to = lab_legacy.b }
state: lab_thing.a
says: error: Unable to move resource state

# It refuses the source type.
config: resource lab_thing b {}
        moved { from = lab_other.a; to = lab_thing.b }
state: lab_other.a
says: error: Unknown source type
"#,
    )
    .await;
}
