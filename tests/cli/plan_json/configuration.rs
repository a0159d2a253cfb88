//! Configuration whose plan representation is compared.

/// Resources, a module call, outputs and a check.
pub(super) const MAIN: &str = r#"
variable "names" {
  type        = set(string)
  default     = ["a", "b"]
  description = "Who is there."
}
variable "size" {
  type    = object({ n = number, unit = optional(string, "m") })
  default = { n = 1 }
}
variable "secret" {
  type      = string
  sensitive = true
}
resource "terraform_data" "each" {
  for_each         = var.names
  input            = { key = each.key, of = module.m["x"].made[0].id, size = var.size.n }
  triggers_replace = "fixed"
}
resource "terraform_data" "counted" {
  count      = 1 + 1
  input      = terraform_data.each["a"].output.key
  depends_on = [module.m, terraform_data.each["b"]]
  provisioner "local-exec" {
    command     = "echo ${self.id}"
    environment = { A = var.secret }
  }
}
module "m" {
  source   = "./m"
  for_each = toset(["x"])
  from     = "y"
}
output "all" {
  value       = terraform_data.counted[*].id
  description = "Every one."
}
output "none" {
  value = null
}
output "hidden" {
  value     = var.secret
  sensitive = true
}
check "size" {
  assert {
    condition     = var.size.n > 1
    error_message = "Too small."
  }
}
"#;

/// The called module.
pub(super) const MODULE: &str = r#"
variable "from" {}
resource "terraform_data" "made" {
  count = 1
  input = var.from
  lifecycle {
    precondition {
      condition     = var.from != ""
      error_message = "Empty."
    }
  }
}
output "made" {
  value = terraform_data.made
}
"#;

/// More resources in JSON syntax.
pub(super) const IN_JSON: &str = r#"{
  "locals": {"words": ["a", "b"]},
  "resource": {"terraform_data": {"json": {
    "for_each": "${toset(local.words)}",
    "input": {"k": "${each.key}", "n": 1.50, "plain": "text"}
  }}},
  "output": {"json": {"value": "${terraform_data.json[\"a\"].output.k}", "deprecated": "No more."}}
}"#;
