//! Whose the other end of a connection on this machine is, by what the kernel lists. Pure but for
//! reading `/proc`.

use std::net::SocketAddr;
use std::path::Path;

/// Most file descriptors of a process that are looked at.
const DESCRIPTORS: usize = 4096;

/// Whether the process has the socket that is at `peer` and connected to `ours`; `None` where that
/// cannot be told.
pub(super) fn has_socket(pid: u32, peer: SocketAddr, ours: SocketAddr) -> Option<bool> {
    let process = Path::new("/proc").join(pid.to_string());
    let table = std::fs::read_to_string(process.join("net/tcp")).ok()?;
    let inode = inode(&table, peer, ours)?;
    let wanted = format!("socket:[{inode}]");
    let descriptors = std::fs::read_dir(process.join("fd")).ok()?;
    let mut open = descriptors.flatten().take(DESCRIPTORS);
    Some(
        open.any(|fd| {
            std::fs::read_link(fd.path()).is_ok_and(|target| target == Path::new(&wanted))
        }),
    )
}

/// The socket's number in the kernel's table, whose addresses are in hexadecimal, the bytes of the
/// machine's word in their order (proc(5)).
fn inode(table: &str, local: SocketAddr, remote: SocketAddr) -> Option<u64> {
    let (local, remote) = (text(local)?, text(remote)?);
    table.lines().skip(1).find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let is_it = *fields.get(1)? == local && *fields.get(2)? == remote;
        is_it.then(|| fields.get(9)?.parse().ok()).flatten()
    })
}

fn text(address: SocketAddr) -> Option<String> {
    let SocketAddr::V4(address) = address else {
        return None;
    };
    let ip = u32::from_ne_bytes(address.ip().octets());
    Some(format!("{ip:08X}:{:04X}", address.port()))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn a_connection_is_told_to_be_of_this_process_and_of_no_other() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let ours = listener.local_addr().expect("an address");
        let stream = TcpStream::connect(ours).expect("connected");
        let (_kept, peer) = listener.accept().expect("accepted");
        assert_eq!(has_socket(std::process::id(), peer, ours), Some(true));
        let mut other = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .expect("a process");
        assert_eq!(has_socket(other.id(), peer, ours), Some(false));
        other.kill().and_then(|()| other.wait()).expect("ended");
        drop(stream);
        assert_eq!(has_socket(u32::MAX, peer, ours), None);
    }
}
