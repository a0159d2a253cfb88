//! Tracks whether the output of a process has been read completely. Pipes are read concurrently
//! with calls, so a log line may arrive after the answer that it explains. Owned by the readers;
//! the plugin's log waits on it.

use rustix::io::ioctl_fionread;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, ReadBuf};

/// Interval between checks of the pipes.
const CHECK_INTERVAL: Duration = Duration::from_millis(2);

/// One pipe that is being read.
struct PipeDrain {
    pipe: OwnedFd,
    /// True while the reader has processed everything it read and waits for more.
    is_waiting: AtomicBool,
}

impl PipeDrain {
    fn is_quiet(&self) -> bool {
        // In this order: bytes taken from the pipe count as processed only once the reader waits
        // again.
        ioctl_fionread(&self.pipe).is_ok_and(|bytes| bytes == 0)
            && self.is_waiting.load(Ordering::SeqCst)
    }
}

/// Pipes of one plugin that are being read.
#[derive(Default)]
pub(super) struct PipeDrains(Mutex<Vec<Weak<PipeDrain>>>);

impl PipeDrains {
    /// Wraps a pipe for its reader and tracks it.
    pub(super) fn track<R: AsyncRead + AsFd>(&self, reader: R) -> DrainedPipe<R> {
        let ear = reader.as_fd().try_clone_to_owned().ok().map(|pipe| {
            Arc::new(PipeDrain {
                pipe,
                is_waiting: AtomicBool::new(false),
            })
        });
        let mut ears = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Each launch adds pipes, so drop those of ended processes.
        ears.retain(|ear| ear.strong_count() > 0);
        ears.extend(ear.iter().map(Arc::downgrade));
        DrainedPipe { reader, drain: ear }
    }

    /// Waits until all output written before the call is processed, at most `within`, because a
    /// process may write without end.
    pub(super) async fn wait_until_drained(&self, within: Duration) {
        let look = async {
            while !self.is_drained() {
                tokio::time::sleep(CHECK_INTERVAL).await;
            }
        };
        tokio::time::timeout(within, look).await.ok();
    }

    fn is_drained(&self) -> bool {
        let ears: Vec<Arc<PipeDrain>> = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
            .filter_map(Weak::upgrade)
            .collect();
        // A dropped entry belongs to a reader that has reached the end of its pipe.
        ears.iter().all(|ear| ear.is_quiet())
    }
}

/// Pipe that records when its reader waits for more. The reader must process everything it has read
/// before it reads again.
pub(super) struct DrainedPipe<R> {
    reader: R,
    drain: Option<Arc<PipeDrain>>,
}

impl<R: AsyncRead + Unpin> AsyncRead for DrainedPipe<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let waits = |ear: &Option<Arc<PipeDrain>>, it: bool| {
            if let Some(ear) = ear {
                ear.is_waiting.store(it, Ordering::SeqCst);
            }
        };
        // Cleared before the read: bytes are in neither the pipe nor the log while they are
        // processed.
        waits(&self.drain, false);
        let read = Pin::new(&mut self.reader).poll_read(cx, buf);
        if read.is_pending() {
            waits(&self.drain, true);
        }
        Poll::Ready(ready!(read))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::time::Instant;
    use tokio::io::AsyncReadExt as _;

    fn pipe() -> (std::io::PipeWriter, tokio::net::unix::pipe::Receiver) {
        let (reader, writer) = std::io::pipe().expect("pipe");
        (
            writer,
            tokio::net::unix::pipe::Receiver::from_owned_fd(reader.into()).expect("receiver"),
        )
    }

    #[tokio::test]
    async fn pipe_is_drained_when_its_reader_waits_on_an_empty_pipe() {
        let hearing = PipeDrains::default();
        assert!(hearing.is_drained(), "no reader exists");
        let (mut writer, reader) = pipe();
        let mut heard = hearing.track(reader);
        assert!(!hearing.is_drained(), "the pipe was not read yet");
        writer.write_all(b"ab").expect("written");
        let mut byte = [0];
        heard.read_exact(&mut byte).await.expect("read");
        assert!(!hearing.is_drained(), "one byte is left");
        heard.read_exact(&mut byte).await.expect("read");
        assert!(!hearing.is_drained(), "and one may not be dealt with yet");
        let began = Instant::now();
        hearing.wait_until_drained(Duration::from_millis(20)).await;
        assert!(
            began.elapsed() >= Duration::from_millis(20),
            "nobody waits longer than that"
        );
        tokio::select! { biased;
            _ = heard.read_exact(&mut byte) => panic!("there is nothing"),
            () = hearing.wait_until_drained(Duration::from_secs(60)) => {}
        }
        writer.write_all(b"c").expect("written");
        assert!(!hearing.is_drained(), "a byte is on its way");
        drop(heard);
        assert!(hearing.is_drained());
    }
}
