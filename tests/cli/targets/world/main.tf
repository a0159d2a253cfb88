variable "v" {
  default = "one"
}

resource "terraform_data" "a" {
  for_each = toset(["x", "y"])
  input    = "${var.v} ${each.key}"
}

resource "terraform_data" "b" {
  for_each = toset(["x", "y"])
  input    = terraform_data.a[each.key].output
}

resource "terraform_data" "c" {
  input = terraform_data.b["x"].output
}

resource "terraform_data" "lone" {
  input = var.v
}

module "m" {
  for_each = toset(["p", "q"])
  source   = "./m"
  given    = terraform_data.a["x"].output
}

# Connected only with its dependents.
module "free" {
  source = "./free"
  given  = var.v
}

resource "terraform_data" "n" {
  input = [terraform_data.c.output, module.free.out]
}

resource "terraform_data" "late" {
  input      = var.v
  depends_on = [module.m]
}

data "terraform_remote_state" "d" {
  backend = "local"
  config  = { path = terraform_data.lone.input == "never" ? "none" : "other.json" }
}

resource "terraform_data" "r" {
  input = data.terraform_remote_state.d.outputs.word
}

output "a_x" {
  value = terraform_data.a["x"].output
}

output "b" {
  value = [for key, one in terraform_data.b : one.output]
}

output "c" {
  value = terraform_data.c.output
}

output "m_p" {
  value = module.m["p"].out
}

output "n" {
  value = terraform_data.n.output
}

output "two" {
  value = [terraform_data.lone.output, module.free.out]
}

output "plain" {
  value = var.v
}
