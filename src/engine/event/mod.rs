//! All that an operator can ever see, as typed, numbered, timed facts. The live console, `--json`
//! and the replay of an old deploy fold these same events (see [`super::view`]). The engine makes
//! them; everybody else only reads.

mod action;
mod call;
mod deploy;
mod diagnostic;
mod drift;
mod failure;
mod kind;
mod operation;
mod stage;
mod step;
mod workspace;

pub use super::stage::commands::CommandView;
pub use super::trust::WorkspacePlugin;
pub use action::*;
pub use call::*;
pub use deploy::*;
pub use diagnostic::*;
pub use drift::*;
pub use failure::*;
pub use kind::*;
pub use operation::*;
pub use stage::*;
pub use step::*;
pub use workspace::*;
