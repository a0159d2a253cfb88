//! Fetches packages with the `git` program.

use crate::error::FetchError;
use crate::program::{output, program};
use base64::Engine as _;
use reqwest::Url;
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

/// Time limit of one call of git.
const LIMIT: Duration = Duration::from_secs(30 * 60);
/// Maximum bytes of git's last output in an error.
const MAX_OUTPUT: usize = 2000;

/// Repository, reference and options from an address.
#[derive(Debug, Default)]
struct GitSource {
    url: String,
    /// Branch, tag or commit.
    reference: Option<String>,
    /// Number of commits to fetch.
    depth: Option<u32>,
    key: Option<Vec<u8>>,
}

impl GitSource {
    fn parse(address: &str) -> Result<Self, FetchError> {
        let wrong = |why: &str| FetchError::Address {
            url: address.to_owned(),
            why: why.to_owned(),
        };
        let (path, query) = address.split_once('?').unwrap_or((address, ""));
        let mut out = Self::default();
        let mut rest = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = decoded(value);
            match name {
                // An empty reference means the default branch.
                "ref" if value.is_empty() => {}
                "ref" => out.reference = Some(value),
                "depth" => {
                    let depth = value
                        .parse()
                        .map_err(|_| wrong("its depth is not a number"))?;
                    out.depth = Some(depth).filter(|depth| *depth > 0);
                }
                "sshkey" => {
                    let key = base64::engine::general_purpose::STANDARD
                        // A `+` in a query decodes to a space.
                        .decode(value.replace(' ', "+"))
                        .map_err(|_| wrong("its sshkey is not base64"))?;
                    out.key = Some(key).filter(|key| !key.is_empty());
                }
                _ => rest.push(pair),
            }
        }
        if out.reference.as_deref().is_some_and(|r| r.starts_with('-')) {
            return Err(wrong(
                "its ref begins with a dash, so git would read it as a flag",
            ));
        }
        out.url = match rest.is_empty() {
            true => path.to_owned(),
            false => format!("{path}?{}", rest.join("&")),
        };
        if out.url.starts_with('-') {
            return Err(wrong(
                "it begins with a dash, so git would read it as a flag",
            ));
        }
        Ok(out)
    }
}

/// Decodes a query value.
fn decoded(value: &str) -> String {
    let parsed = Url::parse(&format!("http://x/?v={value}"));
    let found = parsed.ok().and_then(|url| {
        let pair = url.query_pairs().next()?;
        Some(pair.1.into_owned())
    });
    found.unwrap_or_else(|| value.to_owned())
}

/// Clones the repository of an address (without `git::`) into a new directory.
///
/// # Errors
/// git is not installed or fails.
pub(crate) async fn clone(address: &str, to: &Path) -> Result<(), FetchError> {
    let wanted = GitSource::parse(address)?;
    let key = wanted.key.as_deref().map(key_file).transpose()?;
    let run = Run {
        url: &wanted.url,
        ssh: key.as_ref().map(|key| {
            format!(
                "ssh -i {} -o IdentitiesOnly=yes -o StrictHostKeyChecking=no",
                key.path().display()
            )
        }),
    };
    let depth = wanted.depth.map(|depth| depth.to_string());
    let target = to.to_string_lossy();
    let mut args = vec!["clone", "--quiet"];
    if let Some(depth) = &depth {
        args.extend(["--depth", depth]);
        if let Some(reference) = &wanted.reference {
            args.extend(["--branch", reference]);
        }
    }
    // After `--`, an address cannot be read as an option.
    args.extend(["--", &wanted.url, &target]);
    run.git(None, &args).await?;
    // A shallow clone needs a branch or tag for `--branch`; a full one can check out any commit.
    if let (Some(reference), None) = (&wanted.reference, &depth) {
        run.git(Some(to), &["checkout", "--quiet", reference])
            .await?;
    }
    let mut args = vec!["submodule", "--quiet", "update", "--init", "--recursive"];
    if let Some(depth) = &depth {
        args.extend(["--depth", depth]);
    }
    run.git(Some(to), &args).await
}

/// Writes the key to a temporary file that only its owner can read.
fn key_file(key: &[u8]) -> Result<tempfile::NamedTempFile, FetchError> {
    let write = || {
        let mut file = tempfile::NamedTempFile::new()?;
        file.write_all(key)?;
        file.flush()?;
        Ok(file)
    };
    write().map_err(FetchError::file(std::env::temp_dir()))
}

struct Run<'a> {
    url: &'a str,
    ssh: Option<String>,
}

impl Run<'_> {
    async fn git(&self, dir: Option<&Path>, args: &[&str]) -> Result<(), FetchError> {
        let failed = |why: String| FetchError::Git {
            url: self.url.to_owned(),
            why,
        };
        let mut command = program("git");
        command
            // Prevents the fetched repository from running programs, whatever the user's git
            // configuration: hooks in a relative directory, a file system monitor, a transport that
            // is a command.
            .args(["-c", "core.hooksPath=/dev/null"])
            .args(["-c", "core.fsmonitor=false"])
            .args(["-c", "protocol.ext.allow=never"])
            .args(args)
            // A prompt would block: the screen belongs to the progress display or a pipeline's log.
            .env("GIT_TERMINAL_PROMPT", "0");
        // Set by hooks of an outer repository; git would use that repository instead.
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
            command.env_remove(name);
        }
        if let Some(ssh) = &self.ssh {
            command.env("GIT_SSH_COMMAND", ssh);
        }
        if let Some(dir) = dir {
            command.current_dir(dir);
        }
        let output = output(command, LIMIT).await.map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound => failed("git is not installed; install it".to_owned()),
            _ => failed(e.to_string()),
        })?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.trim();
        let mut begin = said.len().saturating_sub(MAX_OUTPUT);
        // The cut must not split a character.
        while !said.is_char_boundary(begin) {
            begin += 1;
        }
        Err(failed(said[begin..].to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_options_are_parsed_from_the_address_query() {
        let wanted = GitSource::parse("https://x/y.git?a=1&ref=v1%2E0&depth=2").expect("address");
        assert_eq!(wanted.url, "https://x/y.git?a=1");
        assert_eq!(wanted.reference.as_deref(), Some("v1.0"));
        assert_eq!(wanted.depth, Some(2));
        for (address, words) in [
            ("https://x/y?ref=--upload-pack=evil", "begins with a dash"),
            ("https://x/y?ref=%2Dx", "begins with a dash"),
            ("--upload-pack=evil", "begins with a dash"),
            ("https://x/y?depth=x", "not a number"),
            ("https://x/y?sshkey=%", "base64"),
        ] {
            let error = GitSource::parse(address).expect_err(address).to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
