//! Bundled providers, each served as a separate process by `flightdeck plugin serve NAME`, and the
//! demo workspace that uses them. Their source address is `flightdeck.internal/bundled/NAME`.
//!
//! - `lab`: a fake cloud whose calls can be made to fail ([`lab`]);
//! - `local`: files, directories and processes of this machine ([`local`]);
//! - `slowstart`: starts only at its third launch; `broken`: never starts ([`startup`]).
//!
//! For a Bluelink host each is a plugin `flightdeck/NAME`: a link to the program in the host's
//! plugin path ([`install`], [`installed_as`]).

pub mod demo;
pub mod lab;
pub mod local;
pub mod startup;
pub mod web;

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Names of the bundled providers.
pub const NAMES: [&str; 4] = ["broken", "lab", "local", "slowstart"];

/// File name of a Bluelink plugin.
const PLUGIN: &str = "plugin";

/// Links a bundled provider into a Bluelink plugin path; `program` must serve the provider that
/// [`installed_as`] returns. Returns the link, `ROOT/providers/flightdeck/NAME/VERSION/plugin`.
///
/// # Errors
/// The link cannot be created.
pub fn install(name: &str, root: &Path, program: &Path) -> io::Result<PathBuf> {
    let folder = root.join("providers/flightdeck").join(name);
    let folder = folder.join(env!("CARGO_PKG_VERSION"));
    std::fs::create_dir_all(&folder)?;
    let link = folder.join(PLUGIN);
    std::os::unix::fs::symlink(program, &link)?;
    Ok(link)
}

/// Returns the bundled provider of a program path, if the path is that of a Bluelink plugin:
/// `…/flightdeck/NAME/VERSION/plugin`.
pub fn installed_as(program: &OsStr) -> Option<&'static str> {
    let program = Path::new(program);
    let above = |level| program.ancestors().nth(level)?.file_name()?.to_str();
    let (file, name, publisher) = (above(0)?, above(2)?, above(3)?);
    let is_plugin = file == PLUGIN && publisher == "flightdeck";
    NAMES.into_iter().find(|known| is_plugin && *known == name)
}

/// Failure of a bundled provider; the text is for standard error.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No provider has this name.
    #[error("unknown bundled provider {name:?}; available: {}", NAMES.join(", "))]
    Unknown {
        /// Requested name.
        name: String,
    },
    /// The provider cannot be served.
    #[error(transparent)]
    Serve(#[from] sdk::ServeError),
    /// The provider refuses to start on purpose.
    #[error(transparent)]
    Startup(#[from] startup::Refusal),
}

impl Error {
    /// Returns the exit code: 2 for `broken`, as a Go program after a panic, else 1.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Startup(startup::Refusal::Panic) => 2,
            _ => 1,
        }
    }
}

/// Serves a bundled provider to the host that started this process, until the host ends it.
/// Standard output belongs to the host, so nothing else may print there. The caller prints an error
/// on standard error and exits with [`Error::exit_code`].
///
/// # Errors
/// The name is unknown, the process was started by hand, or the provider cannot be served or
/// refuses to start.
pub async fn serve(name: &str) -> Result<(), Error> {
    match name {
        "lab" => Ok(lab::serve().await?),
        "local" => Ok(sdk::serve(local::Local).await?),
        "slowstart" => {
            // Before serving, because a refused launch must not print a handshake line.
            startup::check_cold_start(&sdk::Options::from_env(), &lab::directory())?;
            Ok(sdk::serve(startup::Slowstart).await?)
        }
        "broken" => Err(startup::broken_refusal(&sdk::Options::from_env()).into()),
        _ => Err(Error::Unknown {
            name: name.to_owned(),
        }),
    }
}

/// Returns the number of threads that serve calls: all cores but one, which is left to the host.
/// They never block, because file operations run on other threads. On two cores, two threads that
/// wake each other for each call take up to a third longer than one.
fn workers() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    (cores - 1).max(1)
}

/// Runs [`serve`] as a complete `main`: creates a runtime, prints the error, and returns the exit
/// code.
pub fn main(name: &str) -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .worker_threads(workers())
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("cannot start the plugin's runtime: {error}");
            return ExitCode::from(1);
        }
    };
    let served = runtime.block_on(serve(name));
    // File operations that hang must not keep the process alive.
    runtime.shutdown_timeout(std::time::Duration::from_millis(100));
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(error.exit_code())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn installed_link_is_recognized_by_its_path() {
        let root = tempfile::tempdir().unwrap();
        let link = install("lab", root.path(), Path::new("/bin/true")).unwrap();
        assert_eq!(installed_as(link.as_os_str()), Some("lab"));
        for other in [
            "flightdeck",
            "plugin",
            "/p/providers/flightdeck/lab/1.0.0/flightdeck",
            "/p/providers/somebody/lab/1.0.0/plugin",
            "/p/providers/flightdeck/none/1.0.0/plugin",
        ] {
            assert_eq!(installed_as(OsStr::new(other)), None, "{other}");
        }
    }
}
