//! Runs programs for their output, such as git and credentials helpers, with limits on size and
//! time.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::pin::pin;
use std::process::{Output, Stdio};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Command;

/// Maximum size of each output stream, in bytes.
const MAX_OUTPUT: u64 = 4 << 20;
/// Time to read output after the program has exited: a background process (a credential cache, a
/// shared SSH connection) may keep the pipe open forever.
const LEFT_OPEN_TIMEOUT: Duration = Duration::from_secs(2);

/// Command without input, by name or path. Only absolute directories of `PATH` are searched, also
/// by its children, because an entry such as `.` would run a file of the workspace.
#[must_use]
pub fn program(name: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(name);
    command.stdin(Stdio::null()).kill_on_drop(true);
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", absolute(&path));
    }
    command
}

fn absolute(path: &OsStr) -> OsString {
    let all = std::env::split_paths(path).filter(|dir| Path::is_absolute(dir));
    // Cannot fail: entries of a split list have no separators.
    std::env::join_paths(all).unwrap_or_default()
}

/// Runs a program and collects its output. Output of its background processes is read for two more
/// seconds.
///
/// # Errors
/// The program does not start, prints more than 4 MiB, or exceeds the time limit
/// ([`io::ErrorKind::TimedOut`]); then it is killed.
pub async fn output(mut command: Command, within: Duration) -> io::Result<Output> {
    let run = async {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let (out, err) = (child.stdout.take(), child.stderr.take());
        let status = {
            let mut reading = pin!(async {
                tokio::try_join!(all_of(out, &mut stdout), all_of(err, &mut stderr))
            });
            tokio::select! {
                // A stream that is too long fails here, and dropping the child kills it.
                read = &mut reading => {
                    read?;
                    child.wait().await?
                }
                status = child.wait() => {
                    if let Ok(read) = tokio::time::timeout(LEFT_OPEN_TIMEOUT, reading).await {
                        read?;
                    }
                    status?
                }
            }
        };
        Ok(Output {
            status,
            stdout,
            stderr,
        })
    };
    match tokio::time::timeout(within, run).await {
        Ok(ended) => ended,
        Err(_) => Err(io::Error::new(
            io::ErrorKind::TimedOut,
            format!("it did not end within {} seconds", within.as_secs()),
        )),
    }
}

async fn all_of(stream: Option<impl AsyncRead + Unpin>, all: &mut Vec<u8>) -> io::Result<()> {
    if let Some(stream) = stream {
        // One byte more than allowed shows that the output is too long.
        stream.take(MAX_OUTPUT + 1).read_to_end(all).await?;
    }
    if all.len() as u64 > MAX_OUTPUT {
        return Err(io::Error::other("it printed more than 4 MiB"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(text: &str) -> Command {
        let mut command = program("sh");
        command.args(["-c", text]);
        command
    }

    #[test]
    fn relative_path_entries_are_removed_from_search_path() {
        for (path, left) in [
            ("/bin:.:/usr/bin", "/bin:/usr/bin"),
            (":bin::/bin:", "/bin"),
            ("", ""),
            (".", ""),
        ] {
            assert_eq!(absolute(OsStr::new(path)), left, "{path}");
        }
    }

    #[tokio::test]
    async fn program_output_is_limited_in_size_and_time() {
        let minute = Duration::from_secs(60);
        let ended = output(shell("echo out; echo err >&2; exit 3"), minute).await;
        let ended = ended.expect("it ends");
        assert_eq!(ended.status.code(), Some(3));
        assert_eq!(
            (&*ended.stdout, &*ended.stderr),
            (&b"out\n"[..], &b"err\n"[..])
        );
        let flood = output(shell("exec cat /dev/zero"), minute).await;
        let flood = flood.expect_err("it prints without end");
        assert!(flood.to_string().contains("4 MiB"), "{flood}");
        let left = output(shell("sleep 60 & echo out"), minute).await;
        let left = left.expect("the program has ended");
        assert!(left.status.success(), "{left:?}");
        assert_eq!(&*left.stdout, b"out\n", "its own output is complete");
        let silent = output(shell("exec sleep 900"), Duration::from_millis(50)).await;
        let silent = silent.expect_err("it does not end");
        assert_eq!(silent.kind(), io::ErrorKind::TimedOut);
    }
}
