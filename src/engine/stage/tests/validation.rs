//! Validation of a configuration, whatever its variables and its state are.

use crate::stage::testing::check;

#[tokio::test]
async fn configuration_is_valid_if_some_values_could_make_it_work() {
    check(
        r#"
# Variables need no values.
config: variable v {}
        resource lab_thing a { name = var.v }
valid: none

# Numbers and keys of instances need not be known.
config: resource lab_thing a {}
        resource lab_thing b { count = length(lab_thing.a.id) }
        resource lab_thing c { for_each = toset([lab_thing.a.id]) }
valid: none

# Conditions on resources are judged by the plan.
config: locals { no = false }
        resource lab_thing a { lifecycle { precondition { condition = local.no; error_message = "No." } } }
        check c { assert { condition = local.no; error_message = "No." } }
valid: none

# So are the arguments that decide over objects.
config: variable k { default = true }
        resource lab_thing a { lifecycle { destroy = var.k } }
        resource lab_thing b { lifecycle { enabled = null } }
valid: none

# Moves and imports need the state.
config: resource lab_thing a {}
        moved { from = lab_thing.a; to = lab_thing.b }
        import { to = lab_thing.none; id = "x" }
valid: none

# A data source is not read.
config: data lab_data d { name = "missing" }
valid: none
"#,
    )
    .await;
}

#[tokio::test]
async fn errors_that_no_value_can_mend_are_found_without_a_plan() {
    check(
        r#"
# The provider refuses a constant.
config: resource lab_thing a { name = "invalid" }
valid: error: Invalid name

# A resource block is validated once, not for each instance.
config: resource lab_thing a { count = 3; name = "invalid" }
valid: error: Invalid name

# In each module too, but once for all calls.
config: module m { source = "./m"; count = 2 }
        @@m resource lab_thing a { name = "invalid" }
valid: error: Invalid name

# An argument, and a block that the schema does not have.
config: resource lab_thing a { colour = "red" }
        resource lab_thing b { paint { } }
valid: error: Unsupported argument
       error: Unsupported block type

# A required argument.
config: data lab_data d {}
valid: error: Missing required argument

# A value of another type.
config: resource lab_thing a { size = "many" }
valid: error: Incorrect attribute value type

# A reference to nothing.
config: resource lab_thing a { name = lab_thing.b.id }
valid: error: Reference to undeclared resource

# for_each over a list.
config: resource lab_thing a { for_each = ["x"] }
valid: error: Invalid for_each argument

# An ephemeral value in a stored argument.
config: variable v { ephemeral = true }
        resource lab_thing a { name = var.v }
valid: error: Invalid use of ephemeral value

# A sensitive value in an output of the root.
config: variable v { sensitive = true }
        output o { value = var.v }
valid: error: Output refers to sensitive values

# An output is as valid as its precondition.
config: locals { no = false }
        output o { value = 1; precondition { condition = local.no; error_message = "No." } }
valid: error: Module output value precondition failed

# An attribute that only the provider sets cannot be ignored.
config: resource lab_thing a { lifecycle { ignore_changes = [id] } }
valid: warning: Redundant ignore_changes element

# An attribute that does not exist.
config: resource lab_thing a { lifecycle { ignore_changes = [colour] } }
valid: error: Unsupported attribute

# A constant that is no bool cannot protect an object.
config: resource lab_thing a { lifecycle { prevent_destroy = "maybe" } }
valid: error: Invalid value for prevent_destroy

# A cycle hides all other errors.
config: resource lab_thing a { name = lab_thing.b.id }
        resource lab_thing b { name = lab_thing.a.id; size = lab_thing.c.size }
valid: error: Cycle: lab_thing.a, lab_thing.b
"#,
    )
    .await;
}
