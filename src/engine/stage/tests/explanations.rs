//! Explanation of each change, as the console and the commands show it.

use crate::stage::testing::check;

#[tokio::test]
async fn change_is_explained_by_its_attributes_or_its_reason() {
    check(
        r#"
# A creation.
config: resource lab_thing a { name = "x" }
because: lab_thing.a: new

# An update, by its attributes.
config: resource lab_thing a { name = "x"; size = 2 }
state: lab_thing.a name=x size=1
because: lab_thing.a: size changes

# Several attributes, by the outermost name.
config: resource lab_thing a { name = "x"; tags = { k = "v", l = "w" } }
state: lab_thing.a
because: lab_thing.a: name, tags change

# Many attributes.
config: resource lab_thing a { name = "x"; note = "n"; size = 1; tags = { k = "v" } }
state: lab_thing.a
because: lab_thing.a: name, note, size, and 1 more change

# Values known after apply are named only if there are no others.
config: resource lab_thing b {}
        resource lab_thing a { name = lab_thing.b.id; size = 1 }
state: lab_thing.a name=old size=2 <lab_thing.b
because: lab_thing.b: new
         lab_thing.a: size changes

# A value that becomes sensitive.
config: variable v { sensitive = true; default = "x" }
        resource lab_thing a { name = var.v }
state: lab_thing.a name=x
because: lab_thing.a: name changes

# A replacement, by the attribute that forces it.
config: resource lab_thing a { name = "new"; zone = "b" }
state: lab_thing.a zone=a
because: lab_thing.a: zone cannot be changed in place

# A tainted object.
config: resource lab_thing a {}
state: lab_thing.a !tainted
because: lab_thing.a: the object is tainted: its creation did not finish

# A request.
state: lab_thing.a
flags: -replace=lab_thing.a
because: lab_thing.a: requested

# A trigger.
config: resource lab_thing a { name = "new" }
        resource lab_thing b { lifecycle { replace_triggered_by = [lab_thing.a] } }
state: lab_thing.a
       lab_thing.b
because: lab_thing.a: name changes
         lab_thing.b: a reference in replace_triggered_by changes

# Drift comes first.
config: resource lab_thing a { name = "x" }
state: lab_thing.a name=x ~name=y
because: lab_thing.a: changed outside of deploys; name changes

# An object that is gone.
state: lab_thing.a name=x !gone
because: lab_thing.a: changed outside of deploys; it no longer exists and is created again

# A move, alone and with a change.
config: resource lab_thing b { name = "x" }
        moved { from = lab_thing.a; to = lab_thing.b }
state: lab_thing.a name=x
because: lab_thing.b: moved from lab_thing.a

# With a change.
state: lab_thing.a name=y
because: lab_thing.b: moved from lab_thing.a; name changes

# An import.
config: resource lab_thing a { name = "x" }
        import { to = lab_thing.a; id = "x" }
because: lab_thing.a: imported with the id "x"

# A read during the deploy.
config: resource lab_thing a {}
        data lab_data d { name = lab_thing.a.id }
because: lab_thing.a: new
         data.lab_data.d: read during the deploy: its configuration depends on values known only after apply
"#,
    )
    .await;
}

#[tokio::test]
async fn removal_is_explained_by_what_no_longer_exists() {
    check(
        r#"
# The resource.
config: locals {}
state: lab_thing.a
because: lab_thing.a: no longer in the configuration

# Its index.
config: resource lab_thing a { count = 0 }
state: lab_thing.a[0]
because: lab_thing.a[0]: the index is out of range of count

# Its key.
config: resource lab_thing a { for_each = toset([]) }
state: lab_thing.a["k"]
because: lab_thing.a["k"]: the key is no longer in for_each

# Its module instance.
config: module m { source = "./m"; count = 0 }
        @@m resource lab_thing a {}
state: module.m[0].lab_thing.a
because: module.m[0].lab_thing.a: its module instance is no longer in the configuration

# The target of its move.
config: moved { from = lab_thing.a; to = lab_thing.b }
state: lab_thing.a
because: lab_thing.b: moved from lab_thing.a; it was moved to an address that is not in the configuration

# A deposed object.
config: resource lab_thing a {}
state: lab_thing.a
       lab_thing.a id=old !deposed=0badcafe
because: lab_thing.a (deposed 0badcafe): left over from a replacement

# Everything.
state: lab_thing.a
flags: -destroy
because: lab_thing.a: destroy mode

# A removed block that keeps the object.
config: removed { from = lab_thing.a; lifecycle { destroy = false } }
state: lab_thing.a
because: lab_thing.a: no longer in the configuration; the object stays and is only removed from the state

# A replacement that keeps the old object.
config: resource lab_thing a { zone = "b"; lifecycle { destroy = false } }
state: lab_thing.a zone=a
because: lab_thing.a: zone cannot be changed in place; the old object stays and is only removed from the state
"#,
    )
    .await;
}
