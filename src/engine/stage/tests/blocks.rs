//! Arguments and blocks of a resource: conversion to the types of the schema, and blocks that an
//! expression repeats.

use crate::stage::testing::check;

#[tokio::test]
async fn dynamic_blocks_repeat_with_their_collection() {
    check(
        r#"
# A block for each element.
config: resource lab_thing a { dynamic rule { for_each = [1, 2]; content { port = rule.value } } }
values: + lab_thing.a: id none > ?, note none > ?, rule[0].port none > 1, rule[1].port none > 2

# Elements of a map, by another name.
config: resource lab_thing a { dynamic rule { for_each = { x = 7 }; iterator = one; content { port = one.value } } }
values: + lab_thing.a: id none > ?, note none > ?, rule[0].port none > 7

# In the order of the source, among other blocks.
config: resource lab_thing a { rule { port = 1 }; dynamic rule { for_each = [2, 3]; content { port = rule.value } }; rule { port = 4 } }
values: + lab_thing.a: id none > ?, note none > ?, rule[0].port none > 1, rule[1].port none > 2, rule[2].port none > 3, rule[3].port none > 4

# An empty collection has no block.
config: resource lab_thing a { dynamic rule { for_each = []; content { port = 1 } } }
values: + lab_thing.a: id none > ?, note none > ?

# An unknown collection makes all blocks unknown.
config: resource lab_thing a {}
        resource lab_thing b { dynamic rule { for_each = split(",", lab_thing.a.id); content { port = 1 } } }
values: + lab_thing.a: id none > ?, note none > ?
        + lab_thing.b: id none > ?, note none > ?, rule none > ?

# The same collection is known once the object exists.
state: lab_thing.a id=x,y
values: + lab_thing.b: id none > ?, note none > ?, rule[0].port none > 1, rule[1].port none > 1

# A block may depend on each instance of its resource.
config: resource lab_thing a { count = 2; dynamic rule { for_each = range(count.index); content { port = rule.value } } }
values: + lab_thing.a[0]: id none > ?, note none > ?
        + lab_thing.a[1]: id none > ?, note none > ?, rule[0].port none > 0
"#,
    )
    .await;
}

#[tokio::test]
async fn arguments_are_converted_to_the_types_of_the_schema() {
    check(
        r#"
# A text that is a number, and a number as a text.
config: resource lab_thing a { size = "3"; name = 5 }
values: + lab_thing.a: id none > ?, name none > "5", note none > ?, size none > 3

# A bool as a text, and numbers in a map of texts.
config: resource lab_thing a { name = true; tags = { k = 1 } }
values: + lab_thing.a: id none > ?, name none > "true", note none > ?, tags["k"] none > "1"

# A number of any size keeps all its digits.
config: resource lab_thing a { size = 123456789012345678901234567890 }
values: + lab_thing.a: id none > ?, note none > ?, size none > 123456789012345678901234567890

# Equal numbers and texts of different origin are no change.
config: resource lab_thing a { size = "3.0"; name = 5 }
state: lab_thing.a size=3 name="5"
changes: none

# A null argument is one that is not set.
config: resource lab_thing a { name = null; tags = null }
state: lab_thing.a
changes: none

# An empty map is not null.
config: resource lab_thing a { tags = {} }
state: lab_thing.a
changes: ~ lab_thing.a

# A map with a null element keeps its key.
config: resource lab_thing a { tags = { k = null } }
state: lab_thing.a tags={"k":"v"}
values: ~ lab_thing.a: tags["k"] "v" > none

# A list is no map.
config: resource lab_thing a { tags = ["x"] }
says: error: Incorrect attribute value type
"#,
    )
    .await;
}
