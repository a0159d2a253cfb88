//! A command on another machine: in a terminal where there are such, so that it ends with its
//! connection; its output is told line by line.

use super::connect::Remote;
use super::error::SshError;
use crate::engine::shell::Output;
use crate::engine::shell::output::{LEFT_OPEN, Lines};
use russh::client::Msg;
use russh::{Channel, ChannelMsg, Pty, Sig};
use std::time::Duration;
use tokio::io::{AsyncWriteExt, DuplexStream, duplex};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// How long the server may take to start a command, or to end one that is to end.
const START: Duration = Duration::from_secs(30);
const END: Duration = Duration::from_secs(10);
/// Bytes of output that wait for the one who tells them.
const WAITING: usize = 64 * 1024;
/// The key that interrupts what runs in a terminal.
const INTERRUPT: &[u8] = b"\x03";

/// How a command ended.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::engine) enum Ended {
    Status(u32),
    /// By a signal of this name.
    Signal(String),
    /// It was made to end, and did.
    Killed,
}

impl Remote<'_> {
    /// Runs a command to its end, or until `cancel`.
    ///
    /// # Errors
    /// It cannot be started, or the connection was lost before its end was seen.
    pub(in crate::engine) async fn run(
        &mut self,
        command: &str,
        output: &Output<'_>,
        cancel: &CancellationToken,
    ) -> Result<Ended, SshError> {
        let mut channel = self.channel().await?;
        if !self.target.windows {
            let modes = [
                (Pty::ECHO, 0),
                (Pty::TTY_OP_ISPEED, 14400),
                (Pty::TTY_OP_OSPEED, 14400),
            ];
            let asked = channel
                .request_pty(true, "xterm", 40, 80, 0, 0, &modes)
                .await;
            self.granted(&mut channel, asked, "a terminal").await?;
        }
        let asked = channel.exec(true, format!("{}\n", command.trim())).await;
        self.granted(&mut channel, asked, "to run a command")
            .await?;
        let (ours, theirs) = (duplex(WAITING), duplex(WAITING));
        let (mut told, mut complained) = (Lines::of(ours.1), Lines::of(theirs.1));
        let telling = async { tokio::join!(told.pass_on(output), complained.pass_on(output)) };
        let (mut out, mut err) = (ours.0, theirs.0);
        let reading = async {
            let ended = tokio::select! { biased;
                () = cancel.cancelled() => None,
                ended = hear(&mut channel, &mut out, &mut err, output) => Some(ended),
            };
            let ended = match ended {
                Some(ended) => Ok(ended),
                None => Err(kill(&mut channel, &mut out, &mut err, output).await),
            };
            // The end of what is told.
            drop((out, err));
            ended
        };
        let (ended, _) = tokio::join!(reading, telling);
        match ended {
            Ok(Some(ended)) => Ok(ended),
            Ok(None) => Err(self.lost("it ended before the command did")),
            Err(true) => Ok(Ended::Killed),
            Err(false) => Err(SshError::Left(self.target.to.address())),
        }
    }

    /// Waits for the answer to a request in a channel.
    pub(super) async fn granted(
        &self,
        channel: &mut Channel<Msg>,
        asked: Result<(), russh::Error>,
        what: &str,
    ) -> Result<(), SshError> {
        asked.map_err(|e| self.lost(e))?;
        let answer = async {
            loop {
                match channel.wait().await {
                    Some(ChannelMsg::Success) => return Some(true),
                    Some(ChannelMsg::Failure) => return Some(false),
                    None => return None,
                    _ => {}
                }
            }
        };
        match tokio::time::timeout(START, answer).await {
            Ok(Some(true)) => Ok(()),
            Ok(Some(false)) => Err(SshError::Refused(self.target.to.address(), what.to_owned())),
            Ok(None) => Err(self.lost("it ended before an answer came")),
            Err(_) => Err(self.lost(format!("no answer within {} s", START.as_secs()))),
        }
    }
}

/// Passes output on until the channel is closed, or is left open after the command has ended.
/// Returns how the command ended, where that was said.
async fn hear(
    channel: &mut Channel<Msg>,
    out: &mut DuplexStream,
    err: &mut DuplexStream,
    output: &Output<'_>,
) -> Option<Ended> {
    let mut ended = None;
    let mut until = None;
    loop {
        let message = match until {
            None => channel.wait().await,
            Some(until) => match tokio::time::timeout_at(until, channel.wait()).await {
                Ok(message) => message,
                Err(_) => {
                    output.leave_open();
                    break;
                }
            },
        };
        let Some(message) = message else { break };
        match message {
            ChannelMsg::Data { data } => drop(out.write_all(&data).await),
            ChannelMsg::ExtendedData { data, .. } => drop(err.write_all(&data).await),
            ChannelMsg::ExitStatus { exit_status } => ended = Some(Ended::Status(exit_status)),
            ChannelMsg::ExitSignal { signal_name, .. } => {
                ended = Some(Ended::Signal(format!("{signal_name:?}")))
            }
            ChannelMsg::Close => break,
            _ => {}
        }
        if ended.is_some() && until.is_none() {
            until = Some(Instant::now() + LEFT_OPEN);
        }
    }
    ended
}

/// Kills a command as far as the server lets us: some take signals, and a terminal has a key for
/// it. Whether its end was seen.
async fn kill(
    channel: &mut Channel<Msg>,
    out: &mut DuplexStream,
    err: &mut DuplexStream,
    output: &Output<'_>,
) -> bool {
    let killing = async {
        channel.signal(Sig::KILL).await.ok();
        channel.data(INTERRUPT).await.ok();
        hear(channel, out, err, output).await.is_some()
    };
    tokio::time::timeout(END, killing).await.unwrap_or(false)
}
