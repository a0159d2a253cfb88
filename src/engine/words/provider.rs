//! Provider addresses (`host/namespace/type`), and how one configuration of a provider is called.

use lang::addr::{InstanceKey, ModulePath};
use std::fmt;
use std::sync::Arc;

/// The address of the provider that is built in.
pub const BUILTIN_PROVIDER: &str = "terraform.io/builtin/terraform";
/// The host that an address without one is shown with.
pub const DEFAULT_HOST: &str = "registry.opentofu.org";

/// The whole address of a source as written: `aws`, `hashicorp/aws`, `example.com/acme/thing`.
pub fn whole_provider(source: &str) -> String {
    match source.split('/').count() {
        1 if source == "terraform" => BUILTIN_PROVIDER.to_owned(),
        1 => format!("{DEFAULT_HOST}/hashicorp/{}", source.to_lowercase()),
        2 => format!("{DEFAULT_HOST}/{}", source.to_lowercase()),
        _ => source.to_lowercase(),
    }
}

/// How people know a provider: without a default host.
pub fn short_provider(address: &str) -> &str {
    for host in ["registry.opentofu.org/", "registry.terraform.io/"] {
        if let Some(rest) = address.strip_prefix(host) {
            return rest;
        }
    }
    address
}

/// One provider configuration: the block that declares it, or the empty one that stands for none.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConfigKey {
    /// The whole provider address.
    pub address: Arc<str>,
    /// The module whose block it is.
    pub module: ModulePath,
    pub alias: Option<Arc<str>>,
    /// Which of its instances, where the block has `for_each`.
    pub instance: Option<Arc<str>>,
}

impl fmt::Display for ConfigKey {
    /// As state version 4 writes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.module.is_root() {
            write!(f, "{}.", self.module)?;
        }
        write!(f, "provider[\"{}\"]", self.address)?;
        if let Some(alias) = &self.alias {
            write!(f, ".{alias}")?;
        }
        match &self.instance {
            Some(key) => write!(f, "{}", InstanceKey::Str(key.clone())),
            None => Ok(()),
        }
    }
}

impl ConfigKey {
    /// The root's configuration without an alias, whether or not there is a block for it.
    pub fn of_root(address: impl Into<Arc<str>>) -> Self {
        Self {
            address: address.into(),
            module: ModulePath::default(),
            alias: None,
            instance: None,
        }
    }

    /// Reads what state version 4 writes; `None` where it is something else.
    pub fn parse(text: &str) -> Option<Self> {
        let at = text.find("provider[\"")?;
        let module = text[..at].trim_end_matches('.');
        let module: lang::addr::ModuleInstance = module.parse().ok()?;
        let rest = &text[at + "provider[\"".len()..];
        let (address, after) = rest.split_once("\"]")?;
        let (alias, instance) = match after.split_once('[') {
            // A key is written as that of a resource's instance.
            Some((alias, key)) => {
                let of_anything: lang::addr::AbsInstance = format!("a.a[{key}").parse().ok()?;
                let InstanceKey::Str(key) = of_anything.key else {
                    return None;
                };
                (alias, Some(key))
            }
            None => (after, None),
        };
        Some(Self {
            address: address.into(),
            module: module.path(),
            alias: alias.strip_prefix('.').map(Arc::from),
            instance,
        })
    }

    /// The block that it is an instance of.
    #[must_use]
    pub fn block(&self) -> Self {
        Self {
            instance: None,
            ..self.clone()
        }
    }

    /// One of its instances.
    #[must_use]
    pub fn with_instance(&self, key: Option<Arc<str>>) -> Self {
        Self {
            instance: key,
            ..self.clone()
        }
    }
}

/// Which providers a configuration and a state need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequiredProviders {
    /// Of the root module.
    pub configuration: ModuleProviders,
    /// Addresses of those that the state names.
    pub state: Vec<String>,
}

/// Which providers a module needs, and those that it calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleProviders {
    /// Addresses, each with the conditions on its version in normal form.
    pub providers: Vec<(String, String)>,
    /// By the names of the calls.
    pub calls: Vec<(String, ModuleProviders)>,
}

impl RequiredProviders {
    /// Whether the provider of this address is one of them.
    pub fn names(&self, address: &str) -> bool {
        self.configuration.names(address) || self.state.iter().any(|a| a == address)
    }
}

impl ModuleProviders {
    fn names(&self, address: &str) -> bool {
        self.providers.iter().any(|(a, _)| a == address)
            || self.calls.iter().any(|(_, called)| called.names(address))
    }
}
