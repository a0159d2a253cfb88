# Names checked against the schema of hashicorp/aws 5.100.0.

type "aws_acm_certificate" {
  name    = "certificate"
  ready   = self.status == "ISSUED"
  states  = { PENDING_VALIDATION = "Creating" }
  columns = { DOMAIN = self.domain_name, TYPE = self.type, EXPIRES = self.not_after }
}

type "aws_apprunner_connection" {
  name    = "source connection"
  ready   = self.status == "AVAILABLE"
  states  = { PENDING_HANDSHAKE = "Creating" }
  columns = { PROVIDER = self.provider_type }
}

type "aws_apprunner_service" {
  name    = "container service"
  ready   = self.status == "RUNNING"
  states  = { OPERATION_IN_PROGRESS = "Creating", PAUSED = "Unavailable" }
  columns = { URL = self.service_url }
}

type "aws_apprunner_vpc_connector" {
  name    = "vpc connector"
  ready   = self.status == "ACTIVE"
  states  = { INACTIVE = "Unavailable" }
  columns = { REVISION = self.vpc_connector_revision }
}

type "aws_apprunner_vpc_ingress_connection" {
  name    = "vpc ingress connection"
  ready   = contains(["AVAILABLE", "PENDING_UPDATE"], self.status)
  states  = { PENDING_CREATION = "Creating", PENDING_DELETION = "Deleting" }
  columns = { DOMAIN = self.domain_name }
}

type "aws_athena_capacity_reservation" {
  name    = "query capacity"
  ready   = contains(["ACTIVE", "UPDATE_PENDING"], self.status)
  states  = { PENDING = "Creating", CANCELLING = "Deleting" }
  columns = { TARGET = self.target_dpus, ALLOCATED = self.allocated_dpus }
}

type "aws_batch_compute_environment" {
  name    = "batch compute environment"
  ready   = contains(["UPDATING", "VALID"], self.status)
  states  = { CREATING = "Creating", DELETING = "Deleting", INVALID = "Unavailable" }
  columns = { TYPE = self.type, STATE = self.state, REASON = self.status_reason }
}

type "aws_bedrock_guardrail" {
  name    = "model guardrail"
  ready   = contains(["READY", "UPDATING", "VERSIONING"], self.status)
  states  = { CREATING = "Creating", DELETING = "Deleting" }
  columns = { VERSION = self.version }
}

type "aws_cloudfront_distribution" {
  name    = "cdn distribution"
  ready   = self.status == "Deployed"
  states  = { InProgress = "Creating" }
  columns = { DOMAIN = self.domain_name, ENABLED = self.enabled, HTTP = self.http_version }
}

type "aws_cloudhsm_v2_cluster" {
  name    = "hsm cluster"
  ready   = contains(["ACTIVE", "MODIFY_IN_PROGRESS", "UPDATE_IN_PROGRESS"], self.cluster_state)
  states  = { CREATE_IN_PROGRESS = "Creating", INITIALIZE_IN_PROGRESS = "Creating", DELETE_IN_PROGRESS = "Deleting", DEGRADED = "Unavailable", INITIALIZED = "Unavailable", UNINITIALIZED = "Unavailable" }
  columns = { TYPE = self.hsm_type, MODE = self.mode }
}

type "aws_cloudhsm_v2_hsm" {
  name    = "hsm"
  ready   = self.hsm_state == "ACTIVE"
  states  = { CREATE_IN_PROGRESS = "Creating", DELETE_IN_PROGRESS = "Deleting", DEGRADED = "Unavailable" }
  columns = { IP = self.ip_address, ZONE = self.availability_zone }
}

type "aws_cloudwatch_metric_stream" {
  name    = "metric stream"
  ready   = self.state == "running"
  states  = { stopped = "Unavailable" }
  columns = { FORMAT = self.output_format }
}

type "aws_codeconnections_connection" {
  name    = "source connection"
  ready   = self.connection_status == "AVAILABLE"
  states  = { PENDING = "Creating" }
  columns = { PROVIDER = self.provider_type }
}

type "aws_codestarconnections_connection" {
  name    = "source connection"
  ready   = self.connection_status == "AVAILABLE"
  states  = { PENDING = "Creating" }
  columns = { PROVIDER = self.provider_type }
}

type "aws_db_cluster_snapshot" {
  name    = "database cluster snapshot"
  ready   = self.status == "available"
  states  = { copying = "Creating", creating = "Creating", deleting = "Deleting" }
  columns = { ENGINE = self.engine, CLUSTER = self.db_cluster_identifier }
}

type "aws_db_instance" {
  name    = "database"
  ready   = contains(["available", "backing-up", "configuring-enhanced-monitoring", "configuring-iam-database-auth", "configuring-log-exports", "modifying", "storage-optimization"], self.status)
  states  = { creating = "Creating", deleting = "Deleting", stopped = "Unavailable", storage-full = "Unavailable" }
  columns = { ENGINE = self.engine, CLASS = self.instance_class, ENDPOINT = self.endpoint }
}

type "aws_db_snapshot" {
  name    = "database snapshot"
  ready   = self.status == "available"
  states  = { copying = "Creating", creating = "Creating", deleting = "Deleting" }
  columns = { ENGINE = self.engine, SIZE = self.allocated_storage }
}

type "aws_docdb_cluster_snapshot" {
  name    = "document database snapshot"
  ready   = self.status == "available"
  states  = { copying = "Creating", creating = "Creating", deleting = "Deleting" }
  columns = { ENGINE = self.engine, CLUSTER = self.db_cluster_identifier }
}

type "aws_docdb_global_cluster" {
  name    = "global document database"
  ready   = contains(["available", "modifying"], self.status)
  states  = { creating = "Creating", deleting = "Deleting" }
  columns = { ENGINE = self.engine, VERSION = self.engine_version }
}

type "aws_dx_hosted_connection" {
  name    = "hosted direct connection"
  ready   = self.state == "available"
  states  = { ordering = "Creating", pending = "Creating", requested = "Creating", deleting = "Deleting", down = "Unavailable" }
  columns = { BANDWIDTH = self.bandwidth, LOCATION = self.location, VLAN = self.vlan }
}

type "aws_dynamodb_table_export" {
  name    = "table export"
  ready   = self.export_status == "COMPLETED"
  states  = { IN_PROGRESS = "Creating" }
  columns = { BUCKET = self.s3_bucket, ITEMS = self.item_count }
}

type "aws_ebs_fast_snapshot_restore" {
  name    = "fast snapshot restore"
  ready   = self.state == "enabled"
  states  = { enabling = "Creating", optimizing = "Creating", disabling = "Deleting", disabled = "Unavailable" }
  columns = { SNAPSHOT = self.snapshot_id, ZONE = self.availability_zone }
}

type "aws_ec2_transit_gateway_peering_attachment" {
  name    = "transit gateway peering"
  ready   = contains(["available", "modifying"], self.state)
  states  = { initiating = "Creating", initiatingRequest = "Creating", pending = "Creating", pendingAcceptance = "Creating", deleting = "Deleting" }
  columns = { REGION = self.peer_region, GATEWAY = self.peer_transit_gateway_id }
}

type "aws_eks_cluster" {
  name    = "kubernetes cluster"
  ready   = contains(["ACTIVE", "UPDATING"], self.status)
  states  = { CREATING = "Creating", PENDING = "Creating", DELETING = "Deleting" }
  columns = { VERSION = self.version, PLATFORM = self.platform_version }
}

type "aws_eks_fargate_profile" {
  name    = "fargate profile"
  ready   = self.status == "ACTIVE"
  states  = { CREATING = "Creating", DELETING = "Deleting" }
  columns = { CLUSTER = self.cluster_name }
}

type "aws_eks_identity_provider_config" {
  name    = "cluster identity provider"
  ready   = self.status == "ACTIVE"
  states  = { CREATING = "Creating", DELETING = "Deleting" }
  columns = { CLUSTER = self.cluster_name }
}

type "aws_eks_node_group" {
  name    = "kubernetes node group"
  ready   = contains(["ACTIVE", "UPDATING"], self.status)
  states  = { CREATING = "Creating", DELETING = "Deleting", DEGRADED = "Unavailable" }
  columns = { VERSION = self.version, CAPACITY = self.capacity_type, AMI = self.ami_type }
}

type "aws_elasticache_serverless_cache" {
  name    = "serverless cache"
  ready   = contains(["available", "modifying"], self.status)
  states  = { creating = "Creating", deleting = "Deleting" }
  columns = { ENGINE = self.engine, VERSION = self.full_engine_version }
}

type "aws_emr_cluster" {
  name    = "data processing cluster"
  ready   = contains(["RUNNING", "WAITING"], self.cluster_state)
  states  = { BOOTSTRAPPING = "Creating", STARTING = "Creating", TERMINATING = "Deleting" }
  columns = { RELEASE = self.release_label, MASTER = self.master_public_dns }
}

type "aws_glue_trigger" {
  name    = "job trigger"
  ready   = contains(["ACTIVATED", "CREATED", "UPDATING"], self.state)
  states  = { ACTIVATING = "Creating", CREATING = "Creating", DELETING = "Deleting", DEACTIVATED = "Unavailable", DEACTIVATING = "Unavailable" }
  columns = { TYPE = self.type, SCHEDULE = self.schedule }
}

type "aws_instance" {
  name    = "virtual machine"
  ready   = self.instance_state == "running"
  states  = { pending = "Creating", shutting-down = "Deleting", stopped = "Unavailable", stopping = "Unavailable" }
  columns = { TYPE = self.instance_type, PRIVATE_IP = self.private_ip, PUBLIC_IP = self.public_ip }
}

type "aws_kendra_data_source" {
  name    = "search data source"
  ready   = contains(["ACTIVE", "UPDATING"], self.status)
  states  = { CREATING = "Creating", DELETING = "Deleting" }
  columns = { TYPE = self.type, ERROR = self.error_message }
}

type "aws_kendra_index" {
  name    = "search index"
  ready   = contains(["ACTIVE", "SYSTEM_UPDATING", "UPDATING"], self.status)
  states  = { CREATING = "Creating", DELETING = "Deleting" }
  columns = { EDITION = self.edition, ERROR = self.error_message }
}

type "aws_kinesisanalyticsv2_application" {
  name    = "stream application"
  ready   = contains(["AUTOSCALING", "READY", "RUNNING", "UPDATING"], self.status)
  states  = { STARTING = "Creating", DELETING = "Deleting", FORCE_STOPPING = "Unavailable", MAINTENANCE = "Unavailable", ROLLING_BACK = "Unavailable", STOPPING = "Unavailable" }
  columns = { RUNTIME = self.runtime_environment, VERSION = self.version_id }
}

type "aws_kms_external_key" {
  name    = "imported encryption key"
  ready   = self.key_state == "Enabled"
  states  = { Creating = "Creating", PendingDeletion = "Deleting", PendingReplicaDeletion = "Deleting", Disabled = "Unavailable", PendingImport = "Unavailable", Unavailable = "Unavailable" }
  columns = { USAGE = self.key_usage, EXPIRES = self.valid_to }
}

type "aws_lambda_event_source_mapping" {
  name    = "function event source"
  ready   = contains(["Enabled", "Updating"], self.state)
  states  = { Creating = "Creating", Enabling = "Creating", Deleting = "Deleting", Disabled = "Unavailable", Disabling = "Unavailable" }
  columns = { REASON = self.state_transition_reason, RESULT = self.last_processing_result }
}

type "aws_lightsail_container_service" {
  name    = "container service"
  ready   = contains(["READY", "RUNNING", "UPDATING"], self.state)
  states  = { DEPLOYING = "Creating", PENDING = "Creating", DELETING = "Deleting", DISABLED = "Unavailable" }
  columns = { POWER = self.power, SCALE = self.scale, URL = self.url }
}

type "aws_memorydb_multi_region_cluster" {
  name    = "multi-region memory database"
  ready   = contains(["available", "snapshotting", "updating"], self.status)
  states  = { creating = "Creating", deleting = "Deleting" }
  columns = { ENGINE = self.engine, NODE = self.node_type, SHARDS = self.num_shards }
}

type "aws_mskconnect_custom_plugin" {
  name    = "connector plugin"
  ready   = contains(["ACTIVE", "UPDATING"], self.state)
  states  = { CREATING = "Creating", DELETING = "Deleting" }
  columns = { REVISION = self.latest_revision, CONTENT = self.content_type }
}

type "aws_mwaa_environment" {
  name    = "airflow environment"
  ready   = contains(["AVAILABLE", "CREATING_SNAPSHOT", "UPDATING"], self.status)
  states  = { CREATING = "Creating", PENDING = "Creating", DELETING = "Deleting", MAINTENANCE = "Unavailable", UNAVAILABLE = "Unavailable" }
  columns = { VERSION = self.airflow_version, CLASS = self.environment_class, URL = self.webserver_url }
}

type "aws_neptune_cluster_snapshot" {
  name    = "graph database snapshot"
  ready   = self.status == "available"
  states  = { copying = "Creating", creating = "Creating", deleting = "Deleting" }
  columns = { ENGINE = self.engine, CLUSTER = self.db_cluster_identifier }
}

type "aws_neptune_global_cluster" {
  name    = "global graph database"
  ready   = contains(["available", "modifying"], self.status)
  states  = { creating = "Creating", deleting = "Deleting" }
  columns = { ENGINE = self.engine, VERSION = self.engine_version }
}

type "aws_network_interface_attachment" {
  name    = "network interface attachment"
  ready   = self.status == "attached"
  states  = { attaching = "Creating", detaching = "Deleting" }
  columns = { INSTANCE = self.instance_id, INDEX = self.device_index }
}

type "aws_networkmanager_core_network" {
  name    = "core network"
  ready   = contains(["AVAILABLE", "UPDATING"], self.state)
  states  = { CREATING = "Creating", DELETING = "Deleting" }
  columns = { CREATED = self.created_at }
}

type "aws_networkmanager_site_to_site_vpn_attachment" {
  name    = "network vpn attachment"
  ready   = contains(["AVAILABLE", "UPDATING"], self.state)
  states  = { CREATING = "Creating", PENDING_ATTACHMENT_ACCEPTANCE = "Creating", PENDING_NETWORK_UPDATE = "Creating", PENDING_TAG_ACCEPTANCE = "Creating", DELETING = "Deleting" }
  columns = { SEGMENT = self.segment_name, EDGE = self.edge_location }
}

type "aws_networkmanager_vpc_attachment" {
  name    = "network vpc attachment"
  ready   = contains(["AVAILABLE", "UPDATING"], self.state)
  states  = { CREATING = "Creating", PENDING_ATTACHMENT_ACCEPTANCE = "Creating", PENDING_NETWORK_UPDATE = "Creating", PENDING_TAG_ACCEPTANCE = "Creating", DELETING = "Deleting" }
  columns = { SEGMENT = self.segment_name, EDGE = self.edge_location }
}

type "aws_organizations_account" {
  name    = "organization account"
  ready   = self.status == "ACTIVE"
  states  = { PENDING_CLOSURE = "Deleting" }
  columns = { PARENT = self.parent_id, JOINED = self.joined_method }
}

type "aws_ram_resource_share_accepter" {
  name    = "accepted resource share"
  ready   = self.status == "ACTIVE"
  states  = { PENDING = "Creating", DELETING = "Deleting" }
  columns = { SHARE = self.share_name, SENDER = self.sender_account_id }
}

type "aws_route" {
  name    = "route"
  ready   = self.state == "active"
  states  = { blackhole = "Unavailable" }
  columns = { DESTINATION = self.destination_cidr_block, ORIGIN = self.origin }
}

type "aws_route53profiles_association" {
  name    = "dns profile association"
  ready   = contains(["COMPLETE", "UPDATING"], self.status)
  states  = { CREATING = "Creating", DELETING = "Deleting" }
  columns = { PROFILE = self.profile_id, RESOURCE = self.resource_id, MESSAGE = self.status_message }
}

type "aws_route53profiles_profile" {
  name    = "dns profile"
  ready   = contains(["COMPLETE", "UPDATING"], self.status)
  states  = { CREATING = "Creating", DELETING = "Deleting" }
  columns = { SHARED = self.share_status, MESSAGE = self.status_message }
}

type "aws_s3control_multi_region_access_point" {
  name    = "multi-region access point"
  ready   = self.status == "READY"
  states  = { CREATING = "Creating", PARTIALLY_CREATED = "Creating", DELETING = "Deleting", PARTIALLY_DELETED = "Deleting", INCONSISTENT_ACROSS_REGIONS = "Unavailable" }
  columns = { ALIAS = self.alias, DOMAIN = self.domain_name }
}

type "aws_scheduler_schedule_group" {
  name   = "schedule group"
  ready  = self.state == "ACTIVE"
  states = { DELETING = "Deleting" }
}

type "aws_servicecatalog_provisioned_product" {
  name    = "provisioned product"
  ready   = self.status == "AVAILABLE"
  states  = { PLAN_IN_PROGRESS = "Creating", UNDER_CHANGE = "Creating", TAINTED = "Unavailable" }
  columns = { TYPE = self.type, MESSAGE = self.status_message }
}

type "aws_sfn_state_machine" {
  name    = "state machine"
  ready   = self.status == "ACTIVE"
  states  = { DELETING = "Deleting" }
  columns = { TYPE = self.type }
}

type "aws_spot_fleet_request" {
  name    = "spot fleet"
  ready   = contains(["active", "modifying"], self.spot_request_state)
  states  = { submitted = "Creating", cancelled_terminating = "Deleting" }
  columns = { TARGET = self.target_capacity, TYPE = self.fleet_type }
}

type "aws_spot_instance_request" {
  name    = "spot instance request"
  ready   = self.spot_request_state == "active"
  states  = { open = "Creating", closed = "Unavailable" }
  columns = { INSTANCE = self.spot_instance_id, TYPE = self.instance_type, BID = self.spot_bid_status }
}

type "aws_ssm_document" {
  name    = "automation document"
  ready   = contains(["Active", "Updating"], self.status)
  states  = { Creating = "Creating", Deleting = "Deleting" }
  columns = { TYPE = self.document_type, VERSION = self.document_version }
}

type "aws_synthetics_canary" {
  name    = "synthetic monitor"
  ready   = contains(["READY", "RUNNING", "STARTING", "UPDATING"], self.status)
  states  = { CREATING = "Creating", DELETING = "Deleting", STOPPED = "Unavailable", STOPPING = "Unavailable" }
  columns = { RUNTIME = self.runtime_version }
}

type "aws_vpc_endpoint" {
  name    = "vpc endpoint"
  ready   = contains(["Available", "available"], self.state)
  states  = { PendingAcceptance = "Creating", Pending = "Creating", pending = "Creating", pendingAcceptance = "Creating", Deleting = "Deleting", deleting = "Deleting" }
  columns = { TYPE = self.vpc_endpoint_type, SERVICE = self.service_name }
}

type "aws_vpc_endpoint_service" {
  name    = "vpc endpoint service"
  ready   = self.state == "Available"
  states  = { Pending = "Creating", Deleting = "Deleting" }
  columns = { TYPE = self.service_type, SERVICE = self.service_name }
}

type "aws_vpc_ipam_pool" {
  name    = "ip address pool"
  ready   = contains(["create-complete", "modify-complete", "modify-in-progress"], self.state)
  states  = { create-in-progress = "Creating", delete-in-progress = "Deleting" }
  columns = { FAMILY = self.address_family, LOCALE = self.locale }
}

type "aws_vpc_peering_connection" {
  name    = "vpc peering"
  ready   = self.accept_status == "active"
  states  = { initiating-request = "Creating", pending-acceptance = "Creating", provisioning = "Creating", deleting = "Deleting" }
  columns = { VPC = self.vpc_id, PEER = self.peer_vpc_id }
}

type "aws_vpc_security_group_vpc_association" {
  name    = "security group association"
  ready   = self.state == "associated"
  states  = { associating = "Creating", disassociating = "Deleting" }
  columns = { GROUP = self.security_group_id, VPC = self.vpc_id }
}

type "aws_vpclattice_resource_gateway" {
  name    = "lattice resource gateway"
  ready   = contains(["ACTIVE", "UPDATE_IN_PROGRESS"], self.status)
  states  = { CREATE_IN_PROGRESS = "Creating", DELETE_IN_PROGRESS = "Deleting" }
  columns = { VPC = self.vpc_id }
}

type "aws_vpclattice_service" {
  name    = "lattice service"
  ready   = self.status == "ACTIVE"
  states  = { CREATE_IN_PROGRESS = "Creating", DELETE_IN_PROGRESS = "Deleting" }
  columns = { AUTH = self.auth_type, DOMAIN = self.custom_domain_name }
}

type "aws_vpclattice_service_network_service_association" {
  name   = "lattice service association"
  ready  = self.status == "ACTIVE"
  states = { CREATE_IN_PROGRESS = "Creating", DELETE_IN_PROGRESS = "Deleting" }
}

type "aws_vpclattice_service_network_vpc_association" {
  name   = "lattice vpc association"
  ready  = contains(["ACTIVE", "UPDATE_IN_PROGRESS"], self.status)
  states = { CREATE_IN_PROGRESS = "Creating", DELETE_IN_PROGRESS = "Deleting" }
}

type "aws_vpclattice_target_group" {
  name    = "lattice target group"
  ready   = self.status == "ACTIVE"
  states  = { CREATE_IN_PROGRESS = "Creating", DELETE_IN_PROGRESS = "Deleting" }
  columns = { TYPE = self.type }
}

type "aws_workspaces_workspace" {
  name    = "virtual desktop"
  ready   = contains(["AVAILABLE", "STARTING", "STOPPED", "STOPPING", "UPDATING"], self.state)
  states  = { PENDING = "Creating", TERMINATING = "Deleting", IMPAIRED = "Unavailable", UNHEALTHY = "Unavailable" }
  columns = { COMPUTER = self.computer_name, IP = self.ip_address }
}
