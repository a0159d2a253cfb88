//! Provider addresses such as `registry.terraform.io/hashicorp/aws`, and their short forms.

use crate::hosts::DEFAULT_HOSTS;
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// A provider's source address.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProviderAddress {
    /// `None` if the address has no host; it then stands for either default host.
    pub host: Option<String>,
    pub namespace: String,
    /// The type: `aws`.
    pub name: String,
}

/// Error of a text that is not a provider address.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AddressError {
    #[error(
        "`{0}` is not a provider address: expected NAME, NAMESPACE/NAME or HOST/NAMESPACE/NAME"
    )]
    Parts(String),
    #[error(
        "`{text}` is not a provider address: `{part}` may only contain letters, digits, `-` and `_`"
    )]
    Part { text: String, part: String },
    #[error("`{text}` is not a provider address: `{host}` is not a valid host name")]
    Host { text: String, host: String },
}

impl ProviderAddress {
    /// Returns the host; empty if the address has none.
    #[must_use]
    pub fn host(&self) -> &str {
        self.host.as_deref().unwrap_or_default()
    }

    /// Returns the address on the given host.
    #[must_use]
    pub fn on_host(&self, host: &str) -> Self {
        Self {
            host: Some(host.to_owned()),
            ..self.clone()
        }
    }

    /// Returns the candidates for this address: itself, or one on each default host.
    #[must_use]
    pub fn candidates(&self) -> Vec<Self> {
        match self.host {
            Some(_) => vec![self.clone()],
            None => DEFAULT_HOSTS
                .iter()
                .map(|host| self.on_host(host))
                .collect(),
        }
    }

    /// Returns true if a complete address is one of the candidates for this one.
    #[must_use]
    pub fn matches(&self, other: &Self) -> bool {
        self.namespace == other.namespace
            && self.name == other.name
            && match (&self.host, &other.host) {
                (Some(a), Some(b)) => a == b,
                (None, Some(host)) | (Some(host), None) => DEFAULT_HOSTS.contains(&host.as_str()),
                (None, None) => true,
            }
    }

    /// Returns true if both are the same provider, treating the default hosts as equal.
    #[must_use]
    pub fn is_same_provider(&self, other: &Self) -> bool {
        self.without_default_host() == other.without_default_host()
    }

    /// Removes the host if it is a default host.
    #[must_use]
    pub fn without_default_host(&self) -> Self {
        let host = self.host.clone();
        Self {
            host: host.filter(|host| !DEFAULT_HOSTS.contains(&host.as_str())),
            ..self.clone()
        }
    }

    /// Formats as `hashicorp/aws`, with the host only if it is not a default one.
    #[must_use]
    pub fn short_form(&self) -> String {
        match &self.host {
            Some(host) if !DEFAULT_HOSTS.contains(&host.as_str()) => self.to_string(),
            _ => format!("{}/{}", self.namespace, self.name),
        }
    }
}

/// Parses an address in a state, a lock file, a CLI configuration or a directory layout. The
/// sources of a configuration have stricter rules: [`ProviderAddress::of_source`].
impl FromStr for ProviderAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let parts: Vec<&str> = text.trim().split('/').collect();
        let (host, namespace, name) = match parts[..] {
            [name] => (None, "hashicorp", name),
            [namespace, name] => (None, namespace, name),
            [host, namespace, name] => (Some(host), namespace, name),
            _ => return Err(AddressError::Parts(text.to_owned())),
        };
        for part in [namespace, name] {
            // Parts become directory names in every layout, so reject path separators and `..`.
            if part.is_empty()
                || !part
                    .chars()
                    .all(|c| c.is_alphanumeric() || c == '-' || c == '_')
            {
                return Err(AddressError::Part {
                    text: text.to_owned(),
                    part: part.to_owned(),
                });
            }
        }
        let is_label = |label: &str| {
            !label.is_empty() && label.chars().all(|c| c.is_alphanumeric() || c == '-')
        };
        if let Some(host) = host {
            let (name, port) = host
                .split_once(':')
                .map_or((host, None), |(name, port)| (name, Some(port)));
            let named =
                (name.contains('.') || name == "localhost") && name.split('.').all(is_label);
            if !named || port.is_some_and(|p| p.parse::<u16>().is_err()) {
                return Err(AddressError::Host {
                    text: text.to_owned(),
                    host: host.to_owned(),
                });
            }
        }
        Ok(Self {
            // Addresses are compared and used as paths, so normalise their case.
            host: host.map(str::to_lowercase),
            namespace: namespace.to_lowercase(),
            name: name.to_lowercase(),
        })
    }
}

impl fmt::Display for ProviderAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(host) = &self.host {
            write!(f, "{host}/")?;
        }
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> ProviderAddress {
        text.parse().expect(text)
    }

    #[test]
    fn provider_address_short_forms_are_parsed() {
        assert_eq!(address("aws"), address("hashicorp/aws"));
        assert_eq!(
            address("Registry.Terraform.io/HashiCorp/AWS").to_string(),
            "registry.terraform.io/hashicorp/aws"
        );
        assert_eq!(
            address("registry.opentofu.org/hashicorp/aws").short_form(),
            "hashicorp/aws"
        );
        assert_eq!(
            address("example.com:8443/a/b").short_form(),
            "example.com:8443/a/b"
        );
        for wrong in [
            "",
            "a/",
            "a/b/c/d",
            "../x",
            "a/..",
            "host/a/b",
            "exa mple.com/a/b",
            "example.com:x/a/b",
            "a.b",
        ] {
            wrong.parse::<ProviderAddress>().expect_err(wrong);
        }
    }

    #[test]
    fn address_without_host_matches_both_default_hosts() {
        let short = address("hashicorp/aws");
        assert!(short.matches(&address("registry.terraform.io/hashicorp/aws")));
        assert!(short.matches(&address("registry.opentofu.org/hashicorp/aws")));
        assert!(!short.matches(&address("example.com/hashicorp/aws")));
        assert!(
            !address("registry.terraform.io/hashicorp/aws")
                .matches(&address("registry.opentofu.org/hashicorp/aws"))
        );
        assert_eq!(short.candidates().len(), 2);
    }
}
