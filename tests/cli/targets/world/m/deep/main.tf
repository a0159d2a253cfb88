variable "given" {}

resource "terraform_data" "core" {
  input = var.given
}

output "out" {
  value = terraform_data.core.output
}
