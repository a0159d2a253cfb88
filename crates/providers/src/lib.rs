//! The bundled providers, each served as a process of its own by `flightdeck plugin serve NAME`,
//! and the demo's workspace that uses them. In configuration: `source =
//! "flightdeck.internal/bundled/NAME"`.
//!
//! - `lab`: a fake cloud in which anything can be made to fail ([`lab`]);
//! - `local`: files and directories of this machine ([`local`]);
//! - `slowstart`: comes up only at its third launch; `broken`: never does ([`startup`]).

pub mod demo;
pub mod lab;
pub mod local;
pub mod startup;

use std::process::ExitCode;

/// The names that [`serve`] knows.
pub const NAMES: [&str; 4] = ["broken", "lab", "local", "slowstart"];

/// Why a bundled provider did not serve, or not to the end. The text is for standard error.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is none of that name.
    #[error("there is no bundled provider {name}; there are: {}", NAMES.join(", "))]
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

/// [`serve`] as the whole of a `main`: with a runtime of its own, the error printed, the code to
/// exit with.
pub fn main(name: &str) -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_multi_thread()
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
