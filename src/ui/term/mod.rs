//! The terminal: taken, given back whatever happens, drawn to in whole frames. All use of crossterm
//! is in this folder.

mod guard;
mod jobs;
mod screen;

pub use guard::{background_is_light, install_panic_hook, start_log};
pub use jobs::has_shell;
pub use screen::Screen;
