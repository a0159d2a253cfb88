//! Console without its drawing: [`State`], its transitions ([`update`]) and its requests
//! ([`Effect`]). `update` is pure; [`run`](crate::app::run::run) feeds it with messages and runs
//! its effects. `ui` draws the state.

pub mod address;
pub mod choices;
pub mod column;
pub mod command;
pub mod doc;
pub mod effects;
pub mod entry;
pub mod filter;
pub mod format;
pub mod groups;
mod input;
pub mod key;
pub mod keymap;
pub mod layout;
pub mod list;
pub mod log;
mod message_handlers;
mod mouse;
pub mod msg;
pub mod popups;
pub mod progress;
mod prompt_keys;
pub mod replay;
mod requests;
pub mod rows;
pub mod run;
pub mod schema;
pub mod screens;
pub mod state;
pub mod text;
pub mod theme;
pub mod tree;
mod unprompted;
pub mod unsettled;
mod update;

pub use msg::{Answer, Effect, Msg};
pub use run::{ConsoleOptions, DemoHook, run};
pub use state::State;
pub use update::{refresh_lists, start, update};
