//! Reads of existing objects: drift, upgrades of stored state, and stages that only refresh.

use crate::stage::testing::check;

#[tokio::test]
async fn s1_10_aspects_of_drift_agree_with_the_plan() {
    check(
        r#"
# The plan sets the attribute back.
config: resource lab_thing a { name = "x" }
state: lab_thing.a name=x ~name=drifted
aspects: lab_thing.a: update needed

# The attribute is ignored.
config: resource lab_thing a {
          name = "x"
          lifecycle { ignore_changes = [name] }
        }
state: lab_thing.a name=x ~name=drifted
changes: none
aspects: lab_thing.a: status changed

# Not set in the configuration, and therefore the provider's.
config: resource lab_thing a { name = "x" }
state: lab_thing.a name=x note=n ~note=other
changes: none
aspects: lab_thing.a: status changed

# Null before.
state: lab_thing.a name=x ~note=other
aspects: lab_thing.a: late-initialised

# A stage that only refreshes has no plan to compare with.
state: lab_thing.a name=x note=n ~note=other
flags: -refresh-only
aspects: lab_thing.a: update needed

# A deleted object has no attributes that could differ.
state: lab_thing.a name=x !gone
drift: - lab_thing.a: id "lab_thing.a" > none, name "x" > none
aspects: lab_thing.a:
"#,
    )
    .await;
}

#[tokio::test]
async fn changes_are_planned_from_the_object_that_a_read_finds() {
    check(
        r#"
# An attribute that drifted from the configuration is set back.
config: resource lab_thing a { name = "x" }
state: lab_thing.a name=x ~name=drifted
values: ~ lab_thing.a: name "drifted" > "x"
drift: ~ lab_thing.a: name "x" > "drifted"
edits: put lab_thing.a

# Drift to the configured value needs no change, only the state is written.
state: lab_thing.a name=old ~name=x
changes: none
drift: ~ lab_thing.a: name "old" > "x"
edits: put lab_thing.a

# Drift of a computed attribute.
state: lab_thing.a name=x note=n ~note=other
changes: none
drift: ~ lab_thing.a: note "n" > "other"
edits: put lab_thing.a

# An attribute that cannot be updated in place.
config: resource lab_thing a { zone = "a" }
state: lab_thing.a zone=a ~zone=b
values: -/+ lab_thing.a (replace_because_cannot_update): id "lab_thing.a" > ?, note none > ?, zone! "b" > "a"

# A deleted object is created again.
config: resource lab_thing a { name = "x" }
state: lab_thing.a name=x !gone
changes: + lab_thing.a
drift: - lab_thing.a: id "lab_thing.a" > none, name "x" > none
edits: remove lab_thing.a

# A deleted tainted object is created, not replaced.
state: lab_thing.a name=x !tainted !gone
changes: + lab_thing.a

# Dependents see the refreshed values.
config: resource lab_thing a { lifecycle { ignore_changes = all } }
        resource lab_thing b { name = lab_thing.a.name }
state: lab_thing.a name=x ~name=drifted
       lab_thing.b name=x <lab_thing.a
values: ~ lab_thing.b: name "x" > "drifted"

# Drift of a sensitive attribute is hidden.
config: resource lab_thing a { secret = "s" }
state: lab_thing.a secret=s ~secret=other
drift: ~ lab_thing.a: secret *** > ***

# Without a refresh the recorded object counts.
config: resource lab_thing a { name = "x" }
state: lab_thing.a name=x ~name=drifted
flags: -refresh=false
changes: none
drift: none
calls: plan lab_thing.a
       upgrade lab_thing.a

# With a refresh each object is read once.
state: lab_thing.a name=x
changes: none
calls: plan lab_thing.a
       read lab_thing.a
       upgrade lab_thing.a

# A failed read.
state: lab_thing.a name=crash
says: error: Plugin call failed
"#,
    )
    .await;
}

#[tokio::test]
async fn stored_objects_are_upgraded_to_the_current_schema() {
    check(
        r#"
# An object of an older version.
config: resource lab_thing a { name = "x" }
state: lab_thing.a title=x !version=0
changes: none
edits: put lab_thing.a

# The upgraded object is planned, not the recorded one.
state: lab_thing.a title=old !version=0
values: ~ lab_thing.a: name "old" > "x"

# An attribute that the current version does not have is dropped.
state: lab_thing.a name=x colour=red !version=1
changes: none
edits: put lab_thing.a

# An object of a newer version.
state: lab_thing.a name=x !version=2
says: error: Resource instance managed by newer provider version

# An orphan is upgraded too.
config: locals {}
state: lab_thing.a title=x !version=0
values: - lab_thing.a (delete_because_no_resource_config): id "lab_thing.a" > none, name "x" > none
"#,
    )
    .await;
}

#[tokio::test]
async fn refresh_only_stages_change_the_state_alone() {
    check(
        r#"
# Drift without a change.
config: resource lab_thing a { name = "new" }
state: lab_thing.a name=x ~name=drifted
flags: -refresh-only
changes: none
drift: ~ lab_thing.a: name "x" > "drifted"
edits: put lab_thing.a
calls: read lab_thing.a
       upgrade lab_thing.a

# A new resource is not created.
flags: -refresh-only
changes: none
edits: none

# Deleted objects are dropped from the state.
state: lab_thing.a name=x !gone
flags: -refresh-only
drift: - lab_thing.a: id "lab_thing.a" > none, name "x" > none
edits: remove lab_thing.a

# Undeclared and deposed objects are read and stay.
config: locals {}
state: lab_thing.a name=x ~name=y
       lab_thing.a id=old !deposed=0badcafe !gone
flags: -refresh-only
changes: none
drift: ~ lab_thing.a: name "x" > "y"
       - lab_thing.a (deposed 0badcafe): id "old" > none
edits: put lab_thing.a
       remove lab_thing.a (deposed 0badcafe)

# Outputs follow the refreshed values.
config: resource lab_thing a { lifecycle { ignore_changes = all } }
        output o { value = lab_thing.a.name }
state: lab_thing.a name=x ~name=y
       output.o="x"
flags: -refresh-only
outputs: ~ o: "x" > "y"

# A failed condition is a warning, because no action follows.
config: resource lab_thing a { lifecycle { postcondition { condition = self.name == "x"; error_message = "No." } } }
state: lab_thing.a name=y
flags: -refresh-only
says: warning: Resource postcondition failed
changes: none

# Only targeted objects are read.
config: resource lab_thing a {}
        resource lab_thing b {}
state: lab_thing.a ~name=y
       lab_thing.b ~name=y
flags: -refresh-only -target=lab_thing.a
drift: ~ lab_thing.a: name none > "y"
"#,
    )
    .await;
}

#[tokio::test]
async fn provider_plans_a_destroy_only_with_the_capability() {
    check(
        r#"
# Without the capability.
config: locals {}
state: lab_thing.a
changes: - lab_thing.a (delete_because_no_resource_config)
calls: read lab_thing.a
       upgrade lab_thing.a

# With the capability.
state: lab_thing.a
flags: plan_destroy
changes: - lab_thing.a (delete_because_no_resource_config)
calls: plan-destroy lab_thing.a
       read lab_thing.a
       upgrade lab_thing.a

# The provider may refuse it.
state: lab_thing.a name=refused
flags: plan_destroy
says: error: Refused

# The answer must have no object.
state: lab_thing.a name=kept
flags: plan_destroy
says: error: Provider produced invalid plan

# A forgotten object stays, so there is nothing to plan.
config: removed { from = lab_thing.a; lifecycle { destroy = false } }
state: lab_thing.a
flags: plan_destroy
changes: × lab_thing.a (delete_because_no_resource_config)
calls: read lab_thing.a
       upgrade lab_thing.a

# A replacement is planned as an update, then as a creation.
config: resource lab_thing a { zone = "b" }
state: lab_thing.a zone=a
flags: plan_destroy
changes: -/+ lab_thing.a (replace_because_cannot_update)
calls: plan lab_thing.a
       plan lab_thing.a
       read lab_thing.a
       upgrade lab_thing.a

# A tainted object is planned as a creation at once.
config: resource lab_thing a {}
state: lab_thing.a !tainted
changes: -/+ lab_thing.a (replace_because_tainted)
calls: plan lab_thing.a
       read lab_thing.a
       upgrade lab_thing.a
"#,
    )
    .await;
}
