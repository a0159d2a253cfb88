//! Terminal: set up, restored in every case, and drawn in whole frames. Only this folder uses
//! crossterm.

mod guard;
mod jobs;
mod screen;

pub use guard::{background_is_light, install_panic_hook, start_log};
pub use jobs::has_shell;
pub use screen::Screen;
