//! The bundled providers, each served as a process of its own by `flightdeck plugin serve NAME`,
//! and the demo's workspace that uses them. In configuration: `source =
//! "flightdeck.internal/bundled/NAME"`.
//!
//! - `lab`: a fake cloud in which anything can be made to fail ([`lab`]);
//! - `local`: files and directories of this machine ([`local`]);
//! - `slowstart`: comes up only at its third launch; `broken`: never does ([`startup`]).
//!
//! For a host of Bluelink's kind each is a plugin `flightdeck/NAME`: the program itself, by a link
//! where such a host looks for plugins ([`install`], [`installed_as`]).

pub mod demo;
pub mod lab;
pub mod local;
pub mod startup;

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The names that [`serve`] knows.
pub const NAMES: [&str; 4] = ["broken", "lab", "local", "slowstart"];

/// What the file of a plugin of Bluelink's kind is called.
const PLUGIN: &str = "plugin";

/// Links a bundled provider into a plugin path of Bluelink's: `program` is one that serves what
/// [`installed_as`] says. Returns the link, `ROOT/providers/flightdeck/NAME/VERSION/plugin`.
///
/// # Errors
/// When the link cannot be made.
pub fn install(name: &str, root: &Path, program: &Path) -> io::Result<PathBuf> {
    let folder = root.join("providers/flightdeck").join(name);
    let folder = folder.join(env!("CARGO_PKG_VERSION"));
    std::fs::create_dir_all(&folder)?;
    let link = folder.join(PLUGIN);
    std::os::unix::fs::symlink(program, &link)?;
    Ok(link)
}

/// The bundled provider that a program is to serve which was started by this path, where it is
/// that of a plugin of Bluelink's kind: `…/flightdeck/NAME/VERSION/plugin`.
pub fn installed_as(program: &OsStr) -> Option<&'static str> {
    let program = Path::new(program);
    let above = |level| program.ancestors().nth(level)?.file_name()?.to_str();
    let (file, name, publisher) = (above(0)?, above(2)?, above(3)?);
    let is_plugin = file == PLUGIN && publisher == "flightdeck";
    NAMES.into_iter().find(|known| is_plugin && *known == name)
}

/// Why a bundled provider did not serve, or not to the end. The text is for standard error.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is none of that name.
    #[error("there is no bundled provider {name:?}; there are: {}", NAMES.join(", "))]
    Unknown {
        /// The name that was asked for.
        name: String,
    },
    /// It could not be served.
    #[error(transparent)]
    Serve(#[from] sdk::ServeError),
    /// It does not come up, on purpose.
    #[error(transparent)]
    Startup(#[from] startup::Refusal),
}

impl Error {
    /// The code to exit with: that of a Go program that panicked for `broken`, 1 for all else.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Startup(startup::Refusal::Panic) => 2,
            _ => 1,
        }
    }
}

/// Serves a bundled provider to the host that started this process, until the host ends it.
/// Standard output is the host's: print nothing there. On an error print its text on standard error
/// and exit with [`Error::exit_code`].
///
/// # Errors
/// For an unknown name, when started by hand, when it cannot be served, and for those that refuse
/// on purpose.
pub async fn serve(name: &str) -> Result<(), Error> {
    match name {
        "lab" => Ok(lab::serve().await?),
        "local" => Ok(sdk::serve(local::Local).await?),
        "slowstart" => {
            startup::cold(&sdk::Options::from_env(), &lab::directory())?;
            Ok(sdk::serve(startup::Slowstart).await?)
        }
        "broken" => Err(startup::broken(&sdk::Options::from_env()).into()),
        _ => Err(Error::Unknown {
            name: name.to_owned(),
        }),
    }
}

/// How many threads calls are served on: one for each core but one, which is left to whoever calls.
/// Nothing blocks them: work on files is done beside them. On two cores, two that wake each other
/// for each call, on whatever core the caller is at work, take up to a third longer than one.
fn workers() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    (cores - 1).max(1)
}

/// [`serve`] as the whole of a `main`: with a runtime of its own, the error printed, the code to
/// exit with.
pub fn main(name: &str) -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .worker_threads(workers())
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("the process cannot be set up: {error}");
            return ExitCode::from(1);
        }
    };
    let served = runtime.block_on(serve(name));
    // work on files that hangs must not keep the process alive
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
    fn a_link_is_served_by_the_name_that_its_place_has() {
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
