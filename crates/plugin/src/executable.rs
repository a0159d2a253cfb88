//! Checks an executable before it is launched: it exists, may be executed and is built for this
//! machine. exec alone is not enough, because the C library passes a file that the kernel refuses
//! to the shell, whose errors are misleading.

use super::failure::StartFailure;
use super::find::HashCache;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

/// Identity of the file that a launch executes. Equal while nothing about the file has changed,
/// including its times and its mode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileIdentity {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
    /// SHA-256 of the contents; `None` if they cannot be read.
    digest: Option<String>,
}

impl FileIdentity {
    /// Reads the identity of a file; `None` if the file cannot be examined.
    pub(super) async fn of(path: &Path, hashes: &Arc<HashCache>) -> Option<Self> {
        let (path, hashes) = (path.to_owned(), Arc::clone(hashes));
        // Hashing a large executable blocks for seconds unless its digest is cached.
        let look = move || Self::read_now(&path, &hashes);
        tokio::task::spawn_blocking(look).await.ok().flatten()
    }

    fn read_now(path: &Path, hashes: &HashCache) -> Option<Self> {
        use std::os::unix::fs::MetadataExt as _;
        let meta = std::fs::metadata(path).ok()?;
        Some(Self {
            device: meta.dev(),
            inode: meta.ino(),
            size: meta.len(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
            digest: hashes.file(path).ok(),
        })
    }

    /// Returns true if both files have the same contents, regardless of path and times.
    pub(crate) fn is_same_program(&self, other: &Self) -> bool {
        match (&self.digest, &other.digest) {
            (Some(one), Some(another)) => one == another,
            // Without a digest, only an unchanged file is known to have the same contents.
            _ => self == other,
        }
    }
}

/// Rejects a file that cannot run on this machine.
pub(super) fn check(path: &Path) -> Result<(), StartFailure> {
    let unusable = |reason: &str| StartFailure::NotExecutable {
        path: path.to_owned(),
        reason: reason.to_owned(),
    };
    let meta = match std::fs::metadata(path) {
        Ok(meta) => meta,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            return Err(StartFailure::NotFound(path.to_owned()));
        }
        Err(e) => {
            return Err(unusable(&format!(
                "{e}; check the permissions of its parent directories"
            )));
        }
    };
    if !meta.is_file() {
        return Err(unusable("it is not a regular file"));
    }
    if rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_err() {
        return Err(unusable(
            "it is not marked as executable for this user; run `chmod +x` on it",
        ));
    }
    let mut head = Vec::new();
    // A program may be executable but not readable; then only the kernel can judge it.
    if let Ok(file) = File::open(path)
        && file.take(256).read_to_end(&mut head).is_ok()
    {
        return check_executable(path, &head, meta.len());
    }
    Ok(())
}

/// Translates an error of exec for a file that passed [`check`].
pub(super) fn explain(path: &Path, error: std::io::Error) -> StartFailure {
    let unusable = |reason: String| StartFailure::NotExecutable {
        path: path.to_owned(),
        reason,
    };
    match error.kind() {
        std::io::ErrorKind::NotFound => {
            unusable("the interpreter or loader that it names, or its working directory, does not exist on this system".to_owned())
        }
        std::io::ErrorKind::PermissionDenied => {
            unusable("the system denied permission; the file system may be mounted with `noexec`".to_owned())
        }
        _ if error.raw_os_error() == Some(rustix::io::Errno::NOEXEC.raw_os_error()) => {
            unusable("its format is not supported by the system".to_owned())
        }
        _ => StartFailure::Spawn { path: path.to_owned(), source: error },
    }
}

fn check_executable(path: &Path, head: &[u8], size: u64) -> Result<(), StartFailure> {
    let unusable = |reason: &str| StartFailure::NotExecutable {
        path: path.to_owned(),
        reason: reason.to_owned(),
    };
    if head.is_empty() {
        return Err(unusable("it is empty; install the package again"));
    }
    if head.starts_with(b"#!") {
        return Ok(());
    }
    let wrong = |built_for: String| StartFailure::WrongArchitecture {
        path: path.to_owned(),
        built_for,
        machine: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
    };
    // Without this check, the C library would run the file as a shell script.
    let Some(format) = Format::detect(head) else {
        return Err(unusable(
            "it is neither a binary executable nor a script with an interpreter line (`#!`)",
        ));
    };
    match format {
        Format::Elf(_) if !cfg!(target_os = "macos") => {}
        Format::MachO if cfg!(target_os = "macos") => return Ok(()),
        other => return Err(wrong(other.to_string())),
    }
    if let Format::Elf(elf) = format {
        if !elf.runs_on(std::env::consts::ARCH) {
            return Err(wrong(format.to_string()));
        }
        // An interrupted download; exec would fail with a misleading error or crash.
        if elf.end_of_headers > size {
            return Err(unusable("it is truncated; install the package again"));
        }
    }
    Ok(())
}

/// Executable formats, recognised by their first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Elf(Elf),
    MachO,
    Windows,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Elf {
    machine: u16,
    abi: u8,
    /// End of the table of program headers, in bytes from the start of the file.
    end_of_headers: u64,
}

impl Format {
    fn detect(head: &[u8]) -> Option<Self> {
        match head {
            [0x7f, b'E', b'L', b'F', ..] => Elf::parse(head).map(Self::Elf),
            [0xfe, 0xed, 0xfa, 0xce | 0xcf, ..]
            | [0xce | 0xcf, 0xfa, 0xed, 0xfe, ..]
            | [0xca, 0xfe, 0xba, 0xbe, ..] => Some(Self::MachO),
            [b'M', b'Z', ..] => Some(Self::Windows),
            _ => None,
        }
    }
}

impl Elf {
    /// Offsets as in the ELF specification: class 4, byte order 5, ABI 7, machine 18, then the
    /// table of program headers (place, entry size, count), whose offset depends on the class.
    fn parse(head: &[u8]) -> Option<Self> {
        let little = head.get(5)? == &1;
        let number = |at: usize, len: usize| {
            let bytes = head.get(at..at + len)?;
            let fold = |n: u64, b: &u8| (n << 8) | u64::from(*b);
            Some(if little {
                bytes.iter().rev().fold(0, fold)
            } else {
                bytes.iter().fold(0, fold)
            })
        };
        let machine = number(18, 2)? as u16;
        let table = match head.get(4)? {
            1 => (number(28, 4), number(42, 2), number(44, 2)),
            _ => (number(32, 8), number(54, 2), number(56, 2)),
        };
        let end_of_headers = match table {
            (Some(at), Some(size), Some(count)) => at.saturating_add(size * count),
            // The header itself is truncated: report an end past any file size.
            _ => u64::MAX,
        };
        Some(Self {
            machine,
            abi: *head.get(7)?,
            end_of_headers,
        })
    }

    fn runs_on(self, arch: &str) -> bool {
        // ABI 0 is System V, which most Linux programs have; 3 is Linux.
        if !matches!(self.abi, 0 | 3) {
            return false;
        }
        match arch {
            // 64-bit kernels usually run 32-bit programs.
            "x86_64" => matches!(self.machine, 62 | 3),
            "aarch64" => matches!(self.machine, 183 | 40),
            "x86" => self.machine == 3,
            "arm" => self.machine == 40,
            "riscv64" => self.machine == 243,
            "powerpc64" => self.machine == 21,
            "s390x" => self.machine == 22,
            "loongarch64" => self.machine == 258,
            _ => true,
        }
    }
}

impl std::fmt::Display for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self::Elf(elf) = self else {
            return f.write_str(if *self == Self::MachO {
                "macos"
            } else {
                "windows"
            });
        };
        let system = match elf.abi {
            0 | 3 => "linux",
            2 => "netbsd",
            6 => "solaris",
            9 => "freebsd",
            12 => "openbsd",
            _ => "another system,",
        };
        let machine = match elf.machine {
            3 => "x86",
            8 => "mips",
            20 => "powerpc",
            21 => "powerpc64",
            22 => "s390x",
            40 => "arm",
            62 => "x86_64",
            183 => "aarch64",
            243 => "riscv64",
            258 => "loongarch64",
            other => return write!(f, "{system} on machine {other}"),
        };
        write!(f, "{system} {machine}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elf(machine: u16, abi: u8) -> Vec<u8> {
        let mut head = vec![0; 64];
        head[..8].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1, 1, abi]);
        head[18..20].copy_from_slice(&machine.to_le_bytes());
        head[32] = 64;
        head[54] = 56;
        head[56] = 10;
        head
    }

    fn kind(head: &[u8], size: u64) -> (&'static str, String) {
        match check_executable(Path::new("/p"), head, size) {
            Ok(()) => ("runs", String::new()),
            Err(e) => (e.kind(), e.to_string()),
        }
    }

    #[test]
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    fn foreign_executables_are_reported_with_their_platform() {
        assert_eq!(kind(&elf(62, 0), 10_000).0, "runs");
        assert_eq!(
            kind(&elf(62, 0), 100),
            (
                "not_executable",
                "/p cannot be executed: it is truncated; install the package again".into()
            )
        );
        let (word, text) = kind(&elf(183, 0), 10_000);
        assert_eq!(word, "wrong_architecture");
        assert!(
            text.contains("built for linux aarch64, but this machine is linux x86_64"),
            "{text}"
        );
        assert!(kind(&elf(62, 9), 10_000).1.contains("freebsd x86_64"));
        assert!(kind(b"\xcf\xfa\xed\xfe....", 10_000).1.contains("macos"));
        assert!(kind(b"MZ......", 10_000).1.contains("windows"));
    }

    #[test]
    fn non_executables_are_reported() {
        assert_eq!(kind(b"#!/bin/sh\n", 10).0, "runs");
        assert_eq!(kind(b"hello", 5).0, "not_executable");
        assert_eq!(kind(b"", 0).0, "not_executable");
        assert_eq!(kind(b"\x7fELF", 4).0, "not_executable");
    }

    #[test]
    fn running_test_binary_is_accepted_as_executable() {
        check(&std::env::current_exe().expect("own path")).expect("runs");
        assert_eq!(
            check(Path::new("/nonexistent/x")).expect_err("none").kind(),
            "not_found"
        );
        assert_eq!(
            check(Path::new("/tmp")).expect_err("directory").kind(),
            "not_executable"
        );
    }
}
