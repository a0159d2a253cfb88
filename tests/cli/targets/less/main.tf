# Part of the world: some keys, resources and modules are no longer declared.
variable "v" {
  default = "one"
}

resource "terraform_data" "a" {
  for_each = toset(["x"])
  input    = "${var.v} ${each.key}"
}

resource "terraform_data" "c" {
  input = terraform_data.a["x"].output
}

resource "terraform_data" "lone" {
  input = var.v
}

module "m" {
  for_each = toset(["p"])
  source   = "./m"
  given    = terraform_data.a["x"].output
}

output "a_x" {
  value = terraform_data.a["x"].output
}

output "c" {
  value = terraform_data.c.output
}
