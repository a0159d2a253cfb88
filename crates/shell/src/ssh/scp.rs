//! Copies files to a remote machine with its own `scp`, which decides about missing directories and
//! existing files.

use super::connect::Remote;
use super::error::SshError;
use super::quote;
use russh::client::Msg;
use russh::{ChannelMsg, ChannelReadHalf, ChannelWriteHalf};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio_util::sync::CancellationToken;

/// Size of the chunks in which a file is read, in bytes.
const CHUNK: usize = 32 * 1024;
/// Maximum number of bytes of `scp`'s messages to keep.
const MAX_MESSAGES: usize = 16 * 1024;

/// Source of a copy.
pub enum Source<'a> {
    Bytes(&'a [u8]),
    /// File or directory. A directory is copied under its name; if the path ends with a slash, only
    /// its contents are copied.
    Path(&'a str, PathBuf),
}

impl Remote<'_> {
    /// Copies to a remote path; files get this mode.
    pub async fn copy(
        &mut self,
        source: &Source<'_>,
        to: &str,
        mode: u32,
        cancel: &CancellationToken,
    ) -> Result<(), SshError> {
        let address = self.target.endpoint.address();
        tokio::select! { biased;
            () = cancel.cancelled() => Err(SshError::Left(address)),
            done = Box::pin(self.copy_all(source, to, mode)) => done,
        }
    }

    async fn copy_all(&mut self, source: &Source<'_>, to: &str, mode: u32) -> Result<(), SshError> {
        let windows = self.target.windows;
        let to = if windows {
            to.replace('\\', "/")
        } else {
            to.to_owned()
        };
        match source {
            Source::Bytes(bytes) => {
                let (folder, name) = quote::folder_and_name(&to);
                // `-t` is the receiving side of the protocol.
                let mut scp = self
                    .scp("-vt", &quote::quote_word(&folder, windows))
                    .await?;
                scp.file(&name, mode, bytes.len() as u64, *bytes, Path::new(&name))
                    .await?;
                scp.finish().await
            }
            Source::Path(text, path) => {
                let about = |e| SshError::Local(path.clone(), e);
                let found = tokio::fs::metadata(path).await.map_err(about)?;
                if !found.is_dir() {
                    let (folder, name) = quote::folder_and_name(&to);
                    let mut scp = self
                        .scp("-vt", &quote::quote_word(&folder, windows))
                        .await?;
                    scp.local(path, &name, mode).await?;
                    return scp.finish().await;
                }
                let mut scp = self.scp("-rvt", &quote::quote_word(&to, windows)).await?;
                if text.ends_with('/') {
                    scp.entries(path, mode).await?;
                } else {
                    let (_, name) = quote::folder_and_name(text);
                    scp.folder(path, &name, mode).await?;
                }
                scp.finish().await
            }
        }
    }

    async fn scp(&mut self, flags: &str, to: &str) -> Result<Scp, SshError> {
        let mut channel = self.channel().await?;
        let asked = channel.exec(true, format!("scp {flags} {to}")).await;
        self.granted(&mut channel, asked, "to run scp").await?;
        let (incoming, channel) = channel.split();
        let mut scp = Scp {
            incoming,
            channel,
            address: self.target.endpoint.address(),
            response: ScpResponse::default(),
        };
        // `scp` acknowledges its start before it accepts files.
        scp.read_acknowledgement().await?;
        Ok(scp)
    }
}

/// Running remote `scp`.
struct Scp {
    incoming: ChannelReadHalf,
    channel: ChannelWriteHalf<Msg>,
    address: String,
    response: ScpResponse,
}

/// Data received so far.
#[derive(Default)]
struct ScpResponse {
    answers: VecDeque<u8>,
    /// Messages on standard error.
    stderr: Vec<u8>,
    status: Option<u32>,
    is_closed: bool,
}

impl ScpResponse {
    fn process_message(&mut self, message: Option<ChannelMsg>) {
        match message {
            Some(ChannelMsg::Data { data }) => self.answers.extend(data.iter()),
            Some(ChannelMsg::ExtendedData { data, .. }) => {
                let room = MAX_MESSAGES.saturating_sub(self.stderr.len());
                self.stderr.extend_from_slice(&data[..room.min(data.len())]);
            }
            Some(ChannelMsg::ExitStatus { exit_status }) => self.status = Some(exit_status),
            Some(ChannelMsg::Close) | None => self.is_closed = true,
            _ => {}
        }
    }
}

impl Scp {
    /// Sends a local file.
    async fn local(&mut self, path: &Path, name: &str, mode: u32) -> Result<(), SshError> {
        let about = |e| SshError::Local(path.to_owned(), e);
        let from = path.to_owned();
        let opened = tokio::task::spawn_blocking(move || fsroot::open_regular(from)).await;
        let file = opened.map_err(std::io::Error::other).flatten();
        let file = tokio::fs::File::from_std(file.map_err(&about)?);
        let size = file.metadata().await.map_err(about)?.len();
        self.file(name, mode, size, file, path).await
    }

    async fn file(
        &mut self,
        name: &str,
        mode: u32,
        size: u64,
        from: impl AsyncRead + Unpin,
        path: &Path,
    ) -> Result<(), SshError> {
        self.line(&format!("C{mode:04o} {size} {name}\n")).await?;
        let (mut from, mut left) = (from.take(size), size);
        let mut chunk = vec![0; CHUNK];
        while left > 0 {
            let read = from
                .read(&mut chunk)
                .await
                .map_err(|e| SshError::Local(path.to_owned(), e))?;
            // The size was announced, so the transfer cannot be completed.
            if read == 0 {
                return Err(SshError::Shrunk(path.to_owned()));
            }
            left -= read as u64;
            self.send(&chunk[..read]).await?;
        }
        // A zero byte ends the file's data.
        self.send(&[0]).await?;
        self.read_acknowledgement().await
    }

    /// Sends a directory with all its contents; links are followed.
    async fn folder(&mut self, path: &Path, name: &str, mode: u32) -> Result<(), SshError> {
        // Directories need the execute bit, so they do not get the mode of the files.
        self.line(&format!("D0755 0 {name}\n")).await?;
        self.entries(path, mode).await?;
        self.line("E\n").await
    }

    async fn entries(&mut self, folder: &Path, mode: u32) -> Result<(), SshError> {
        let about = |e| SshError::Local(folder.to_owned(), e);
        let mut reading = tokio::fs::read_dir(folder).await.map_err(about)?;
        let mut names = Vec::new();
        while let Some(entry) = reading.next_entry().await.map_err(about)? {
            names.push(entry.file_name());
        }
        // A fixed order makes failures reproducible.
        names.sort();
        for name in names {
            let path = folder.join(&name);
            let found = tokio::fs::metadata(&path)
                .await
                .map_err(|e| SshError::Local(path.clone(), e))?;
            let name = name.to_string_lossy();
            if found.is_dir() {
                Box::pin(self.folder(&path, &name, mode)).await?;
            } else {
                self.local(&path, &name, mode).await?;
            }
        }
        Ok(())
    }

    async fn line(&mut self, text: &str) -> Result<(), SshError> {
        self.send(text.as_bytes()).await?;
        self.read_acknowledgement().await
    }

    async fn send(&mut self, bytes: &[u8]) -> Result<(), SshError> {
        let sent = {
            let sending = self.channel.data(bytes);
            tokio::pin!(sending);
            loop {
                // Receive messages while sending, because the remote side may stop reading until
                // its own output is read.
                tokio::select! { biased;
                    sent = &mut sending => break sent,
                    message = self.incoming.wait() => {
                        self.response.process_message(message);
                        if self.response.is_closed {
                            break Ok(());
                        }
                    }
                }
            }
        };
        match sent {
            Ok(()) if !self.response.is_closed => Ok(()),
            Ok(()) => Err(self
                .failure_reason("the connection ended before the copy was complete")
                .await),
            Err(error) => Err(self.failure_reason(&error.to_string()).await),
        }
    }

    /// Waits for an acknowledgement, a zero byte. Any other byte is followed by an error text.
    async fn read_acknowledgement(&mut self) -> Result<(), SshError> {
        if self.next().await? == Some(0) {
            return Ok(());
        }
        let mut words = Vec::new();
        while words.len() < MAX_MESSAGES
            && let Some(byte) = self.next().await?.filter(|b| *b != b'\n')
        {
            words.push(byte);
        }
        let words = String::from_utf8_lossy(&words).into_owned();
        Err(SshError::Scp(
            self.address.clone(),
            words.strip_prefix("scp: ").unwrap_or(&words).to_owned(),
        ))
    }

    async fn next(&mut self) -> Result<Option<u8>, SshError> {
        loop {
            if let Some(byte) = self.response.answers.pop_front() {
                return Ok(Some(byte));
            }
            if !self.receive().await {
                return Err(self
                    .failure_reason("the connection ended before the copy was complete")
                    .await);
            }
        }
    }

    /// Receives one message; false at the end of the channel.
    async fn receive(&mut self) -> bool {
        let message = self.incoming.wait().await;
        self.response.process_message(message);
        !self.response.is_closed
    }

    /// Sends the end of the data, and waits for `scp` to exit.
    async fn finish(mut self) -> Result<(), SshError> {
        self.channel.eof().await.ok();
        while self.receive().await {}
        match self.response.status {
            Some(0) => Ok(()),
            _ => Err(self
                .failure_reason("the connection ended before the copy was complete")
                .await),
        }
    }

    /// Returns the error that describes why `scp` ended.
    async fn failure_reason(&mut self, lost: &str) -> SshError {
        // Its exit status explains the failure, so wait for it.
        while !self.response.is_closed && self.receive().await {}
        match self.response.status {
            Some(127) => SshError::NoScp(self.address.clone()),
            Some(code) => {
                let words = String::from_utf8_lossy(&self.response.stderr);
                // With -v it prints progress messages too; the last line is the error.
                let last = words
                    .lines()
                    .rev()
                    .map(str::trim)
                    .find(|l| !l.is_empty())
                    .unwrap_or_default();
                SshError::Scp(
                    self.address.clone(),
                    format!("exit code {code} {last}").trim_end().to_owned(),
                )
            }
            None => SshError::Broken(self.address.clone(), lost.to_owned()),
        }
    }
}
