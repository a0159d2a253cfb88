//! Provider sources of a configuration (`hashicorp/aws`), whose rules are stricter than those of
//! other addresses.

use crate::address::ProviderAddress;
use crate::hosts::{BUILTIN_HOST, DEFAULT_HOST};

/// Reasons why a text is not a provider source.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SourceError(pub String);

/// Namespace of sources that have none.
const DEFAULT_NAMESPACE: &str = "hashicorp";
const BUILTIN_NAMESPACE: &str = "builtin";

impl ProviderAddress {
    /// Provider of the default namespace, as a source without namespace and host names it.
    #[must_use]
    pub fn of_name(name: &str) -> Self {
        Self {
            host: None,
            namespace: DEFAULT_NAMESPACE.to_owned(),
            name: name.to_owned(),
        }
    }

    /// Provider that a local name implies without an entry in `required_providers`.
    #[must_use]
    pub fn implied(local_name: &str) -> Self {
        // The built-in provider has this name.
        if local_name == "terraform" {
            return Self {
                host: Some(BUILTIN_HOST.to_owned()),
                namespace: BUILTIN_NAMESPACE.to_owned(),
                name: local_name.to_owned(),
            };
        }
        Self::of_name(local_name)
    }

    /// Parses the source of a provider in a configuration.
    ///
    /// # Errors
    /// The text is not a valid source.
    pub fn of_source(text: &str) -> Result<Self, SourceError> {
        let parts: Vec<&str> = text.split('/').collect();
        let (host, namespace, name) = match parts[..] {
            [name] => (None, DEFAULT_NAMESPACE, name),
            [namespace, name] => (None, namespace, name),
            [host, namespace, name] => (Some(host), namespace, name),
            _ => {
                return Err(SourceError(format!(
                    "\"{text}\" is not a provider source: write it as \"type\", \"namespace/type\" or \"host/namespace/type\""
                )));
            }
        };
        let namespace = Self::part(namespace)?;
        let name = Self::part(name)?;
        if let Some(rest) = name
            .strip_prefix("terraform-provider-")
            .or_else(|| name.strip_prefix("terraform-"))
        {
            return Err(SourceError(format!(
                "a provider type must not start with \"terraform-\": did you mean \"{rest}\"?"
            )));
        }
        Ok(Self {
            host: host.map(source_host).transpose()?,
            namespace,
            name,
        })
    }

    /// Validates a part of a source and converts it to lower case.
    ///
    /// # Errors
    /// The text is not a valid namespace or type.
    pub fn part(text: &str) -> Result<String, SourceError> {
        let fail = |why: &str| Err(SourceError(format!("\"{text}\" {why}")));
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
        Ok(lower)
    }

    /// Returns true if both sources mean the same provider; an omitted host equals the default
    /// registry.
    #[must_use]
    pub fn is_same_source(&self, other: &Self) -> bool {
        let host = |source: &Self| {
            source
                .host
                .clone()
                .unwrap_or_else(|| DEFAULT_HOST.to_owned())
        };
        (host(self), &self.namespace, &self.name) == (host(other), &other.namespace, &other.name)
    }

    /// Returns true for a provider that is part of the language.
    #[must_use]
    pub fn is_builtin(&self) -> bool {
        self.host() == BUILTIN_HOST && self.namespace == BUILTIN_NAMESPACE
    }

    /// Returns true for a provider of the namespace that sources may omit.
    #[must_use]
    pub fn has_default_namespace(&self) -> bool {
        self.namespace == DEFAULT_NAMESPACE
    }
}

fn source_host(host: &str) -> Result<String, SourceError> {
    let valid = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | ':');
    if host.is_empty() || !host.chars().all(valid) {
        return Err(SourceError(format!("\"{host}\" is not a valid host name")));
    }
    if !host.contains('.') && !host.contains(':') && host != "localhost" {
        return Err(SourceError(format!(
            "\"{host}\" is not a valid host name: it has no dot"
        )));
    }
    Ok(host.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn provider_source_defaults_to_the_public_registry() {
        let source = |text: &str| ProviderAddress::of_source(text).expect("a source");
        assert!(source("null").is_same_source(&source("registry.opentofu.org/hashicorp/null")));
        assert!(ProviderAddress::implied("null").is_same_source(&source("HashiCorp/null")));
        assert!(!source("null").is_same_source(&source("example.com/hashicorp/null")));
    }

    #[test]
    fn provider_address_part_allows_letters_digits_and_inner_dashes() {
        for text in ["my_lab", "lab-", "-lab", "a--b", "", "a.b"] {
            assert!(ProviderAddress::part(text).is_err(), "{text}");
        }
        assert_eq!(ProviderAddress::part("My-Lab2").expect("a part"), "my-lab2");
    }
}
