x {
  y = <<EOT
no end