//! HTTP proxy: CONNECT, with basic authentication if a user is configured.

use super::error::SshError;
use super::{Proxy, address};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Timeout of the proxy's answer.
const PROXY_TIMEOUT: Duration = Duration::from_secs(15);
/// Maximum size of the answer's head, in bytes.
const HEAD: usize = 16 * 1024;

/// Opens a connection through `proxy`.
pub(super) async fn connect_through(
    proxy: &Proxy,
    host: &str,
    port: u16,
) -> Result<TcpStream, SshError> {
    let (at, to) = (address(&proxy.host, proxy.port), address(host, port));
    let mut stream = super::connection::dial(&proxy.host, proxy.port).await?;
    let refused = |why: String| SshError::Proxy(at.clone(), to.clone(), why);
    match tokio::time::timeout(PROXY_TIMEOUT, send_request(&mut stream, proxy, &to)).await {
        Err(_) => Err(refused("no answer".to_owned())),
        Ok(Err(error)) => Err(refused(error.to_string())),
        Ok(Ok(status)) if status.split(' ').nth(1) == Some("200") => Ok(stream),
        Ok(Ok(status)) => Err(refused(format!("it answered {status:?}"))),
    }
}

/// Sends the request and returns the status line. Reads the head byte by byte, because the bytes
/// after it belong to the SSH connection.
async fn send_request(stream: &mut TcpStream, proxy: &Proxy, to: &str) -> std::io::Result<String> {
    let mut request = format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n");
    if !proxy.user.is_empty() || !proxy.password.is_empty() {
        request += &format!(
            "Proxy-Authorization: Basic {}\r\n",
            STANDARD.encode(format!("{}:{}", proxy.user, proxy.password))
        );
    }
    stream.write_all((request + "\r\n").as_bytes()).await?;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        // A server that is not a proxy might send without end.
        if head.len() == HEAD {
            return Err(std::io::Error::other(
                "the header of its answer is too long",
            ));
        }
        head.push(stream.read_u8().await?);
    }
    Ok(String::from_utf8_lossy(&head)
        .lines()
        .next()
        .unwrap_or_default()
        .to_owned())
}
