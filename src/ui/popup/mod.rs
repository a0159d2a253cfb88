//! Popups: help, palette, confirmations, cancel ladder.

mod around;
mod choose;
mod confirm;
mod frame;
mod palette;

pub use frame::draw;
