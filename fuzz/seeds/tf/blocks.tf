terraform {
  required_version = ">= 1.0"
  required_providers {
    p = { source = "a/b", version = "~> 1.2", configuration_aliases = [p.q] }
  }
  backend "local" {
    path = "x"
  }
}
provider "p" {
  alias = "q"
}
variable "v" {
  type      = list(object({ a = optional(string, "d"), b = map(any), c = tuple([number, bool]) }))
  default   = [{ b = {}, c = [1, true] }]
  nullable  = false
  sensitive = true
  ephemeral = true
  validation {
    condition     = length(var.v) > 0
    error_message = "Give ${1} at least."
  }
}
resource "p_thing" "t" {
  for_each = toset(["a", "b"])
  provider = p.q
  name     = each.key
  dynamic "rule" {
    for_each = var.v
    iterator = it
    labels   = []
    content {
      port = it.value.a
    }
  }
  lifecycle {
    create_before_destroy = true
    ignore_changes        = [tags["x"], rule[0].port]
    replace_triggered_by  = [p_thing.u.id]
    precondition {
      condition     = self.id != ""
      error_message = "no"
    }
  }
  depends_on = [p_thing.u]
  provisioner "local-exec" {
    when    = destroy
    command = "true"
  }
}
moved {
  from = p_thing.a[0]
  to   = module.m["k"].p_thing.a
}
removed {
  from = p_thing.gone
  lifecycle {
    destroy = false
  }
}
import {
  to = p_thing.t["a"]
  id = "1"
}
check "c" {
  data "p_d" "x" {}
  assert {
    condition     = data.p_d.x.ok
    error_message = "not ok"
  }
}
module "m" {
  source    = "./m"
  count     = 2
  providers = { p = p.q }
}
output "o" {
  value      = module.m[0].x
  sensitive  = true
  depends_on = [check.c]
}
