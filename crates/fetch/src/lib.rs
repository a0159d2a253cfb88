//! Fetches packages of modules and providers from registries, mirrors, git and archives.
//! Independent of the engine: callers pass addresses, directories and credentials, and get typed
//! errors and progress in bytes.

mod archive;
mod checksum;
mod credentials;
mod error;
mod git;
mod hash;
mod http;
mod http_auth;
mod module_registry;
mod netrc;
mod package;
mod program;
mod provider_package;
mod provider_registry;
mod registry_checks;
mod service;
mod signature;
mod symlinks;

pub use archive::{Kind as ArchiveKind, unpack};
pub use credentials::{Credentials, Helper};
pub use error::FetchError;
pub use hash::{content_digest, files, h1, h1_with, zh};
pub use http::{Http, Limits, OnBytes};
pub use module_registry::Location;
pub use net::{mask, redacted};
pub use netrc::{Netrc, NetrcError};
pub use package::{Packages, expand};
pub use program::{output, program};
pub use provider_package::{
    Checks, FetchedPackage, Location as PackageLocation, Policy, ProviderPackage,
};
pub use provider_registry::{Platform, Versions};
pub use registry_checks::{RegistryChecks, Reported};
pub use service::Services;
pub use signature::{SignatureError, Signer, verify};
