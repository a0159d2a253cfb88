//! Starter configurations and Markdown documentation by schema, comparison of schemas, and reports
//! on the conformance of providers. Pure; keeps no state.
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
mod render;
mod report;
mod rules;
mod scaffold;
mod schema_changes;

pub use documentation::{Page, documentation};
pub use given::{Given, GivenError, starter_value};
pub use report::{Check, Leftover, Report, Status, TypeReport};
pub use rules::{RULES, Rule, rule};
pub use scaffold::{Placeholders, Scaffold, starter_text};
pub use schema_changes::schema_changes;
