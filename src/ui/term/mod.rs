//! Terminal: set up, restored in every case, and drawn in whole frames. Only this folder uses
//! crossterm.

mod background;
mod capabilities;
mod jobs;
mod screen;
mod setup;
mod sixteen;

pub use capabilities::{Capabilities, Question};
pub use jobs::has_shell;
pub use screen::Screen;
pub use setup::{background_is_light, install_panic_hook, start_log};
