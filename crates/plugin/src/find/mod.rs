//! Searches the executable of a provider: reattached processes, development overrides, the
//! workspace's own installation, the mirrors and caches of the CLI configuration, and the plugin
//! path. Launches nothing. Its only state is the cache of package hashes; it writes that cache and,
//! for `init`, the list of packages installed from the workspace.

mod choose;
mod cli_config;
mod config_syntax;
mod found;
mod git_index;
mod hash;
mod installed;
mod layout;
mod lock;
mod methods;
mod on_plugin_path;
mod places;
mod plugin_path;
mod provenance;
mod reattach;
mod search;
#[cfg(test)]
mod tests;
mod transformers;

pub use config_syntax::TreeError;
pub use found::{Found, NotFound, Origin, ProviderRequest};
pub use git_index::tracks_below;
pub use hash::{HashCache, HashError};
pub use installed::installed;
pub use layout::{Package, SeenFiles, platform, scan, scan_for};
pub use lock::{LockEntry, LockError, LockFile};
pub use methods::{Method, MethodKind, Registries};
pub use places::{Environment, Mirror, MirrorKind, Pattern, Places, PlacesError};
pub use plugin_path::{Discovered, PluginPath, missing_plugin_roots, plugin_roots};
pub use provenance::is_shipped;
pub use search::find;
pub use transformers::{FoundTransformer, transformers};
