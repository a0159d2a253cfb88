variable "given" {}

resource "terraform_data" "u" {
  input = var.given
}

output "out" {
  value = terraform_data.u.output
}
