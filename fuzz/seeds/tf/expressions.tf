locals {
  a = 1 + 2 * -3 / 4 % 5 - 6.5e-3
  b = !true && false || 1 <= 2 == (3 != 4) ? "yes ${var.a.s}" : null
  c = [for i, v in var.l : "${i}-${v}" if v != "x"]
  d = { for k, v in var.m : upper(k) => v... }
  e = var.l[*].id
  f = var.o.*.name[0]
  g = var.t[each.key].x["y"][count.index]
  h = <<-EOT
    first %{ if var.b ~}
    yes ${local.a}
    %{ else }no%{ endif }
    %{ for x in var.l ~}
    - ${x}
    %{ endfor ~}
  EOT
  i = try(var.x.y, can(var.z), "none")
  j = merge({ a = 1 }, var.m...)
  k = { (var.s) = 1, "q" : 2, r = [1, 2, 3,], }
  l = "\u00e9 \U0001F600 \n \\ $${no} %%{no} ${"nested ${"twice"}"}"
  m = provider::aws::arn_parse("x")
  n = var.u == "" ? var.v : [var.s]
}
