//! Arguments of each backend in OpenTofu 1.12. Backend metadata names all of them, in this
//! spelling.

use super::BackendKind;
use cty::Type;

/// Type of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Text,
    Number,
    Bool,
    Map,
    List,
    Set,
    Object(&'static [(&'static str, Shape)]),
}

use Shape::{Bool, List, Map, Number, Object, Set, Text};

impl Shape {
    /// Type to convert values to; attributes of objects are optional.
    pub(super) fn ty(self) -> Type {
        match self {
            Text => Type::String,
            Number => Type::Number,
            Bool => Type::Bool,
            Map => Type::map(Type::String),
            List => Type::list(Type::String),
            Set => Type::set(Type::String),
            Object(attributes) => Type::object_with_optional(
                attributes.iter().map(|(name, shape)| (*name, shape.ty())),
                attributes.iter().map(|(name, _)| *name),
            ),
        }
    }
}

/// Arguments of a backend by name.
pub(super) type Arguments = &'static [(&'static str, Shape)];

/// Arguments of a kind of backend.
pub(super) fn of(kind: BackendKind) -> Arguments {
    match kind {
        BackendKind::Local => LOCAL,
        BackendKind::Http => HTTP,
        BackendKind::S3 => S3,
        BackendKind::Pg => PG,
        BackendKind::Gcs => GCS,
        BackendKind::Azurerm => AZURERM,
    }
}

const LOCAL: Arguments = &[("path", Text), ("workspace_dir", Text)];

const HTTP: Arguments = &[
    ("address", Text),
    ("client_ca_certificate_pem", Text),
    ("client_certificate_pem", Text),
    ("client_private_key_pem", Text),
    ("headers", Map),
    ("lock_address", Text),
    ("lock_method", Text),
    ("password", Text),
    ("retry_max", Number),
    ("retry_wait_max", Number),
    ("retry_wait_min", Number),
    ("skip_cert_verification", Bool),
    ("unlock_address", Text),
    ("unlock_method", Text),
    ("update_method", Text),
    ("username", Text),
];

const S3: Arguments = &[
    ("access_key", Text),
    ("acl", Text),
    ("allowed_account_ids", Set),
    ("assume_role", Object(ASSUME_ROLE)),
    ("assume_role_duration_seconds", Number),
    ("assume_role_policy", Text),
    ("assume_role_policy_arns", Set),
    ("assume_role_tags", Map),
    ("assume_role_transitive_tag_keys", Set),
    ("assume_role_with_web_identity", Object(WEB_IDENTITY)),
    ("bucket", Text),
    ("custom_ca_bundle", Text),
    ("dynamodb_endpoint", Text),
    ("dynamodb_table", Text),
    ("ec2_metadata_service_endpoint", Text),
    ("ec2_metadata_service_endpoint_mode", Text),
    ("encrypt", Bool),
    ("endpoint", Text),
    ("endpoints", Object(ENDPOINTS)),
    ("external_id", Text),
    ("forbidden_account_ids", Set),
    ("force_path_style", Bool),
    ("http_proxy", Text),
    ("https_proxy", Text),
    ("iam_endpoint", Text),
    ("insecure", Bool),
    ("key", Text),
    ("kms_key_id", Text),
    ("lock_tags", Map),
    ("max_retries", Number),
    ("no_proxy", Text),
    ("profile", Text),
    ("region", Text),
    ("retry_mode", Text),
    ("role_arn", Text),
    ("secret_key", Text),
    ("session_name", Text),
    ("shared_config_files", Set),
    ("shared_credentials_file", Text),
    ("shared_credentials_files", Set),
    ("skip_credentials_validation", Bool),
    ("skip_metadata_api_check", Bool),
    ("skip_region_validation", Bool),
    ("skip_requesting_account_id", Bool),
    ("skip_s3_checksum", Bool),
    ("sse_customer_key", Text),
    ("state_tags", Map),
    ("sts_endpoint", Text),
    ("sts_region", Text),
    ("token", Text),
    ("use_dualstack_endpoint", Bool),
    ("use_fips_endpoint", Bool),
    ("use_lockfile", Bool),
    ("use_path_style", Bool),
    ("workspace_key_prefix", Text),
];

const ENDPOINTS: Arguments = &[
    ("dynamodb", Text),
    ("iam", Text),
    ("s3", Text),
    ("sts", Text),
];

const ASSUME_ROLE: Arguments = &[
    ("duration", Text),
    ("external_id", Text),
    ("policy", Text),
    ("policy_arns", Set),
    ("role_arn", Text),
    ("session_name", Text),
    ("tags", Map),
    ("transitive_tag_keys", Set),
];

const WEB_IDENTITY: Arguments = &[
    ("duration", Text),
    ("policy", Text),
    ("policy_arns", Set),
    ("role_arn", Text),
    ("session_name", Text),
    ("web_identity_token", Text),
    ("web_identity_token_file", Text),
];

const PG: Arguments = &[
    ("conn_str", Text),
    ("index_name", Text),
    ("schema_name", Text),
    ("skip_index_creation", Bool),
    ("skip_schema_creation", Bool),
    ("skip_table_creation", Bool),
    ("table_name", Text),
];

const GCS: Arguments = &[
    ("access_token", Text),
    ("bucket", Text),
    ("credentials", Text),
    ("encryption_key", Text),
    ("impersonate_service_account", Text),
    ("impersonate_service_account_delegates", List),
    ("kms_encryption_key", Text),
    ("prefix", Text),
    ("storage_custom_endpoint", Text),
    ("universe_domain", Text),
];

const AZURERM: Arguments = &[
    ("access_key", Text),
    ("ado_service_connection_id", Text),
    ("client_certificate", Text),
    ("client_certificate_password", Text),
    ("client_certificate_path", Text),
    ("client_id", Text),
    ("client_id_file_path", Text),
    ("client_secret", Text),
    ("client_secret_file_path", Text),
    ("container_name", Text),
    ("customer_provided_key", Text),
    ("encryption_scope", Text),
    ("endpoint", Text),
    ("environment", Text),
    ("key", Text),
    ("metadata_host", Text),
    ("msi_endpoint", Text),
    ("oidc_request_token", Text),
    ("oidc_request_url", Text),
    ("oidc_token", Text),
    ("oidc_token_file_path", Text),
    ("resource_group_name", Text),
    ("sas_token", Text),
    ("snapshot", Bool),
    ("storage_account_name", Text),
    ("subscription_id", Text),
    ("tenant_id", Text),
    ("timeout_seconds", Number),
    ("use_aks_workload_identity", Bool),
    ("use_azuread_auth", Bool),
    ("use_cli", Bool),
    ("use_msi", Bool),
    ("use_oidc", Bool),
];
