//! Commands on this machine and on others, and copies to others. They run to their end or end with
//! the deploy, and their output is passed on in bounded lines. Independent of the configuration.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! use flightdeck_shell::{CommandExit, LocalCommand, Output};
//!
//! let command = LocalCommand {
//!     words: vec!["echo".into(), "ready".into()],
//!     dir: "/".into(),
//!     environment: Default::default(),
//! };
//! let print = |line: &str| println!("{line}");
//! let exit = command.run(&Output::new(&print), &Default::default()).await?;
//! assert!(matches!(exit, CommandExit::Status(status) if status.success()));
//! # Ok::<(), std::io::Error>(()) }).unwrap();
//! ```

mod command;
pub mod guard;
mod output;
mod probe;
pub mod ssh;

pub use command::{CommandExit, LocalCommand};
pub use output::Output;
pub use probe::{Probe, Prober};
