//! Functions of the language by name, and the rules for unknown, null and marked arguments. The
//! table is static; providers add functions through `eval::Scope`.

mod assume;
mod call;
mod clock;
mod collect;
mod convert;
mod encode;
mod files;
mod hash;
mod net;
mod notation;
mod number;
mod rsa;
mod sensitive;
mod table;
mod template;
mod text;

pub use call::{CallError, Function, Host, Param};
pub use clock::{DurationError, duration};
pub use encode::read_yaml;
pub use files::{ExternalInput, RecordedInput};
pub use notation::of_builtin_provider;
pub use table::{find, names};
