output "balancer" {
  description = "Where the shop answers."
  value       = module.app.balancer
}

output "servers" {
  description = "Addresses of the web servers."
  value       = module.app.addresses
}

output "buckets" {
  value = { for name, bucket in lab_bucket.store : name => bucket.url }
}

output "database_url" {
  value     = lab_database.orders.connection_string
  sensitive = true
}
