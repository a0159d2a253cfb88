//! Changes of root outputs.

use crate::stage::testing::check;

#[tokio::test]
async fn outputs_change_with_their_value() {
    check(
        r#"
# New.
config: output o { value = "x" }
outputs: + o: none > "x"

# Unchanged.
state: output.o="x"
outputs: none

# Another value, and another type.
state: output.o=["x"]
outputs: ~ o: ["x"] > "x"

# No longer declared.
config: locals {}
state: output.o="x"
outputs: - o: "x" > none

# A null value is not stored: nothing to create.
config: output o { value = null }
outputs: none

# A null value after another one is an update, because the output stays declared.
state: output.o="x"
outputs: ~ o: "x" > none

# Known after apply.
config: resource lab_thing a {}
        output o { value = lab_thing.a.id }
outputs: + o: none > ?

# Partly known.
config: resource lab_thing a {}
        output o { value = [lab_thing.a.id, "x"] }
outputs: + o: none > [?, "x"]

# Sensitive outputs are hidden.
config: output o { value = "x"; sensitive = true }
outputs: + o: none > ***

# The same value becomes sensitive.
state: output.o="x"
outputs: ~ o: "x" > ***

# A sensitive value needs a sensitive output.
config: variable v { sensitive = true; default = "x" }
        output o { value = var.v }
says: error: Output refers to sensitive values

# The sensitive attribute of a resource too.
config: resource lab_thing a { secret = "s" }
        output o { value = lab_thing.a.secret }
says: error: Output refers to sensitive values

# A failed precondition.
config: locals { no = false; yes = true }
        output o { value = "x"; precondition { condition = local.no; error_message = "No." } }
says: error: Module output value precondition failed

# Root outputs are stored, so they cannot be ephemeral.
config: output o { value = "x"; ephemeral = true }
says: error: Invalid output configuration

# Outputs of modules are no outputs of the root.
config: module m { source = "./m" }
        @@m output inner { value = "x" }
outputs: none
"#,
    )
    .await;
}
