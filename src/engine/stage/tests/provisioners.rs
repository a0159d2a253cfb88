//! Commands of provisioners that a change will run.

use crate::stage::testing::check;

#[tokio::test]
async fn commands_run_after_a_creation_and_before_a_destroy() {
    check(
        r#"
# A creation.
config: resource lab_thing a { name = "x"; provisioner local-exec { command = "echo ${self.name}" } }
commands: lab_thing.a runs echo x

# An update runs nothing.
state: lab_thing.a name=old
changes: ~ lab_thing.a
commands: none

# An unknown part.
config: resource lab_thing a { provisioner local-exec { command = "echo ${self.id} done" } }
commands: lab_thing.a runs echo ? done

# A sensitive part.
config: variable v { sensitive = true; default = "hidden" }
        resource lab_thing a { provisioner local-exec { command = "echo ${var.v}" } }
commands: lab_thing.a runs echo ***

# With its interpreter and directory.
config: resource lab_thing a { provisioner local-exec { command = "x"; interpreter = ["sh", "-c"]; working_dir = "d" } }
commands: lab_thing.a runs ["sh", "-c"] x  (in d)

# With its environment.
config: variable v { sensitive = true; default = "hidden" }
        resource lab_thing a { provisioner local-exec { command = "x"; environment = { A = "1", B = "two words", C = var.v, D = self.id } } }
commands: lab_thing.a runs A=1 B="two words" C=*** D=? x

# Addresses without credentials.
config: resource lab_thing a { provisioner local-exec { command = "curl https://u:p@h/?token=t"; environment = { URL = "https://u:p@h" } } }
commands: lab_thing.a runs URL=https://REDACTED@h curl https://REDACTED@h/?token=REDACTED

# On another machine.
config: resource lab_thing a { connection { host = "h"; user = "u" }; provisioner remote-exec { inline = ["one", "two"] } }
commands: lab_thing.a runs on u@h: one / two

# On a machine that is known after apply.
config: resource lab_thing a { connection { host = self.id }; provisioner remote-exec { inline = ["one"] } }
commands: lab_thing.a runs on a host ?: one

# A copy to it.
config: resource lab_thing a { connection { host = "h" }; provisioner file { content = "text"; destination = "/d" } }
commands: lab_thing.a copies to h: inline content as /d

# A command before the destroy, with the object that is destroyed.
config: resource lab_thing a { count = 0; provisioner local-exec { when = destroy; command = "bye ${self.name}" } }
state: lab_thing.a[0] name=x
commands: lab_thing.a[0] runs before it is destroyed: bye x

# A replacement runs both, in the order of its halves.
config: resource lab_thing a { zone = "b"; provisioner local-exec { when = destroy; command = "bye ${self.zone}" }; provisioner local-exec { command = "hello ${self.zone}" } }
state: lab_thing.a zone=a
commands: lab_thing.a runs before it is destroyed: bye a
          lab_thing.a runs hello b

# Under create_before_destroy the deposed object runs no command.
config: resource lab_thing a { zone = "b"; lifecycle { create_before_destroy = true }; provisioner local-exec { when = destroy; command = "bye" }; provisioner local-exec { command = "hello" } }
state: lab_thing.a zone=a
commands: lab_thing.a runs hello

# A tainted object was never complete.
config: resource lab_thing a { provisioner local-exec { when = destroy; command = "bye" }; provisioner local-exec { command = "hello" } }
state: lab_thing.a !tainted
commands: lab_thing.a runs hello

# An undeclared object has no provisioners.
config: locals {}
state: lab_thing.a
commands: none

# Those of its removed block run before the destroy.
config: removed { from = lab_thing.a; lifecycle { destroy = true }; provisioner local-exec { when = destroy; command = "bye ${self.name}" } }
state: lab_thing.a name=x
commands: lab_thing.a runs before it is destroyed: bye x

# A forgotten object is not destroyed.
config: resource lab_thing a { count = 0; lifecycle { destroy = false }; provisioner local-exec { when = destroy; command = "bye" } }
state: lab_thing.a[0]
commands: none

# A destroy provisioner sees only the object itself.
config: resource lab_thing a {}
        resource lab_thing b { provisioner local-exec { when = destroy; command = lab_thing.a.id } }
says: error: Invalid reference from destroy provisioner
"#,
    )
    .await;
}
