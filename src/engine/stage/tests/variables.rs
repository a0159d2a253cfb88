//! Input variables of the root and of modules.

use crate::stage::testing::check;

#[tokio::test]
async fn variables_have_given_or_default_values_of_their_type() {
    check(
        r#"
# The default.
config: variable v { default = "x" }
        output o { value = var.v }
outputs: + o: none > "x"

# A given value.
flags: -var=v=y
outputs: + o: none > "y"

# A given text is converted to the type.
config: variable v { type = list(number) }
        output o { value = var.v }
flags: -var=v=[1,"2"]
outputs: + o: none > [1, 2]

# A value that does not fit.
flags: -var=v=text
says: error: Variables not allowed
      error: No value for required variable

# Null is replaced by the default, unless the variable is nullable.
config: module m { source = "./m"; v = null }
        output o { value = module.m.o }
        @@m variable v { default = "x"; nullable = false }
            output o { value = var.v }
outputs: + o: none > "x"

# Null is a value of a nullable variable.
config: module m { source = "./m"; v = null }
        output o { value = module.m.o == null }
        @@m variable v { default = "x" }
            output o { value = var.v }
outputs: + o: none > true

# An optional attribute.
config: variable v { type = object({ a = string, b = optional(number, 7) }); default = { a = "x" } }
        output o { value = var.v.b }
outputs: + o: none > 7

# A required variable without a value.
config: variable v {}
says: error: No value for required variable

# A value for a variable that is not declared.
config: locals {}
flags: -var=v=x
says: error: Value for undeclared variable

# An argument of a module that it does not have.
config: module m { source = "./m"; v = 1 }
        @@m locals {}
says: error: Unsupported argument

# An argument of a module that does not fit its type.
config: module m { source = "./m"; v = ["x"] }
        @@m variable v { type = string }
says: error: Invalid value for input variable

# A required argument of a module.
config: module m { source = "./m" }
        @@m variable v {}
says: error: Missing required argument

# Null for a variable that is not nullable.
config: module m { source = "./m"; v = null }
        @@m variable v { nullable = false }
says: error: Invalid value for input variable
"#,
    )
    .await;
}

#[tokio::test]
async fn validations_and_marks_of_variables_hold_in_modules() {
    check(
        r#"
# A validation of a module's variable.
config: module m { source = "./m"; v = 0 }
        @@m variable v { validation { condition = var.v > 0; error_message = "No." } }
says: error: Invalid value for variable
checks: none

# An unknown value is validated by the deploy.
config: resource lab_thing a {}
        module m { source = "./m"; v = lab_thing.a.id }
        @@m variable v { validation { condition = var.v != ""; error_message = "No." } }
changes: + lab_thing.a
checks: unknown module.m.var.v

# A sensitive variable of a module.
config: module m { source = "./m"; v = "x" }
        @@m variable v { sensitive = true }
            resource lab_thing a { name = var.v }
values: + module.m.lab_thing.a: id none > ?, name none > ***, note none > ?

# An output of a module passes the mark on without declaring it.
config: module m { source = "./m"; v = "x" }
        resource lab_thing a { name = module.m.o }
        @@m variable v { sensitive = true }
            output o { value = var.v }
values: + lab_thing.a: id none > ?, name none > ***, note none > ?

# An ephemeral variable cannot be stored.
config: variable v { ephemeral = true; default = "x" }
        resource lab_thing a { name = var.v }
says: error: Invalid use of ephemeral value

# It may be write-only.
config: variable v { ephemeral = true; default = "x" }
        resource lab_thing a { token = var.v }
changes: + lab_thing.a
"#,
    )
    .await;
}
