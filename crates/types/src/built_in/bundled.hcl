# Types of the bundled lab.

type "lab_bucket" {
  ready   = self.status == "ready"
  states  = { creating = "Creating", incomplete = "Unavailable" }
  columns = { URL = self.url }
}

type "lab_database" {
  ready   = self.status == "ready"
  states  = { creating = "Creating", incomplete = "Unavailable" }
  columns = { ENGINE = self.engine, ENDPOINT = self.endpoint }
}

type "lab_dns_record" {
  ready   = self.status == "ready"
  states  = { creating = "Creating", incomplete = "Unavailable" }
  columns = { NAME = self.fqdn }
}

type "lab_network" {
  ready   = self.status == "ready"
  states  = { creating = "Creating", incomplete = "Unavailable" }
  columns = { CIDR = self.cidr }
}

type "lab_server" {
  ready   = self.status == "ready"
  states  = { creating = "Creating", incomplete = "Unavailable" }
  columns = { IP = self.private_ip, SIZE = self.size, IMAGE = self.image }
}

type "lab_thing" {
  ready   = self.status == "ready"
  states  = { creating = "Creating", incomplete = "Unavailable" }
  columns = { NAME = self.name, KIND = self.kind }
}
