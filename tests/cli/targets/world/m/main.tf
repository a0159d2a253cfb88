variable "given" {}

resource "terraform_data" "in" {
  input = var.given
}

module "deep" {
  source = "./deep"
  given  = terraform_data.in.output
}

output "out" {
  value = module.deep.out
}
