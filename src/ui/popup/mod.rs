//! Popups: help, palette, confirmations, cancel ladder.

mod choose;
mod confirm;
mod frame;
mod palette;
mod workspaces;

pub use frame::draw;
