//! Configuration model: the declarations of a workspace before evaluation. [`load_root`] reads a
//! directory and the modules below it into a [`Module`] tree.

mod assemble;
mod assignments;
mod backend;
mod call;
mod call_source;
mod check;
mod constant;
mod declare;
mod defaults;
mod draft;
mod encryption;
mod encryption_methods;
pub mod environment;
mod files;
mod group;
mod inputs;
mod keys;
mod language;
mod lifecycle;
mod link;
mod load;
mod load_time_values;
mod manifest;
mod model;
mod module_source;
mod overridden;
mod overrides;
mod pbkdf2;
mod planned;
mod provider_passing;
mod providers;
mod provisioner;
mod refactor;
mod repeat;
mod resource;
mod secret;
mod settings;
mod shared_blocks;
mod statics;
mod test_file;
mod test_modules;
mod test_override;
mod type_blocks;
pub(crate) mod types;
mod unused_attributes;
mod values;
mod var_files;

pub use backend::{Backend, backend_of};
pub use constant::constant_value;
pub use encryption::{Encryption, VARIABLE as ENCRYPTION_VARIABLE};
pub use encryption_methods::{Encrypted, Key, Method, REMOTE, REMOTE_DEFAULT, Secret};
pub use files::{OWN_EXTENSION, is_config_dir, is_ignored};
pub use inputs::{Flag, InputValue, Inputs, Origin, Overridden, RootValues};
pub use language::LANGUAGE_VERSION;
pub use link::{ENDS as LINK_ENDS, LINK, end_of_link};
pub use load::{Loaded, load_root, load_with};
pub(crate) use manifest::local_directory;
pub use manifest::{
    Installed, InstalledModule, MANIFEST, Manifest, ModuleRequest, ModuleResolver, local,
    modules_dir, wants_install,
};
pub use model::*;
pub use module_source::{ModuleSource, RegistryModule, RemoteModule, SourceError};
pub use planned::Planned;
pub use repeat::for_each_instances;
pub use test_modules::TestModules;
pub use type_blocks::{type_blocks, type_blocks_of};
pub use var_files::{automatic as automatic_variable_files, read_tfvars};
