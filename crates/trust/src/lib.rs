//! Trust decisions of the user about what a workspace brings along: the file that keeps them, the
//! check of commands that workspace files name, the owner of its directory `.flightdeck`, and the
//! signatures of plan files.
//!
//! ```
//! use flightdeck_trust::file::{Known, TrustFile};
//!
//! let folder = tempfile::tempdir()?;
//! let workspace = folder.path().join("app");
//! std::fs::create_dir(&workspace)?;
//! let trust = TrustFile::new(Some(folder.path().join("trust")), &workspace);
//! trust.add("sha256:1", "local")?;
//! assert!(matches!(trust.look_up("sha256:2", "local")?, Known::Changed));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod commands;
pub mod credentials;
mod executed;
pub mod file;
pub mod ownership;
pub mod plan_key;
mod shell_text;
mod user_key;
pub mod words;
