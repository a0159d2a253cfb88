type "aws_db_instance" {
  name    = "database"
  ready   = self.status == "available"
  states  = { creating = "Creating", deleting = "Deleting", failed = "Unavailable" }
  columns = { ENGINE = self.engine, ENDPOINT = self.endpoint }
}
