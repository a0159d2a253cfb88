//! Verifies the process at the other end of a local connection in the kernel's socket tables. The
//! protocol has no secret: the host issues none, and the plugin only reports its process id. Reads
//! `/proc` and keeps nothing.

use std::io::Read as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;
use tokio::net::UnixStream;
use tokio::time::Instant;

/// Maximum number of file descriptors checked.
const DESCRIPTORS: usize = 4096;
/// Maximum number of bytes read of a socket table: about 100,000 sockets.
const TABLE: u64 = 16 << 20;
/// First pause before another check of a connection that is not accepted yet.
const FIRST_PAUSE: Duration = Duration::from_millis(1);

/// Owner of a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    /// The process has the socket.
    Process,
    /// Another process has it, or the owner cannot be verified.
    NotVerified,
    /// No process has it yet: the connection waits to be accepted.
    Nobody,
}

/// Returns true if the process has the socket at `theirs` connected to `ours`, and this user
/// created it. False if that cannot be verified.
pub(super) fn is_connected(pid: u32, theirs: SocketAddr, ours: SocketAddr) -> bool {
    owner(pid, theirs, ours) == Owner::Process
}

/// Waits until the process has accepted a connection to its port. False if another process has it,
/// or nobody accepts it before the deadline.
pub(super) async fn accepts(
    pid: u32,
    theirs: SocketAddr,
    ours: SocketAddr,
    until: Instant,
) -> bool {
    let mut pause = FIRST_PAUSE;
    // The kernel does not report an accept of another process, so the table is polled.
    loop {
        let look = tokio::task::spawn_blocking(move || owner(pid, theirs, ours)).await;
        match look {
            Ok(Owner::Nobody) if Instant::now() < until => tokio::time::sleep(pause).await,
            look => return matches!(look, Ok(Owner::Process)),
        }
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}

/// Returns true if the process listens at the other end of a Unix socket.
pub(super) fn listens(pid: u32, socket: &UnixStream) -> bool {
    let Ok(peer) = socket.peer_cred() else {
        return false;
    };
    let is_it = peer.pid().and_then(|pid| u32::try_from(pid).ok()) == Some(pid);
    is_it && peer.uid() == rustix::process::geteuid().as_raw()
}

fn owner(pid: u32, theirs: SocketAddr, ours: SocketAddr) -> Owner {
    let found = ["tcp", "tcp6"].into_iter().find_map(|name| {
        // The table of this network namespace, which contains every connection to this process.
        let file = std::fs::File::open(Path::new("/proc/self/net").join(name)).ok()?;
        let mut table = String::new();
        file.take(TABLE).read_to_string(&mut table).ok()?;
        socket(&table, theirs, ours)
    });
    let Some(Socket { uid, inode }) = found else {
        return Owner::NotVerified;
    };
    // The plugin runs as this user, so its sockets belong to this user.
    if uid != rustix::process::geteuid().as_raw() {
        return Owner::NotVerified;
    }
    // The kernel assigns the inode at the accept.
    if inode == 0 {
        return Owner::Nobody;
    }
    match has_open(pid, inode) {
        true => Owner::Process,
        false => Owner::NotVerified,
    }
}

fn has_open(pid: u32, inode: u64) -> bool {
    let wanted = format!("socket:[{inode}]");
    let folder = Path::new("/proc").join(pid.to_string()).join("fd");
    let Ok(descriptors) = std::fs::read_dir(folder) else {
        return false;
    };
    let mut open = descriptors.flatten().take(DESCRIPTORS);
    open.any(|fd| std::fs::read_link(fd.path()).is_ok_and(|target| target == Path::new(&wanted)))
}

#[derive(Debug, PartialEq, Eq)]
struct Socket {
    /// The user who made it.
    uid: u32,
    inode: u64,
}

/// Finds a socket by its two addresses in a table of proc(5): address and port in fields 1 and 2,
/// user in 7, inode in 9.
fn socket(table: &str, local: SocketAddr, remote: SocketAddr) -> Option<Socket> {
    let (local, remote) = (proc_net_forms(local), proc_net_forms(remote));
    table.lines().skip(1).find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let is = |at: usize, address: &[String; 2]| {
            fields
                .get(at)
                .is_some_and(|field| address.iter().any(|a| a == field))
        };
        let found = is(1, &local) && is(2, &remote);
        found.then(|| {
            Some(Socket {
                uid: fields.get(7)?.parse().ok()?,
                inode: fields.get(9)?.parse().ok()?,
            })
        })?
    })
}

/// Formats an address in the notation of both tables: hexadecimal, each word in the machine's byte
/// order. An IPv6 socket connected to an IPv4 address has the mapped address.
fn proc_net_forms(address: SocketAddr) -> [String; 2] {
    let (v4, v6) = match address.ip() {
        IpAddr::V4(v4) => (Some(v4), v4.to_ipv6_mapped()),
        IpAddr::V6(v6) => (v6.to_ipv4_mapped(), v6),
    };
    let words = |octets: &[u8]| -> String {
        let words = octets.chunks_exact(4);
        words
            .map(|word| {
                let word = <[u8; 4]>::try_from(word).unwrap_or_default();
                format!("{:08X}", u32::from_ne_bytes(word))
            })
            .collect()
    };
    let port = address.port();
    let v4 = v4.map(|v4: Ipv4Addr| format!("{}:{port:04X}", words(&v4.octets())));
    [
        v4.unwrap_or_default(),
        format!("{}:{port:04X}", words(&v6.octets())),
    ]
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};
    use std::process::{Child, Command};

    fn other_process() -> Child {
        Command::new("sleep").arg("60").spawn().expect("a process")
    }

    fn end(mut process: Child) {
        process.kill().and_then(|()| process.wait()).expect("ended");
    }

    fn connected(to: &str) -> (TcpListener, TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let stream = TcpStream::connect(format!("{to}:{port}")).expect("connected");
        let (accepted, _) = listener.accept().expect("accepted");
        (listener, stream, accepted)
    }

    #[test]
    fn tcp_connection_is_attributed_to_the_process_that_opened_it() {
        let other = other_process();
        for to in ["127.0.0.1", "[::ffff:127.0.0.1]"] {
            let (_listener, _stream, accepted) = connected(to);
            let theirs = accepted.peer_addr().expect("an address");
            let ours = accepted.local_addr().expect("an address");
            assert!(is_connected(std::process::id(), theirs, ours), "{to}");
            assert!(!is_connected(other.id(), theirs, ours), "{to}");
            assert!(!is_connected(u32::MAX, theirs, ours), "no such process");
            assert!(
                !is_connected(std::process::id(), ours, ours),
                "{to}: no such socket"
            );
        }
        end(other);
    }

    #[test]
    fn tcp_table_rows_match_both_addresses_in_each_form() {
        let mapped = "0000000000000000FFFF00000100007F";
        let table = format!(
            "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   \
             0: 0100007F:9C40 00000000:0000 0A 00000000:00000000 00:00000000 00000000   0  0 1\n   \
             1: 0100007F:C001 0100007F:9C40 01 00000000:00000000 00:00000000 00000000  10  0 77\n   \
             2: {mapped}:C002 {mapped}:9C40 01 00000000:00000000 00:00000000 00000000  11  0 78\n   \
             3: {mapped}:C003\n"
        );
        let at = |text: &str| -> SocketAddr { text.parse().expect(text) };
        let find = |local: &str, remote: &str| {
            let found = socket(&table, at(local), at(remote));
            found.map(|socket| (socket.uid, socket.inode))
        };
        if cfg!(target_endian = "little") {
            assert_eq!(find("127.0.0.1:49153", "127.0.0.1:40000"), Some((10, 77)));
            assert_eq!(find("127.0.0.1:49154", "127.0.0.1:40000"), Some((11, 78)));
            let both = find("[::ffff:127.0.0.1]:49153", "[::ffff:127.0.0.1]:40000");
            assert_eq!(both, Some((10, 77)));
            assert_eq!(find("127.0.0.1:49153", "127.0.0.1:40001"), None);
            assert_eq!(find("[::1]:49153", "127.0.0.1:40000"), None);
            assert_eq!(
                find("127.0.0.1:49155", "127.0.0.1:40000"),
                None,
                "a cut row"
            );
        }
    }

    #[tokio::test]
    async fn connection_is_verified_only_after_the_process_accepts_it() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let theirs = listener.local_addr().expect("an address");
        let stream = TcpStream::connect(theirs).expect("connected");
        let ours = stream.local_addr().expect("an address");
        let until = Instant::now() + Duration::from_millis(30);
        assert!(!accepts(std::process::id(), theirs, ours, until).await);
        let _accepted = listener.accept().expect("accepted");
        let until = Instant::now() + Duration::from_secs(10);
        assert!(accepts(std::process::id(), theirs, ours, until).await);
        let other = other_process();
        assert!(!accepts(other.id(), theirs, ours, until).await);
        end(other);
    }

    #[tokio::test]
    async fn unix_socket_listener_is_identified_by_its_credentials() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("socket");
        let _listener = tokio::net::UnixListener::bind(&path).expect("bound");
        let stream = UnixStream::connect(&path).await.expect("connected");
        assert!(listens(std::process::id(), &stream));
        assert!(!listens(1, &stream));
    }
}
