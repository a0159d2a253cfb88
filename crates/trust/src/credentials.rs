//! Environment variables that hold credentials of the user. A `secret` block of a workspace reads
//! them only with trust, because the configuration decides where its values go.

/// Beginnings of the names of credentials and of settings beside them.
const PREFIXES: [&str; 47] = [
    "AWS_",
    "TF_TOKEN_",
    "ARM_",
    "AZURE_",
    "GOOGLE_",
    "GCP_",
    "GCLOUD_",
    "CLOUDSDK_",
    "VAULT_",
    "CONSUL_",
    "NOMAD_",
    "KUBE",
    "HELM_",
    "DOCKER_",
    "GITHUB_",
    "GH_",
    "GITLAB_",
    "BITBUCKET_",
    "CI_JOB_",
    "CI_REGISTRY_",
    "NPM_",
    "NODE_AUTH_",
    "CARGO_",
    "PYPI_",
    "TWINE_",
    "PIP_",
    "HCLOUD_",
    "DIGITALOCEAN_",
    "CLOUDFLARE_",
    "DATADOG_",
    "DD_",
    "OCI_",
    "ALICLOUD_",
    "TENCENTCLOUD_",
    "SCW_",
    "OS_",
    "SSH_",
    "GPG_",
    "PGPASS",
    "MYSQL_PWD",
    "SUDO_",
    "ANSIBLE_VAULT",
    "FLIGHTDECK_",
    "TF_HTTP_",
    "TF_ENCRYPTION",
    "PG_CONN_STR",
    "DATABASE_URL",
];

/// Endings of the names of credentials.
const SUFFIXES: [&str; 18] = [
    "TOKEN",
    "API_KEY",
    "APIKEY",
    "ACCESS_KEY",
    "SECRET_KEY",
    "PRIVATE_KEY",
    "AUTH_KEY",
    "SECRET",
    "CREDENTIALS",
    "CREDENTIAL",
    "_PAT",
    "_AUTH",
    "AUTHORIZATION",
    "PASSPHRASE",
    "ASKPASS",
    "_COOKIE",
    "_PROXY",
    "_DSN",
];

/// Returns true for the name of a variable that holds credentials by its usual meaning.
pub fn is_credential(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    // Variables of this configuration, which a pipeline sets for it.
    if name.starts_with("TF_VAR_") {
        return false;
    }
    PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || SUFFIXES.iter().any(|suffix| name.ends_with(suffix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_known_by_their_names() {
        for name in [
            "AWS_SECRET_ACCESS_KEY",
            "aws_secret_access_key",
            "TF_TOKEN_app_terraform_io",
            "GITHUB_TOKEN",
            "TOKEN",
            "MY_TOKEN",
            "ARM_CLIENT_SECRET",
            "GOOGLE_CREDENTIALS",
            "KUBECONFIG",
            "OPENAI_API_KEY",
            "PGPASSWORD",
            "FLIGHTDECK_STORE_KEY",
            "SSH_AUTH_SOCK",
            "SLACK_CLIENT_SECRET",
            "TF_HTTP_PASSWORD",
            "TF_ENCRYPTION",
            "HTTPS_PROXY",
        ] {
            assert!(is_credential(name), "{name}");
        }
        for name in ["DB_PASSWORD", "TF_VAR_token", "APP_NAME", "TOKENS", "A"] {
            assert!(!is_credential(name), "{name}");
        }
    }
}
