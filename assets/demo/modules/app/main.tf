terraform {
  required_providers {
    lab = {
      source = "flightdeck.internal/bundled/lab"
    }
  }
}

variable "name" {
  type = string
}

variable "zone" {
  type = string
}

variable "image" {
  type = string
}

variable "network_id" {
  type = string
}

variable "servers" {
  type = map(object({
    size   = string
    weight = number
  }))
}

variable "database_url" {
  type      = string
  sensitive = true
}

variable "tags" {
  type    = map(string)
  default = {}
}

resource "lab_server" "web" {
  for_each = var.servers

  name            = "${var.name}-web-${each.key}"
  image           = var.image
  size            = each.value.size
  network_id      = var.network_id
  security_groups = ["web", "ssh"]
  user_data       = "#!/bin/sh\nexport DATABASE_URL=${var.database_url}\nexec /srv/shop\n"
  tags            = merge(var.tags, { weight = each.value.weight })

  disk {
    name    = "root"
    size_gb = 20
  }

  disk {
    name    = "data"
    size_gb = 100
    kind    = "nvme"
  }

  health_check {
    path = "/healthz"
  }
}

resource "lab_dns_record" "web" {
  for_each = lab_server.web

  zone    = var.zone
  name    = "web-${each.key}"
  ttl     = 60
  records = [each.value.public_ip]
}

resource "lab_thing" "balancer" {
  name = "${var.name}-balancer"
  kind = "load-balancer"

  spec = {
    replicas = 2
    command  = "balance ${join(" ", [for key in sort(keys(lab_server.web)) : lab_server.web[key].private_ip])}"
    ports = [
      { number = 80 },
      { number = 443 },
    ]
  }
}

resource "lab_dns_record" "shop" {
  zone    = var.zone
  name    = "www"
  type    = "CNAME"
  records = [lab_thing.balancer.urn]
}

output "names" {
  value = [for server in lab_server.web : server.name]
}

output "addresses" {
  value = { for key, server in lab_server.web : key => server.private_ip }
}

output "balancer" {
  value = "https://${lab_dns_record.shop.fqdn}/"
}
