//! Bodies read by schema, with the same interface for native bodies, JSON bodies and bodies merged
//! from override files. Items not named by the schema are errors (`content`) or stay for the next
//! reader (`partial_content`).

mod forms;
mod json;
mod native;
mod schema;
mod take;
mod unexpected;

pub use crate::syntax::{Attribute, Label};
pub use forms::Body;
pub use schema::{Block, BodySchema, Content};
pub(crate) use unexpected::suggest;
