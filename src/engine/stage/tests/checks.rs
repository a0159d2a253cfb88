//! Conditions of resources, outputs, variables and checks: their errors and statuses.

use crate::stage::testing::check;

#[tokio::test]
async fn conditions_fail_pass_or_stay_unknown() {
    check(
        r#"
# A precondition that holds.
config: locals { no = false; yes = true }
        resource lab_thing a { lifecycle { precondition { condition = local.yes; error_message = "No." } } }
changes: + lab_thing.a
checks: pass lab_thing.a

# A precondition that fails ends before the provider plans.
config: locals { no = false; yes = true }
        resource lab_thing a { lifecycle { precondition { condition = local.no; error_message = "No." } } }
says: error: Resource precondition failed
calls: none

# A postcondition sees the planned object.
config: resource lab_thing a { name = "x"; lifecycle { postcondition { condition = self.name == "y"; error_message = "No." } } }
says: error: Resource postcondition failed

# A postcondition on an unknown value is checked by the deploy.
config: resource lab_thing a { lifecycle { postcondition { condition = self.id != ""; error_message = "No." } } }
changes: + lab_thing.a
checks: unknown lab_thing.a

# Dependents of a resource with a failed condition are not planned.
config: locals { no = false; yes = true }
        resource lab_thing a { lifecycle { precondition { condition = local.no; error_message = "No." } } }
        resource lab_thing b { name = lab_thing.a.id }
says: error: Resource precondition failed

# The worst status of the instances counts.
config: resource lab_thing a { count = 2; lifecycle { postcondition { condition = count.index == 0 || self.id != ""; error_message = "No." } } }
changes: + lab_thing.a[0]
         + lab_thing.a[1]
checks: unknown lab_thing.a

# A resource without instances has nothing that could fail.
config: locals { no = false; yes = true }
        resource lab_thing a { count = 0; lifecycle { precondition { condition = local.no; error_message = "No." } } }
checks: pass lab_thing.a

# A condition outside of the targets is not evaluated.
config: locals { no = false; yes = true }
        resource lab_thing a { lifecycle { precondition { condition = local.no; error_message = "No." } } }
        resource lab_thing b {}
flags: -target=lab_thing.b
changes: + lab_thing.b
checks: unknown lab_thing.a

# An assertion that fails is a warning.
config: locals { no = false; yes = true }
        check c { assert { condition = local.no; error_message = "No." } }
says: warning: Check block assertion failed
checks: fail check.c

# One that holds, and one that is unknown.
config: locals { no = false; yes = true }
        resource lab_thing a {}
        check good { assert { condition = local.yes; error_message = "No." } }
        check later { assert { condition = lab_thing.a.id != ""; error_message = "No." } }
says: warning: Check block assertion known after apply
changes: + lab_thing.a
checks: pass check.good
        unknown check.later

# An output with a precondition.
config: locals { no = false; yes = true }
        output o { value = 1; precondition { condition = local.yes; error_message = "No." } }
checks: pass output.o

# A variable with a validation.
config: variable v { default = 1; validation { condition = var.v > 0; error_message = "No." } }
checks: pass var.v

# A value that the validation rejects.
flags: -var=v=0
says: error: Invalid value for variable

# A condition that is no bool.
config: locals { text = "maybe" }
        resource lab_thing a { lifecycle { precondition { condition = local.text; error_message = "No." } } }
says: error: Invalid condition result

# A destroy evaluates no conditions.
config: locals { no = false; yes = true }
        check c { assert { condition = local.no; error_message = "No." } }
        resource lab_thing a {}
state: lab_thing.a
flags: -destroy
changes: - lab_thing.a
checks: unknown check.c
"#,
    )
    .await;
}

#[tokio::test]
async fn error_message_explains_a_failure_unless_it_is_hidden() {
    check(
        r#"
# The message of a condition that fails.
config: locals { no = false }
        resource lab_thing a { lifecycle { precondition { condition = local.no; error_message = "Because of ${1 + 1}." } } }
says: error: Resource precondition failed
explains: Because of 2.

# A sensitive message is not shown.
config: variable v { sensitive = true; default = "hidden" }
        locals { no = false }
        resource lab_thing a { lifecycle { precondition { condition = local.no; error_message = "Because of ${var.v}." } } }
says: warning: Error message refers to sensitive values
      error: Resource precondition failed
explains: The error message refers to sensitive values, so it will not be displayed.
          The error message refers to sensitive values, so it will not be displayed.

# The sensitive message of a validation is an error of its own.
config: variable s { sensitive = true; default = "hidden" }
        variable v { default = 0; validation { condition = var.v > 0; error_message = "Because of ${var.s}." } }
says: error: Error message refers to sensitive values
      error: Invalid value for variable
explains: The error message refers to sensitive values, so it will not be displayed.
          The error message refers to sensitive values, so it will not be displayed.

# A message must be a text, even if the condition holds.
config: locals { yes = true }
        resource lab_thing a { lifecycle { precondition { condition = local.yes; error_message = ["No."] } } }
says: error: Invalid error message
explains: a string is required

# An unknown message is no message.
config: locals { no = false }
        resource lab_thing a {}
        resource lab_thing b { lifecycle { precondition { condition = local.no; error_message = lab_thing.a.id } } }
says: error: Resource precondition failed
explains: The error message is unknown or not a string.

# A null condition is neither true nor false.
config: locals { none = null }
        resource lab_thing a { lifecycle { precondition { condition = local.none; error_message = "No." } } }
says: error: Invalid condition result
explains: must return either true or false, not null
"#,
    )
    .await;
}
