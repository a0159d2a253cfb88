//! Bodies read by schema: the same questions to native and JSON bodies, and to bodies merged from
//! override files. What the schema does not name is an error (`content`) or stays for the next
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
