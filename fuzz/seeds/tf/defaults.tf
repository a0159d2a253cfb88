variable "v" {
  type = object({ a = optional(list(string), ["x"]) })
  default = { a = null }
}
locals {
  x = var.v.a
}
