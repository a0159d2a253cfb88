//! Provider source addresses (`hashicorp/aws`) and references to provider configurations
//! (`aws.west`).

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// The source address of a provider.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProviderSource {
    /// Host, if the address names one; otherwise the tool's default registry.
    pub host: Option<Arc<str>>,
    /// Publisher; `hashicorp` if the address has none.
    pub namespace: Arc<str>,
    /// Provider type.
    pub type_name: Arc<str>,
}

/// Reasons why a text is not a provider source.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ProviderSourceError(pub String);

/// Host of providers that are built into the engine.
const BUILTIN_HOST: &str = "terraform.io";
/// Registry of addresses without a host.
const DEFAULT_HOST: &str = "registry.opentofu.org";
const BUILTIN_NAMESPACE: &str = "builtin";

impl ProviderSource {
    /// Provider that a local name implies without an entry in `required_providers`.
    pub fn implied(local_name: &str) -> ProviderSource {
        // The built-in provider has this name.
        if local_name == "terraform" {
            return ProviderSource {
                host: Some(BUILTIN_HOST.into()),
                namespace: BUILTIN_NAMESPACE.into(),
                type_name: local_name.into(),
            };
        }
        ProviderSource {
            host: None,
            namespace: "hashicorp".into(),
            type_name: local_name.into(),
        }
    }

    /// Returns true if both are the same provider; an omitted host equals the default registry.
    pub fn same_as(&self, other: &ProviderSource) -> bool {
        let host =
            |source: &ProviderSource| source.host.clone().unwrap_or_else(|| DEFAULT_HOST.into());
        (host(self), &self.namespace, &self.type_name)
            == (host(other), &other.namespace, &other.type_name)
    }

    /// Returns true for a provider that is built into the engine.
    pub fn is_builtin(&self) -> bool {
        self.host.as_deref() == Some(BUILTIN_HOST) && &*self.namespace == BUILTIN_NAMESPACE
    }

    /// Validates a part of an address and converts it to lower case.
    pub fn part(text: &str) -> Result<Arc<str>, ProviderSourceError> {
        let fail = |why: &str| Err(ProviderSourceError(format!("\"{text}\" {why}")));
        if text.is_empty() {
            return fail("is empty");
        }
        let lower = text.to_lowercase();
        // As in the reference, the rules of labels in host names apply.
        if lower.starts_with('-') || lower.ends_with('-') {
            return fail("must not start or end with a dash");
        }
        if lower.contains("--") {
            return fail("must not contain two consecutive dashes");
        }
        if lower.chars().any(|c| !(c.is_alphanumeric() || c == '-')) {
            return fail("must contain only letters, digits and dashes");
        }
        Ok(lower.into())
    }
}

impl FromStr for ProviderSource {
    type Err = ProviderSourceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts: Vec<&str> = text.split('/').collect();
        let (host, namespace, type_name) = match parts[..] {
            [type_name] => (None, "hashicorp", type_name),
            [namespace, type_name] => (None, namespace, type_name),
            [host, namespace, type_name] => (Some(host), namespace, type_name),
            _ => {
                return Err(ProviderSourceError(format!(
                    "\"{text}\" is not a provider source: write it as \"type\", \"namespace/type\" or \"host/namespace/type\""
                )));
            }
        };
        let namespace = ProviderSource::part(namespace)?;
        if &*namespace == "-" {
            return Err(ProviderSourceError(format!(
                "\"{text}\" has the legacy namespace \"-\", which is not supported: replace it with the provider's namespace, such as \"hashicorp\""
            )));
        }
        let type_name = ProviderSource::part(type_name)?;
        if let Some(rest) = type_name
            .strip_prefix("terraform-provider-")
            .or_else(|| type_name.strip_prefix("terraform-"))
        {
            return Err(ProviderSourceError(format!(
                "a provider type must not start with \"terraform-\": did you mean \"{rest}\"?"
            )));
        }
        let host = match host {
            None => None,
            Some(host)
                if host.is_empty()
                    || host.contains(|c: char| {
                        !(c.is_alphanumeric() || matches!(c, '.' | '-' | ':'))
                    }) =>
            {
                return Err(ProviderSourceError(format!(
                    "\"{host}\" is not a valid host name"
                )));
            }
            Some(host) if !host.contains('.') && !host.contains(':') && host != "localhost" => {
                return Err(ProviderSourceError(format!(
                    "\"{host}\" is not a valid host name: it has no dot"
                )));
            }
            Some(host) => Some(Arc::from(host.to_lowercase())),
        };
        Ok(ProviderSource {
            host,
            namespace,
            type_name,
        })
    }
}

impl fmt::Display for ProviderSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(host) = &self.host {
            write!(f, "{host}/")?;
        }
        write!(f, "{}/{}", self.namespace, self.type_name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn provider_source_defaults_to_the_public_registry() {
        let source = |text: &str| text.parse::<ProviderSource>().expect("a source");
        assert!(source("null").same_as(&source("registry.opentofu.org/hashicorp/null")));
        assert!(ProviderSource::implied("null").same_as(&source("HashiCorp/null")));
        assert!(!source("null").same_as(&source("example.com/hashicorp/null")));
    }

    #[test]
    fn provider_address_part_allows_letters_digits_and_inner_dashes() {
        for text in ["my_lab", "lab-", "-lab", "a--b", "", "a.b"] {
            assert!(ProviderSource::part(text).is_err(), "{text}");
        }
        assert_eq!(
            &*ProviderSource::part("My-Lab2").expect("a part"),
            "my-lab2"
        );
    }
}
