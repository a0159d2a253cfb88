//! Checks of the machine: disk space, file system, file descriptors, memory, socket directory,
//! readable tokens.

use super::finding::{Area, Findings};
use lang::config::LANGUAGE_VERSION;
use model::process::ProcessIdentity;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// Below this, a deploy may run out of space, in bytes.
const LOW_DISK_SPACE: u64 = 200 << 20;
/// Below this, nothing can be stored, in bytes.
const NO_SPACE: u64 = 4 << 20;
/// Approximate memory of a plugin, in bytes.
const PLUGIN_MEMORY: u64 = 256 << 20;
/// Each plugin process and connection needs some file descriptors.
const FEW_FILES: u64 = 256;
/// Size of a socket path on Linux, including the terminating zero.
const SOCKET_NAME: usize = 108;
/// Longest part after the temporary directory: a directory of ours and the plugin's socket.
const MAX_SOCKET_SUFFIX: usize = "/flightdeck-XXXXXXXXXX/plugin4294967295".len();
/// File systems whose locks belong to another machine, by their `statfs` type.
const REMOTE: [(u32, &str); 5] = [
    (0x6969, "NFS"),
    (0xFF53_4D42, "CIFS"),
    (0xFE53_4D42, "SMB2"),
    (0x0000_517B, "SMB"),
    (0x0102_1997, "9P"),
];

pub(super) fn examine(dir: &Path, found: &mut Findings) {
    let area = Area::Machine;
    found.add_ok(
        area,
        format!(
            "flightdeck {}, language of OpenTofu {LANGUAGE_VERSION}, on {} {}",
            env!("CARGO_PKG_VERSION"),
            std::env::consts::OS,
            std::env::consts::ARCH
        ),
    );
    // Lock owners and orphaned plugins are recognized by their start times in /proc.
    if ProcessIdentity::current().is_none() {
        found.error(area, "cannot read /proc, so processes cannot be identified");
        found.remedy("mount it with `mount -t proc proc /proc`");
    }
    space(dir, found);
    memory(found);
    temp(&std::env::temp_dir(), found);
    let files = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    if let Some(most) = files.current.filter(|most| *most < FEW_FILES) {
        found.warning(area, format!("the limit of open files is only {most}"));
        found.remedy("raise the limit with `ulimit -n 4096`");
    }
    for name in ["credentials.tfrc.json", "terraform.rc"] {
        credentials(name, found);
    }
}

/// Checks disk space and file system type.
fn space(dir: &Path, found: &mut Findings) {
    let area = Area::Machine;
    match rustix::fs::statvfs(dir) {
        Ok(disk) => {
            // `f_bavail` excludes the blocks that are reserved for root.
            let free = disk.f_bavail.saturating_mul(disk.f_frsize);
            let text = format!("{} MB free on the disk of the workspace", free >> 20);
            if free < NO_SPACE {
                found.error(area, text);
                found.remedy("free disk space: no deploy can be recorded");
            } else if free < LOW_DISK_SPACE {
                found.warning(area, text);
                found.remedy("free disk space before the next deploy");
            } else {
                found.add_ok(area, text);
            }
        }
        Err(e) => found.warning(area, format!("cannot determine the free disk space: {e}")),
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the kernel's numbers for file systems have 32 bits"
    )]
    let kind = rustix::fs::statfs(dir).map(|disk| disk.f_type as u32);
    if let Some((_, name)) = kind.ok().and_then(|k| REMOTE.iter().find(|(n, _)| *n == k)) {
        found.warning(
            area,
            format!("the workspace is on {name}, where other machines may not see file locks"),
        );
        found
            .remedy("use the workspace from one machine at a time, or keep the state in a backend with locks");
    }
}

fn memory(found: &mut Findings) {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    // Unlike free memory, available memory includes caches that the kernel can drop.
    let available = text.lines().find_map(|line| {
        let rest = line.strip_prefix("MemAvailable:")?;
        rest.trim().strip_suffix(" kB")?.parse::<u64>().ok()
    });
    if let Some(bytes) = available.map(|kb| kb << 10).filter(|b| *b < PLUGIN_MEMORY) {
        found.warning(
            Area::Machine,
            format!(
                "{} MB of memory available; a large plugin needs more",
                bytes >> 20
            ),
        );
        found.remedy("end other processes, or stage with fewer plugins at a time");
    }
}

/// Checks the directory of plugin sockets.
fn temp(dir: &Path, found: &mut Findings) {
    let area = Area::Machine;
    let shown = dir.display();
    // Creating a file also finds quotas and read-only mounts.
    if let Err(e) = tempfile::tempfile_in(dir) {
        found.error(area, format!("cannot create a file in {shown}: {e}"));
        found.remedy("set TMPDIR to a writable directory");
    }
    let length = dir.as_os_str().len() + MAX_SOCKET_SUFFIX;
    if length >= SOCKET_NAME {
        found.error(
            area,
            format!("the path {shown} is too long: socket paths in it have {length} bytes, the limit is {}", SOCKET_NAME - 1),
        );
        found.remedy("set TMPDIR to a shorter path, such as `TMPDIR=/tmp`");
    }
}

/// Checks for tokens that others can read.
fn credentials(name: &str, found: &mut Findings) {
    let Some(home) = std::env::var_os("HOME").map(PathBuf::from) else {
        return;
    };
    let path = home.join(".terraform.d").join(name);
    if let Ok(meta) = std::fs::metadata(&path)
        && meta.permissions().mode() & 0o077 != 0
    {
        let text = format!(
            "{} contains tokens, and other users on this machine can read it",
            path.display()
        );
        found.readable_by_others(Area::Machine, text, path);
    }
}
