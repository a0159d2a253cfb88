//! Through an HTTP proxy: CONNECT, with basic authentication where there is a user.

use super::error::SshError;
use super::{Proxy, address};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// How long a proxy may take to answer.
const ANSWER: Duration = Duration::from_secs(15);
/// Bytes of an answer's head that are read.
const HEAD: usize = 16 * 1024;

/// A connection through `proxy`.
pub(super) async fn through(proxy: &Proxy, host: &str, port: u16) -> Result<TcpStream, SshError> {
    let (at, to) = (address(&proxy.host, proxy.port), address(host, port));
    let mut stream = super::line::dial(&proxy.host, proxy.port).await?;
    let refused = |why: String| SshError::Proxy(at.clone(), to.clone(), why);
    match tokio::time::timeout(ANSWER, ask(&mut stream, proxy, &to)).await {
        Err(_) => Err(refused("no answer".to_owned())),
        Ok(Err(error)) => Err(refused(error.to_string())),
        Ok(Ok(status)) if status.split(' ').nth(1) == Some("200") => Ok(stream),
        Ok(Ok(status)) => Err(refused(format!("it answered {status:?}"))),
    }
}

/// Asks, and reads the head of the answer and not a byte more; the first line of it.
async fn ask(stream: &mut TcpStream, proxy: &Proxy, to: &str) -> std::io::Result<String> {
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
        if head.len() == HEAD {
            return Err(std::io::Error::other("its answer has no end"));
        }
        head.push(stream.read_u8().await?);
    }
    Ok(String::from_utf8_lossy(&head)
        .lines()
        .next()
        .unwrap_or_default()
        .to_owned())
}
