type "lab_bucket" {
  ready  = self.status == "ready"
  states = { creating = "Creating", incomplete = "Unavailable" }
}

type "lab_database" {
  ready  = self.status == "ready"
  states = { creating = "Creating", incomplete = "Unavailable" }
}

type "lab_dns_record" {
  ready  = self.status == "ready"
  states = { creating = "Creating", incomplete = "Unavailable" }
}

type "lab_network" {
  ready  = self.status == "ready"
  states = { creating = "Creating", incomplete = "Unavailable" }
}

type "lab_server" {
  ready  = self.status == "ready"
  states = { creating = "Creating", incomplete = "Unavailable" }
}

type "lab_thing" {
  ready  = self.status == "ready"
  states = { creating = "Creating", incomplete = "Unavailable" }
}
