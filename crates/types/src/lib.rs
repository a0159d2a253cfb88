//! Overlays of resource types: settings that a schema cannot express, such as the condition under
//! which an object is ready. `type` blocks set them in layers; for each setting the highest layer
//! that has it decides.
//!
//! ```
//! use lang::source::SourceMap;
//! use model::Readiness;
//! use types::{Layer, Overlays};
//!
//! let text = r#"
//! type "shop_database" {
//!   ready  = self.status == "available"
//!   states = { creating = "Creating" }
//! }
//! "#;
//! let (overlays, diags) = Overlays::of_text(text, Layer::Workspace, &SourceMap::new());
//! assert!(diags.is_empty());
//! let settings = overlays.effective("shop_database");
//! let object = cty::Value::object([("status", cty::Value::string("creating"))]);
//! let found = settings.condition(&object).expect("a type with a ready expression");
//! assert_eq!(found.readiness, Readiness::Creating);
//! assert!(settings.waits());
//! ```

mod block;
mod check;
mod evaluate;
mod load;
mod settings;

pub use evaluate::Condition;
pub use load::Overlays;
pub use settings::{Given, Layer, Limits, Origin, TypeSettings};
