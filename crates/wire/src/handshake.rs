//! Handshake line that a plugin prints when it is ready: `CORE|APP|NETWORK|ADDR|TYPE|CERT[|MUX]`.
//! Parses and formats it; each kind of malformed line has its own error, which shows the line.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The only supported version of the handshake.
pub const CORE_VERSION: u32 = 1;
/// Maximum length of a line in bytes. A line with a typical certificate has about 900.
pub const MAX_LINE: usize = 16 * 1024;
/// Minimum length of a certificate. Old plugins print shorter text in its place.
const MIN_CERTIFICATE: usize = 50;
/// Number of characters of a malformed line that an error shows.
const MAX_SHOWN: usize = 160;

/// Address on which a plugin listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// Path of a Unix socket.
    Unix(PathBuf),
    /// TCP address; all known plugins use the loopback.
    Tcp(SocketAddr),
}

impl Address {
    /// Parses an address of a handshake line or a reattach configuration.
    ///
    /// # Errors
    /// The network is neither `unix` nor `tcp`, or the address is invalid.
    pub fn parse(network: &str, text: &str) -> Result<Self, AddressError> {
        match network {
            "unix" if text.is_empty() => Err(AddressError::Empty),
            "unix" if text.len() >= crate::env::SUN_PATH_LIMIT => Err(AddressError::TooLong {
                path: Escaped::new(text),
                length: text.len(),
            }),
            "unix" => Ok(Self::Unix(PathBuf::from(text))),
            "tcp" => text
                .parse()
                .map(Self::Tcp)
                .map_err(|_| AddressError::Tcp(Escaped::new(text))),
            other => Err(AddressError::Network(Escaped::new(other))),
        }
    }

    /// Returns `unix` or `tcp`.
    #[must_use]
    pub fn network(&self) -> &'static str {
        match self {
            Self::Unix(_) => "unix",
            Self::Tcp(_) => "tcp",
        }
    }

    /// Returns the path of a Unix socket.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Unix(path) => Some(path),
            Self::Tcp(_) => None,
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => path.display().fmt(f),
            Self::Tcp(address) => address.fmt(f),
        }
    }
}

/// Invalid address.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AddressError {
    #[error("the path of the unix socket is empty")]
    Empty,
    #[error(
        "the path of the unix socket has {length} bytes, but the system's limit is 107: {path}"
    )]
    TooLong { path: Escaped, length: usize },
    #[error("`{0}` is not an address of the form HOST:PORT")]
    Tcp(Escaped),
    #[error("the network `{0}` is unknown (supported are `unix` and `tcp`)")]
    Network(Escaped),
}

/// Text from outside, made safe to print: control characters are escaped, long text is truncated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Escaped(String);

impl Escaped {
    /// Escapes and truncates `text`.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let mut out = String::new();
        for (n, c) in text.chars().enumerate() {
            if n == MAX_SHOWN {
                out.push('…');
                break;
            }
            if c.is_control() {
                out.extend(c.escape_default())
            } else {
                out.push(c)
            }
        }
        Self(out)
    }
}

impl fmt::Display for Escaped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Handshake line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handshake {
    /// Application protocol version that the plugin chose (5 or 6 for providers).
    pub protocol: u32,
    /// Address of the plugin.
    pub address: Address,
    /// Certificate of the plugin as DER, if it uses TLS.
    pub certificate: Option<Vec<u8>>,
    /// True if the plugin multiplexes its listener (seventh field); flightdeck never requests that.
    pub multiplexed: bool,
}

/// Reason why a first line is not a usable handshake. Each variant shows the line.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum HandshakeError {
    #[error("the first line of output is empty; a plugin prints its handshake there")]
    Empty,
    #[error(
        "the first line of output is longer than {MAX_LINE} bytes and cannot be a handshake; it starts: {0}"
    )]
    TooLong(Escaped),
    #[error("the first line of output is not text and cannot be a handshake: {0}")]
    NotText(Escaped),
    #[error(
        "the first line of output is not a handshake (it has {fields} of the 4 to 7 fields separated by `|`): {line}"
    )]
    Unrecognised { line: Escaped, fields: usize },
    #[error("the first field of the handshake is not a number: {0}")]
    CoreNotANumber(Escaped),
    #[error(
        "the plugin speaks handshake version {found}, but only version {CORE_VERSION} is supported: {line}"
    )]
    CoreVersion { line: Escaped, found: u32 },
    #[error("the second field of the handshake, the protocol version, is not a number: {0}")]
    ProtocolNotANumber(Escaped),
    #[error("the handshake names an address that cannot be used: {source}: {line}")]
    Address { line: Escaped, source: AddressError },
    #[error(
        "the plugin speaks net/rpc, the protocol from before gRPC, which is not supported: {0}"
    )]
    NetRpc(Escaped),
    #[error("the plugin uses the protocol `{kind}`, but only `grpc` is supported: {line}")]
    Kind { line: Escaped, kind: Escaped },
    #[error("the certificate in the handshake is not base64 without padding ({reason}): {line}")]
    Certificate { line: Escaped, reason: String },
    #[error("the seventh field of the handshake, for multiplexing, is neither true nor false: {0}")]
    Multiplex(Escaped),
    #[error(
        "the handshake enables multiplexing (seventh field), which flightdeck did not request: {0}"
    )]
    Multiplexed(Escaped),
    #[error("the plugin offers protocol version {found}, but flightdeck supports only {}", join(.offered))]
    Protocol { found: u32, offered: Vec<u32> },
}

fn join(versions: &[u32]) -> String {
    versions
        .iter()
        .map(u32::to_string)
        .collect::<Vec<_>>()
        .join(" and ")
}

impl Handshake {
    /// Parses a line, with or without its line end.
    ///
    /// # Errors
    /// One variant for each way in which the line is not the handshake of a gRPC plugin.
    pub fn parse(line: &[u8]) -> Result<Self, HandshakeError> {
        if line.len() > MAX_LINE {
            return Err(HandshakeError::TooLong(Escaped::new(
                &String::from_utf8_lossy(&line[..MAX_SHOWN * 2]),
            )));
        }
        // Surrounding blanks are allowed, as in go-plugin's own host.
        let text = std::str::from_utf8(line)
            .map_err(|_| HandshakeError::NotText(Escaped::new(&String::from_utf8_lossy(line))))?
            .trim();
        if text.is_empty() {
            return Err(HandshakeError::Empty);
        }
        let shown = || Escaped::new(text);
        let fields: Vec<&str> = text.split('|').collect();
        // The version is checked first, because another version can have other fields.
        if fields.len() > 1 && matches!(fields[0].parse::<u32>(), Ok(n) if n != CORE_VERSION) {
            return Err(HandshakeError::CoreVersion {
                line: shown(),
                found: fields[0].parse().unwrap_or_default(),
            });
        }
        if !(4..=7).contains(&fields.len()) {
            return Err(HandshakeError::Unrecognised {
                line: shown(),
                fields: fields.len(),
            });
        }
        if fields[0].parse::<u32>().is_err() {
            return Err(HandshakeError::CoreNotANumber(shown()));
        }
        let protocol = fields[1]
            .parse()
            .map_err(|_| HandshakeError::ProtocolNotANumber(shown()))?;
        // The type is checked before the address: it names the more fundamental problem.
        match fields.get(4).copied() {
            // go-plugin leaves the field out or empty for its older net/rpc protocol.
            None | Some("" | "netrpc") => return Err(HandshakeError::NetRpc(shown())),
            Some("grpc") => {}
            Some(kind) => {
                return Err(HandshakeError::Kind {
                    line: shown(),
                    kind: Escaped::new(kind),
                });
            }
        }
        let address =
            Address::parse(fields[2], fields[3]).map_err(|source| HandshakeError::Address {
                line: shown(),
                source,
            })?;
        let certificate = match fields.get(5).copied() {
            Some(text) if text.len() > MIN_CERTIFICATE => {
                Some(STANDARD_NO_PAD.decode(text).map_err(|reason| {
                    HandshakeError::Certificate {
                        line: shown(),
                        reason: reason.to_string().to_lowercase(),
                    }
                })?)
            }
            _ => None,
        };
        let multiplexed = match fields.get(6).copied() {
            None | Some("" | "false") => false,
            Some("true") => true,
            Some(_) => return Err(HandshakeError::Multiplex(shown())),
        };
        // A multiplexing plugin would expect a connection of another form.
        if multiplexed {
            return Err(HandshakeError::Multiplexed(shown()));
        }
        Ok(Self {
            protocol,
            address,
            certificate,
            multiplexed,
        })
    }

    /// Checks that the plugin chose one of the offered versions. A plugin that supports none of
    /// them still prints its own, so the host must check.
    ///
    /// # Errors
    /// The version was not offered.
    pub fn expect_protocol(&self, offered: &[u32]) -> Result<(), HandshakeError> {
        if offered.contains(&self.protocol) {
            return Ok(());
        }
        Err(HandshakeError::Protocol {
            found: self.protocol,
            offered: offered.to_vec(),
        })
    }
}

impl fmt::Display for Handshake {
    /// Formats the line as a plugin prints it, without the line end.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let certificate = self
            .certificate
            .as_deref()
            .map(|der| STANDARD_NO_PAD.encode(der))
            .unwrap_or_default();
        let Self {
            protocol, address, ..
        } = self;
        write!(
            f,
            "{CORE_VERSION}|{protocol}|{}|{address}|grpc|{certificate}",
            address.network()
        )?;
        // go-plugin prints the seventh field only if the plugin multiplexes.
        if self.multiplexed {
            f.write_str("|true")
        } else {
            Ok(())
        }
    }
}

/// Returns the highest version that both sides support, from the host's `PLUGIN_PROTOCOL_VERSIONS`.
/// With `None` the plugin prints its lowest version, and the host refuses it.
#[must_use]
pub fn choose_protocol(offered: &str, own: &[u32]) -> Option<u32> {
    offered
        .split(',')
        .filter_map(|v| v.trim().parse().ok())
        .filter(|v| own.contains(v))
        .max()
}

#[cfg(test)]
mod tests;
