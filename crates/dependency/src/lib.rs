//! Dependencies of a configuration: provider addresses, versions, and version constraints. Pure;
//! the language, the installation and the search for plugins share these types.
//!
//! ```
//! use dependency::{ProviderAddress, Version, VersionConstraint};
//!
//! let address: ProviderAddress = "hashicorp/aws".parse().unwrap();
//! let wanted = VersionConstraint::of_provider("~> 5.1, != 5.2.0").unwrap();
//! assert!(wanted.allows_package(&Version::of_package("5.3.0").unwrap()));
//! let address = address.on_host(dependency::DEFAULT_HOST);
//! assert_eq!(address.to_string(), "registry.opentofu.org/hashicorp/aws");
//! ```

mod address;
mod constraint;
mod hosts;
mod source;
mod version;

pub use address::{AddressError, ProviderAddress};
pub use constraint::{ConstraintError, VersionConstraint};
pub use hosts::{
    BUILTIN_HOST, BUILTIN_PROVIDER, BUNDLED_HOST, BUNDLED_TYPES, DEFAULT_HOST, DEFAULT_HOSTS,
    PLUGIN_HOST, TERRAFORM_REGISTRY,
};
pub use source::SourceError;
pub use version::{Version, VersionError};
