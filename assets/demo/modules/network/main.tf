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

variable "cidr" {
  type = string
}

variable "tags" {
  type    = map(string)
  default = {}
}

resource "lab_network" "main" {
  name = var.name
  cidr = var.cidr
  tags = var.tags

  subnet {
    name = "public"
    cidr = cidrsubnet(var.cidr, 8, 1)
  }

  subnet {
    name = "private"
    cidr = cidrsubnet(var.cidr, 8, 2)
    zone = "b"
  }
}

resource "lab_thing" "firewall" {
  name = "${var.name}-firewall"
  kind = "firewall"

  data = {
    network = lab_network.main.id
    allow   = "80,443"
  }
}

output "id" {
  value = lab_network.main.id
}

output "gateway" {
  value = lab_network.main.gateway
}
