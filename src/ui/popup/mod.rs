//! What lies over the screen: help, palette, questions, the cancel ladder.

mod around;
mod choose;
mod confirm;
mod frame;
mod palette;

pub use frame::draw;
