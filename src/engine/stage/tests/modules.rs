//! Modules: their instances, arguments and outputs.

use crate::stage::testing::check;

#[tokio::test]
async fn outputs_of_a_module_have_the_shape_of_its_call() {
    check(
        r#"
# One object, a list, or a map.
config: module one { source = "./m" }
        module list { source = "./m"; count = 2 }
        module map { source = "./m"; for_each = toset(["k"]) }
        output one { value = module.one.o }
        output list { value = module.list[*].o }
        output map { value = module.map["k"].o }
        @@m output o { value = "x" }
outputs: + list: none > ["x", "x"]
         + map: none > "x"
         + one: none > "x"

# A call without instances.
config: module m { source = "./m"; count = 0 }
        output o { value = length(module.m) }
        @@m output o { value = "x" }
outputs: + o: none > 0

# A disabled call.
config: module m { source = "./m"; lifecycle { enabled = false } }
        output o { value = module.m == null }
        @@m output o { value = "x" }
            resource lab_thing a {}
changes: none
outputs: + o: none > true

# Outputs of outputs.
config: module m { source = "./m" }
        output o { value = module.m.o }
        @@m module n { source = "../n" }
            output o { value = module.n.o }
        @@n resource lab_thing a { name = "x" }
            output o { value = lab_thing.a.name }
changes: + module.m.module.n.lab_thing.a
outputs: + o: none > "x"

# A directory of the module.
config: module m { source = "./m" }
        output here { value = path.module }
        output there { value = module.m.o }
        @@m output o { value = path.module }
outputs: + here: none > "."
         + there: none > "m"
"#,
    )
    .await;
}

#[tokio::test]
async fn arguments_are_evaluated_for_each_instance_of_the_call() {
    check(
        r#"
# With the index of the instance.
config: module m { source = "./m"; count = 2; in = "n${count.index}" }
        @@m variable in {}
            resource lab_thing a { name = var.in }
values: + module.m[0].lab_thing.a: id none > ?, name none > "n0", note none > ?
        + module.m[1].lab_thing.a: id none > ?, name none > "n1", note none > ?

# With its key and value.
config: module m { source = "./m"; for_each = { k = "v" }; in = "${each.key}-${each.value}" }
        @@m variable in {}
            resource lab_thing a { name = var.in }
values: + module.m["k"].lab_thing.a: id none > ?, name none > "k-v", note none > ?

# Two calls of one module have objects of their own.
config: module x { source = "./m"; in = "x" }
        module y { source = "./m" }
        @@m variable in { default = "d" }
            resource lab_thing a { name = var.in }
state: module.x.lab_thing.a name=x
       module.y.lab_thing.a name=old
values: ~ module.y.lab_thing.a: name "old" > "d"

# A change in one instance leaves the other alone.
config: module m { source = "./m"; count = 2 }
        @@m resource lab_thing a { name = "new" }
            resource lab_thing b { name = lab_thing.a.name }
state: module.m[0].lab_thing.a name=new
       module.m[0].lab_thing.b name=new <module.m[0].lab_thing.a
       module.m[1].lab_thing.a name=old
       module.m[1].lab_thing.b name=old <module.m[1].lab_thing.a
changes: ~ module.m[1].lab_thing.a
         ~ module.m[1].lab_thing.b

# Deprecated variables and outputs are reported where they are used.
config: module m { source = "./m"; old = 1 }
        output o { value = module.m.old }
        @@m variable old { default = 0; deprecated = "use new" }
            output old { value = var.old; deprecated = "use new" }
says: warning: Variable marked as deprecated by the module author
      warning: Value derived from a deprecated source
outputs: + o: none > 1
"#,
    )
    .await;
}

#[tokio::test]
async fn stage_records_the_files_that_its_values_depend_on() {
    check(
        r#"
# The contents of a file.
config: resource lab_thing a { name = filemd5("main.tf") }
inputs: file:main.tf

# The existence of a file, whether it exists or not.
config: resource lab_thing a { name = fileexists("missing.txt") }
inputs: presence:missing.txt

# In a local value, an output and a module.
config: locals { l = filesha1("main.tf") }
        output o { value = fileexists("x.txt") }
        module m { source = "./m" }
        @@m output o { value = filemd5("${path.module}/main.tf") }
inputs: file:m/main.tf
        file:main.tf
        presence:x.txt

# The command of a provisioner.
config: resource lab_thing a { provisioner local-exec { command = filemd5("main.tf") } }
inputs: file:main.tf

# A sensitive path is not shown.
config: variable v { sensitive = true; default = "main.tf" }
        resource lab_thing a { secret = filemd5(var.v) }
inputs: file:main.tf (hidden)

# Without functions of files, nothing.
config: resource lab_thing a { name = upper("x") }
inputs: none
"#,
    )
    .await;
}
