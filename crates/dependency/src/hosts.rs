//! Hosts of provider addresses with a meaning of their own.

/// Registry of addresses without a host.
pub const DEFAULT_HOST: &str = "registry.opentofu.org";
/// Terraform's registry. Its providers have equivalents in the default one.
pub const TERRAFORM_REGISTRY: &str = "registry.terraform.io";
/// Hosts that an address without a host may stand for, the older one first: an installation or a
/// state may come from either tool.
pub const DEFAULT_HOSTS: [&str; 2] = [TERRAFORM_REGISTRY, DEFAULT_HOST];
/// Host of the providers that are part of the language.
pub const BUILTIN_HOST: &str = "terraform.io";
/// Address of the only provider that is part of the language.
pub const BUILTIN_PROVIDER: &str = "terraform.io/builtin/terraform";
/// Host of the providers in this program.
pub const BUNDLED_HOST: &str = "flightdeck.internal";
/// Types of the bundled providers, which the program serves with `plugin serve TYPE`. A test of the
/// program compares them with the providers that it serves; a dependency on these would make all
/// crates above wait for them.
pub const BUNDLED_TYPES: [&str; 4] = ["broken", "lab", "local", "slowstart"];
/// Host of Bluelink plugins whose id has none.
pub const PLUGIN_HOST: &str = "registry.bluelink.dev";
