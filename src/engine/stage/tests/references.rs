//! References of a configuration that cannot be resolved. They are found without variables and
//! state.

use crate::stage::testing::check;

#[tokio::test]
async fn references_to_undeclared_names_are_errors() {
    check(
        r#"
# A resource.
config: resource lab_thing a { name = lab_thing.b.id }
says: error: Reference to undeclared resource

# A data source.
config: resource lab_thing a { name = data.lab_data.d.value }
says: error: Reference to undeclared resource

# A variable.
config: resource lab_thing a { name = var.v }
says: error: Reference to undeclared input variable

# A local value.
config: resource lab_thing a { name = local.l }
says: error: Reference to undeclared local value

# A module.
config: resource lab_thing a { name = module.m.out }
says: error: Reference to undeclared module

# An output of a module.
config: module m { source = "./m" }
        resource lab_thing a { name = module.m.out }
        @@m locals {}
says: error: Unsupported attribute

# An attribute of a resource.
config: resource lab_thing a {}
        resource lab_thing b { name = lab_thing.a.colour }
says: error: Unsupported attribute

# each without for_each.
config: resource lab_thing a { name = each.key }
says: error: Reference to "each" in context without for_each

# count without count.
config: resource lab_thing a { size = count.index }
says: error: Reference to "count" in non-counted context

# self outside of conditions and provisioners.
config: resource lab_thing a { name = self.id }
says: error: Invalid "self" reference

# An attribute of each, count, path and terraform.
config: resource lab_thing a { for_each = toset(["x"]); name = each.index }
        resource lab_thing b { count = 1; name = count.key }
        resource lab_thing c { name = path.home }
        resource lab_thing d { name = terraform.version }
says: error: Invalid "each" attribute
      error: Invalid "count" attribute
      error: Invalid "path" attribute
      error: Invalid "terraform" attribute

# An instance key that the resource needs.
config: resource lab_thing a { count = 1 }
        resource lab_thing b { name = lab_thing.a.id }
says: error: Missing resource instance key

# An instance key that the resource does not have.
config: resource lab_thing a {}
        resource lab_thing b { name = lab_thing.a[0].id }
says: error: Unexpected resource instance key

# The resource itself.
config: resource lab_thing a { name = lab_thing.a.note }
says: error: Self-referential block

# The data source of a check, from outside.
config: check c { data lab_data d { name = "x" }; assert { condition = data.lab_data.d.value != ""; error_message = "No." } }
        resource lab_thing a { name = data.lab_data.d.value }
says: error: Reference to scoped resource

# Nor is it a dependency.
config: check c { data lab_data d { name = "x" }; assert { condition = data.lab_data.d.value != ""; error_message = "Empty." } }
        resource lab_thing a { depends_on = [data.lab_data.d] }
says: error: Reference to scoped resource

# depends_on with an unknown resource, an unknown module, and an attribute.
config: resource lab_thing a { depends_on = [lab_thing.x] }
        resource lab_thing b { depends_on = [module.x] }
        resource lab_thing c { depends_on = [lab_thing.d.id] }
        resource lab_thing d {}
says: error: Reference to undeclared resource
      error: Reference to undeclared module
      error: Invalid depends_on reference

# An import into a data source, which has no object of its own.
config: import { to = data.lab_data.d; id = "x" }
        data lab_data d { name = "x" }
says: error: Configuration for import target does not exist
"#,
    )
    .await;
}

#[tokio::test]
async fn cycles_of_references_are_errors() {
    check(
        r#"
# Two resources.
config: resource lab_thing a { name = lab_thing.b.id }
        resource lab_thing b { name = lab_thing.a.id }
says: error: Cycle: lab_thing.a, lab_thing.b

# Local values.
config: locals { a = local.b; b = local.a }
says: error: Cycle: local.a, local.b

# Through depends_on.
config: resource lab_thing a { depends_on = [lab_thing.b] }
        resource lab_thing b { name = lab_thing.a.id }
says: error: Cycle: lab_thing.a, lab_thing.b

# A provider that depends on its own resource.
config: provider lab { region = lab_thing.a.id }
        resource lab_thing a {}
says: error: Cycle: provider["registry.opentofu.org/hashicorp/lab"], lab_thing.a

# A module that passes its output to itself.
config: module m { source = "./m"; in = module.m.out }
        @@m variable in {}
            output out { value = var.in }
says: error: Cycle: module.m.var.in, module.m.output.out
"#,
    )
    .await;
}
