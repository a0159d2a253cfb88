//! The configuration of a workspace: what is declared, before anything is evaluated.
//! [`load_root`] reads a directory and the modules below it; [`Module`] is what everybody reads.

mod assemble;
mod call;
mod check;
mod constant;
mod declare;
mod defaults;
mod draft;
mod encryption;
mod files;
mod inputs;
mod keys;
mod language;
mod lifecycle;
mod load;
mod model;
mod overrides;
mod parts;
mod passing;
mod pbkdf2;
mod providers;
mod provisioner;
mod refactor;
mod repeat;
mod resource;
mod settings;
mod statics;
pub(crate) mod types;
mod unused;
mod values;
mod version;

pub use encryption::Encryption;
pub use files::{is_config_dir, is_ignored};
pub use inputs::{Flag, InputValue, Inputs, Origin, RootValues, read_tfvars};
pub use load::{Loaded, load_root};
pub use model::*;
pub use repeat::repeated_over;
pub use version::{LANGUAGE_VERSION, Version, VersionConstraint, VersionError};
