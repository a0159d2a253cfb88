//! Command on a remote machine. It runs in a terminal if the system has one, so that it ends with
//! its connection; its output is passed on line by line.

use super::connect::Remote;
use super::error::SshError;
use crate::Output;
use crate::output::{LEFT_OPEN_TIMEOUT, Lines};
use russh::client::Msg;
use russh::{Channel, ChannelMsg, Pty, Sig};
use std::time::Duration;
use tokio::io::{AsyncWriteExt, DuplexStream, duplex};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Maximum time for the server to start a command, or to end one on request.
const START: Duration = Duration::from_secs(30);
const END: Duration = Duration::from_secs(10);
/// Size of the output buffer in bytes.
const OUTPUT_BUFFER: usize = 64 * 1024;
/// Control character that interrupts a process in a terminal (Ctrl-C).
const INTERRUPT: &[u8] = b"\x03";

/// End of a command.
#[derive(Debug, PartialEq, Eq)]
pub enum RemoteExit {
    Status(u32),
    /// Ended by a signal of this name.
    Signal(String),
    /// Ended on request.
    Killed,
}

impl Remote<'_> {
    /// Runs a command until it ends or `cancel`.
    ///
    /// # Errors
    /// The command cannot be started, or the connection was lost before its end was reported.
    pub async fn run(
        &mut self,
        command: &str,
        output: &Output<'_>,
        cancel: &CancellationToken,
    ) -> Result<RemoteExit, SshError> {
        let mut channel = self.channel().await?;
        // Without a terminal, the command would continue after the connection ends.
        if !self.target.windows {
            let modes = [
                // Otherwise the terminal would echo the input into the output.
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
        // The pipes turn the data of channel messages into lines.
        let (ours, theirs) = (duplex(OUTPUT_BUFFER), duplex(OUTPUT_BUFFER));
        let (mut told, mut complained) = (Lines::of(ours.1), Lines::of(theirs.1));
        let telling = async { tokio::join!(told.forward(output), complained.forward(output)) };
        let (mut out, mut err) = (ours.0, theirs.0);
        let reading = async {
            let ended = tokio::select! { biased;
                () = cancel.cancelled() => None,
                ended = forward_output(&mut channel, &mut out, &mut err, output) => Some(ended),
            };
            let ended = match ended {
                Some(ended) => Ok(ended),
                None => Err(kill(&mut channel, &mut out, &mut err, output).await),
            };
            // Ends the readers of the output.
            drop((out, err));
            ended
        };
        let (ended, _) = tokio::join!(reading, telling);
        match ended {
            Ok(Some(ended)) => Ok(ended),
            Ok(None) => Err(self.lost_error("the connection ended before the command did")),
            Err(true) => Ok(RemoteExit::Killed),
            Err(false) => Err(SshError::Left(self.target.endpoint.address())),
        }
    }

    /// Waits for the reply to a channel request.
    pub(super) async fn granted(
        &self,
        channel: &mut Channel<Msg>,
        asked: Result<(), russh::Error>,
        what: &str,
    ) -> Result<(), SshError> {
        asked.map_err(|e| self.lost_error(e))?;
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
            Ok(Some(false)) => Err(SshError::Refused(
                self.target.endpoint.address(),
                what.to_owned(),
            )),
            Ok(None) => Err(self.lost_error("the connection ended before the server answered")),
            Err(_) => Err(self.lost_error(format!("no answer within {} s", START.as_secs()))),
        }
    }
}

/// Passes on output until the channel is closed, or for a limited time after the command has ended.
/// Returns the end of the command, if reported.
async fn forward_output(
    channel: &mut Channel<Msg>,
    out: &mut DuplexStream,
    err: &mut DuplexStream,
    output: &Output<'_>,
) -> Option<RemoteExit> {
    let mut ended = None;
    let mut until = None;
    loop {
        let message = match until {
            None => channel.wait().await,
            Some(until) => match tokio::time::timeout_at(until, channel.wait()).await {
                Ok(message) => message,
                Err(_) => {
                    output.set_left_open();
                    break;
                }
            },
        };
        let Some(message) = message else { break };
        match message {
            ChannelMsg::Data { data } => drop(out.write_all(&data).await),
            ChannelMsg::ExtendedData { data, .. } => drop(err.write_all(&data).await),
            ChannelMsg::ExitStatus { exit_status } => ended = Some(RemoteExit::Status(exit_status)),
            ChannelMsg::ExitSignal { signal_name, .. } => {
                ended = Some(RemoteExit::Signal(format!("{signal_name:?}")))
            }
            ChannelMsg::Close => break,
            _ => {}
        }
        // A background process may keep the channel open after the end of the command.
        if ended.is_some() && until.is_none() {
            until = Some(Instant::now() + LEFT_OPEN_TIMEOUT);
        }
    }
    ended
}

/// Kills a command as far as the server supports it: by a signal, and by Ctrl-C in the terminal.
/// Returns true if its end was reported.
async fn kill(
    channel: &mut Channel<Msg>,
    out: &mut DuplexStream,
    err: &mut DuplexStream,
    output: &Output<'_>,
) -> bool {
    let killing = async {
        // Many servers ignore signals, so send both.
        channel.signal(Sig::KILL).await.ok();
        channel.data(INTERRUPT).await.ok();
        forward_output(channel, out, err, output).await.is_some()
    };
    tokio::time::timeout(END, killing).await.unwrap_or(false)
}
