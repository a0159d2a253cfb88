//! Instances of resources and modules.

use crate::stage::testing::check;

#[tokio::test]
async fn count_and_for_each_give_the_instances() {
    check(
        r#"
# Count.
config: resource lab_thing a { count = 2; name = "n${count.index}" }
values: + lab_thing.a[0]: id none > ?, name none > "n0", note none > ?
        + lab_thing.a[1]: id none > ?, name none > "n1", note none > ?

# Zero.
config: resource lab_thing a { count = 0 }
changes: none

# A text that is a number.
config: resource lab_thing a { count = "1" }
changes: + lab_thing.a[0]

# Keys of a map.
config: resource lab_thing a { for_each = { k = "v" }; name = "${each.key}-${each.value}" }
values: + lab_thing.a["k"]: id none > ?, name none > "k-v", note none > ?

# Elements of a set, sorted.
config: resource lab_thing a { for_each = toset(["y", "x"]) }
changes: + lab_thing.a["x"]
         + lab_thing.a["y"]

# Enabled.
config: resource lab_thing a { lifecycle { enabled = 1 == 1 } }
changes: + lab_thing.a

# Each instance of a module has all instances of its resources.
config: module m { source = "./m"; for_each = toset(["x", "y"]) }
        @@m resource lab_thing a { count = 2 }
changes: + module.m["x"].lab_thing.a[0]
         + module.m["x"].lab_thing.a[1]
         + module.m["y"].lab_thing.a[0]
         + module.m["y"].lab_thing.a[1]

# Instances of a module may differ in their number.
config: module m { source = "./m"; for_each = { x = 1, y = 0 }; n = each.value }
        @@m variable n {}
            resource lab_thing a { count = var.n }
changes: + module.m["x"].lab_thing.a[0]

# The resource as a list, as a map, and as a single object.
config: resource lab_thing l { count = 2 }
        resource lab_thing m { for_each = toset(["k"]) }
        output l { value = length(lab_thing.l) }
        output m { value = keys(lab_thing.m) }
outputs: + l: none > 2
         + m: none > ["k"]

# A disabled resource is null.
config: resource lab_thing a { lifecycle { enabled = false } }
        output o { value = lab_thing.a == null }
outputs: + o: none > true
"#,
    )
    .await;
}

#[tokio::test]
async fn unsuitable_numbers_and_keys_are_errors() {
    check(
        r#"
# Negative.
config: resource lab_thing a { count = -1 }
says: error: Invalid count argument

# A fraction.
config: resource lab_thing a { count = 1.5 }
says: error: Invalid count argument

# Null.
config: resource lab_thing a { count = null }
says: error: Invalid count argument

# No number.
config: resource lab_thing a { count = "many" }
says: error: Invalid count argument

# More instances than memory can hold.
config: resource lab_thing a { count = 1000001 }
says: error: Invalid count argument

# A list has no keys.
config: resource lab_thing a { for_each = ["x"] }
says: error: Invalid for_each argument

# A set of numbers.
config: resource lab_thing a { for_each = toset([1]) }
says: error: Invalid for_each set argument

# Null.
config: resource lab_thing a { for_each = null }
says: error: Invalid for_each argument

# Keys are visible, so they cannot be sensitive.
config: variable v { sensitive = true; default = ["x"] }
        resource lab_thing a { for_each = toset(var.v) }
says: error: Invalid for_each argument

# A sensitive number of instances is allowed.
config: variable v { sensitive = true; default = 1 }
        resource lab_thing a { count = var.v }
changes: + lab_thing.a[0]

# Enabled must not be sensitive.
config: variable v { sensitive = true; default = true }
        resource lab_thing a { lifecycle { enabled = var.v } }
says: error: Invalid enabled argument

# Enabled must be a bool.
config: resource lab_thing a { lifecycle { enabled = "maybe" } }
says: error: Invalid enabled argument

# Enabled must not be null.
config: resource lab_thing a { lifecycle { enabled = null } }
says: error: Invalid enabled argument
"#,
    )
    .await;
}
