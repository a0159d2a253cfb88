//! Trust decisions of the user about what a workspace brings along: the file that keeps them, and
//! the check of commands that workspace files name.
//!
//! ```
//! use flightdeck_trust::file::{Known, TrustFile};
//!
//! let data = tempfile::tempdir()?;
//! let trust = TrustFile::new(Some(data.path().join("trust")), "/srv/app".as_ref());
//! assert!(matches!(trust.look_up("sha256:1", "local")?, Known::Unknown));
//! trust.add("sha256:1", "local")?;
//! assert!(matches!(trust.look_up("sha256:2", "local")?, Known::Changed));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod commands;
pub mod file;
