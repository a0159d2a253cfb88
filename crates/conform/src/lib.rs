//! Starter configurations by schema, and the configurations to check a provider with. Pure; keeps
//! no state.
//!
//! ```
//! use cty::Type;
//! use cty::schema::{Attribute, Block, Schema};
//! use flightdeck_conform::{Placeholders, Scaffold};
//!
//! let name = Attribute::required(Type::String).describe("Name of the bucket");
//! let block = Block { attributes: [("name".into(), name)].into(), ..Block::default() };
//! let text = Scaffold::resource("acme_bucket", &block).text(&Placeholders::Names);
//! assert!(text.contains("name = \"<name>\""));
//! ```

mod documentation;
mod given;
mod scaffold;

pub use documentation::{Page, documentation};
pub use given::{Given, GivenError, starter_value};
pub use scaffold::{Placeholders, Scaffold, starter_text};
