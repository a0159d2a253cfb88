//! `flightdeck plugin new`: the crate of a provider that builds, passes its tests and conforms.

use crate::cli::escape::safe_path;
use crate::cli::exit::{CliError, CommandResult, OK};
use crate::cli::options::PluginNewArgs;
use crate::cli::output::Output;
use fsroot::RootedPath;
use std::path::{Path, PathBuf};

/// Mode of the written files.
const MODE: u32 = 0o644;

/// Longest name of a provider.
const MAX_NAME: usize = 40;

/// Publisher until the author chooses one.
const PUBLISHER: &str = "example";

macro_rules! template {
    ($path:literal) => {
        include_str!(concat!("../../../../assets/plugin/", $path))
    };
}

/// Files of a crate with their paths.
const FILES: [(&str, &str); 4] = [
    ("Cargo.toml", template!("Cargo.toml.in")),
    (".gitignore", template!("gitignore.in")),
    ("src/main.rs", template!("src/main.rs.in")),
    ("example/main.tf", template!("example/main.tf.in")),
];

pub(super) fn run(args: &PluginNewArgs, out: &mut Output) -> CommandResult {
    check_name(&args.name)?;
    let sdk = match &args.sdk {
        Some(named) => {
            let found = sdk_in(named).or_else(|| sdk_in(&named.join("crates/sdk")));
            found.ok_or_else(|| {
                CliError::missing(format!("{} is not the SDK", safe_path(named)))
                    .hint("name the directory `crates/sdk` of a checkout of flightdeck")
            })?
        }
        None => sdk_nearby()?,
    };
    let directory = PathBuf::from(format!("terraform-provider-{}", args.name));
    // A dangling link counts as well, because nothing may be written through it.
    if directory.symlink_metadata().is_ok() {
        return Err(
            CliError::usage(format!("{} exists already", safe_path(&directory)))
                .hint("choose another name, or remove it"),
        );
    }
    let usage = match args.bluelink {
        true => template!("README.bluelink.in"),
        false => template!("README.terraform.in"),
    };
    let readme = format!("{}{usage}", template!("README.md.in"));
    let files = FILES.into_iter().chain([("README.md", &*readme)]);
    for (path, text) in files {
        let text = text
            .replace("{{name}}", &args.name)
            .replace("{{publisher}}", PUBLISHER)
            .replace("{{sdk}}", &sdk.display().to_string());
        let place = RootedPath::new(&directory, path);
        let written = place
            .create_parents()
            .and_then(|()| place.replace(text.as_bytes(), MODE));
        written
            .map_err(|e| CliError::io(format!("cannot write {}: {e}", safe_path(&place.path()))))?;
    }
    let shown = safe_path(&directory);
    out.line(&format!(
        "wrote {shown}; its README.md has the commands that build, test and check it"
    ));
    Ok(OK)
}

fn check_name(name: &str) -> Result<(), CliError> {
    // The name is part of file names, of resource types and of source text.
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let begins = name.starts_with(|c: char| c.is_ascii_lowercase());
    if begins && name.chars().all(allowed) && name.len() <= MAX_NAME {
        return Ok(());
    }
    let name = crate::cli::escape::safe(name);
    Err(
        CliError::usage(format!("{name:?} is no name for a provider")).hint(format!(
            "use 1 to {MAX_NAME} lower-case letters and digits, with a letter first"
        )),
    )
}

/// Returns the directory if it is the SDK. A path of Cargo.toml cannot have quotes.
fn sdk_in(directory: &Path) -> Option<PathBuf> {
    let found = directory.canonicalize().ok()?;
    let manifest = fsroot::read_text(found.join("Cargo.toml")).ok()?;
    let is_sdk = manifest.contains("name = \"flightdeck-sdk\"");
    let is_plain = !found.display().to_string().contains(['"', '\\', '\n']);
    Some(found).filter(|_| is_sdk && is_plain)
}

/// Finds the SDK in a checkout of flightdeck that has this program or the current directory.
fn sdk_nearby() -> Result<PathBuf, CliError> {
    let program = std::env::current_exe().ok();
    let here = std::env::current_dir().ok();
    let places = program
        .iter()
        .chain(&here)
        .flat_map(|path| path.ancestors());
    let mut found = places.filter_map(|place| sdk_in(&place.join("crates/sdk")));
    found.next().ok_or_else(|| {
        CliError::missing("the SDK is in no directory above this program or the current directory")
            .hint("name the directory `crates/sdk` of a checkout of flightdeck with --sdk")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_of_a_provider_is_a_lower_case_word() {
        for name in ["notes", "a1"] {
            assert!(check_name(name).is_ok(), "{name}");
        }
        for name in [
            "",
            "1a",
            "Notes",
            "my-thing",
            "my_thing",
            "../x",
            &"a".repeat(41),
        ] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn sdk_is_recognised_by_its_manifest() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        assert!(sdk_in(&root.join("crates/sdk")).is_some());
        assert!(sdk_in(&root.join("crates/cty")).is_none());
        assert!(sdk_nearby().is_ok());
    }
}
