# Unchecked: names from google 6.50, azurerm 4.55, digitalocean 2.99, hcloud 1.68 and openstack 3.4.

type "azurerm_express_route_circuit" {
  name    = "expressroute circuit"
  ready   = self.service_provider_provisioning_state == "Provisioned"
  states  = { Provisioning = "Creating", Deprovisioning = "Deleting", NotProvisioned = "Unavailable" }
  columns = { LOCATION = self.location, PROVIDER = self.service_provider_name }
}

type "azurerm_search_shared_private_link_service" {
  name    = "search private link"
  ready   = self.status == "Approved"
  states  = { Pending = "Creating", Disconnected = "Unavailable" }
  columns = { RESOURCE = self.target_resource_id }
}

type "azurerm_signalr_shared_private_link_resource" {
  name    = "signalr private link"
  ready   = self.status == "Approved"
  states  = { Pending = "Creating", Disconnected = "Unavailable", Timeout = "Unavailable" }
  columns = { RESOURCE = self.target_resource_id }
}

type "digitalocean_certificate" {
  name    = "certificate"
  ready   = self.state == "verified"
  states  = { pending = "Creating" }
  columns = { TYPE = self.type, EXPIRES = self.not_after }
}

type "digitalocean_droplet" {
  name    = "virtual machine"
  ready   = self.status == "active"
  states  = { new = "Creating", archive = "Unavailable", off = "Unavailable" }
  columns = { SIZE = self.size, REGION = self.region, IP = self.ipv4_address }
}

type "digitalocean_kubernetes_cluster" {
  name    = "kubernetes cluster"
  ready   = contains(["running", "upgrading"], self.status)
  states  = { provisioning = "Creating", deleting = "Deleting", degraded = "Unavailable" }
  columns = { VERSION = self.version, REGION = self.region }
}

type "digitalocean_loadbalancer" {
  name    = "load balancer"
  ready   = self.status == "active"
  states  = { new = "Creating" }
  columns = { REGION = self.region, IP = self.ip }
}

type "digitalocean_vpc_nat_gateway" {
  name    = "nat gateway"
  ready   = self.state == "ACTIVE"
  states  = { NEW = "Creating", DELETING = "Deleting" }
  columns = { REGION = self.region, SIZE = self.size }
}

type "digitalocean_vpc_peering" {
  name   = "vpc peering"
  ready  = self.status == "ACTIVE"
  states = { PROVISIONING = "Creating", DELETING = "Deleting" }
}

type "google_alloydb_cluster" {
  name    = "database cluster"
  ready   = self.state == "READY"
  states  = { BOOTSTRAPPING = "Creating", CREATING = "Creating", DELETING = "Deleting", MAINTENANCE = "Unavailable", STOPPED = "Unavailable" }
  columns = { LOCATION = self.location, VERSION = self.database_version }
}

type "google_cloudfunctions2_function" {
  name    = "function"
  ready   = self.state == "ACTIVE"
  states  = { DEPLOYING = "Creating", DELETING = "Deleting", UNKNOWN = "Unavailable" }
  columns = { LOCATION = self.location, URL = self.url }
}

type "google_compute_instance" {
  name    = "virtual machine"
  ready   = self.current_status == "RUNNING"
  states  = { PROVISIONING = "Creating", STAGING = "Creating", DEPROVISIONING = "Deleting", STOPPED = "Unavailable", STOPPING = "Unavailable", SUSPENDING = "Unavailable" }
  columns = { TYPE = self.machine_type, ZONE = self.zone }
}

type "google_dataproc_metastore_service" {
  name    = "metadata service"
  ready   = contains(["ACTIVE", "AUTOSCALING", "UPDATING"], self.state)
  states  = { CREATING = "Creating", DELETING = "Deleting", SUSPENDING = "Unavailable" }
  columns = { LOCATION = self.location, TIER = self.tier }
}

type "google_redis_cluster" {
  name    = "redis cluster"
  ready   = contains(["ACTIVE", "UPDATING"], self.state)
  states  = { CREATING = "Creating", DELETING = "Deleting" }
  columns = { REGION = self.region, SHARDS = self.shard_count }
}

type "google_spanner_instance" {
  name    = "database instance"
  ready   = self.state == "READY"
  states  = { CREATING = "Creating" }
  columns = { CONFIG = self.config, NODES = self.num_nodes }
}

type "google_vpc_access_connector" {
  name    = "vpc connector"
  ready   = contains(["READY", "UPDATING"], self.state)
  states  = { CREATING = "Creating", DELETING = "Deleting" }
  columns = { REGION = self.region, TYPE = self.machine_type }
}

type "hcloud_server" {
  name    = "virtual machine"
  ready   = self.status == "running"
  states  = { initializing = "Creating", starting = "Creating", deleting = "Deleting", off = "Unavailable", stopping = "Unavailable" }
  columns = { TYPE = self.server_type, LOCATION = self.location, IP = self.ipv4_address }
}

type "openstack_fw_group_v2" {
  name   = "firewall group"
  ready  = contains(["ACTIVE", "PENDING_UPDATE"], self.status)
  states = { PENDING_CREATE = "Creating", PENDING_DELETE = "Deleting", DOWN = "Unavailable", INACTIVE = "Unavailable" }
}

type "openstack_images_image_v2" {
  name    = "machine image"
  ready   = self.status == "active"
  states  = { importing = "Creating", queued = "Creating", saving = "Creating", pending_delete = "Deleting", deactivated = "Unavailable", killed = "Unavailable" }
  columns = { FORMAT = self.disk_format, SIZE = self.size_bytes }
}

type "openstack_keymanager_secret_v1" {
  name    = "secret"
  ready   = self.status == "ACTIVE"
  states  = { PENDING = "Creating" }
  columns = { TYPE = self.secret_type, EXPIRES = self.expiration }
}
