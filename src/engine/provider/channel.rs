//! The way of gRPC to one process: HTTP/2 over one socket, and never over another. Owns the task
//! that moves the frames; it ends with the connection.
//!
//! On the HTTP/2 library itself. Between a call and its frames tonic's transport has a queue, a
//! service that connects again and a task for each request: hops between threads that take as long
//! as a quick plugin's answer, for what one socket has no use for.

use bytes::Bytes;
use h2::RecvStream;
use h2::client::{Builder, SendRequest};
use http::header::{HeaderValue, USER_AGENT};
use http::uri::{Authority, Scheme, Uri};
use http::{Request, Response, Version};
use http_body_util::BodyExt;
use hyper::body::{Body, Frame};
use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::task::TaskTracker;
use tower::Service;

/// Window of a stream and of the connection: schemas of tens of megabytes in few round trips.
const WINDOW: u32 = 16 << 20;

const SPEAKER: HeaderValue =
    HeaderValue::from_static(concat!("flightdeck/", env!("CARGO_PKG_VERSION")));

type Broken = Box<dyn Error + Send + Sync>;

/// Nothing comes over it any more.
#[derive(Debug, thiserror::Error)]
#[error("the connection to the plugin is lost")]
pub struct Lost(#[source] h2::Error);

/// Makes calls whose requests are one message each; clones share the connection.
#[derive(Debug, Clone)]
pub struct Channel {
    streams: SendRequest<Bytes>,
}

impl Channel {
    /// # Errors
    /// Whoever is at the other end has closed it, or does not speak HTTP/2.
    pub(super) async fn over(
        socket: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    ) -> Result<Self, Lost> {
        let (streams, connection) = Builder::new()
            .initial_window_size(WINDOW)
            .initial_connection_window_size(WINDOW)
            .enable_push(false)
            .handshake(socket)
            .await
            .map_err(Lost)?;
        TaskTracker::new().spawn(async move {
            if let Err(e) = connection.await {
                tracing::debug!(error = %e, "a connection to a plugin has broken");
            }
        });
        Ok(Self { streams })
    }
}

impl Service<Request<tonic::body::Body>> for Channel {
    type Response = Response<Answer>;
    type Error = Broken;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Broken>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Broken>> {
        self.streams.poll_ready(cx).map_err(broken)
    }

    fn call(&mut self, request: Request<tonic::body::Body>) -> Self::Future {
        // It is this clone that was found to be ready.
        let next = self.streams.clone();
        let mut streams = std::mem::replace(&mut self.streams, next);
        Box::pin(async move {
            let (mut head, message) = request.into_parts();
            let mut uri = head.uri.into_parts();
            uri.scheme = Some(Scheme::HTTP);
            uri.authority = Some(Authority::from_static("localhost"));
            head.uri = Uri::from_parts(uri)?;
            head.version = Version::HTTP_2;
            head.headers.insert(USER_AGENT, SPEAKER);
            // It is in memory already; the library splits it up, and waits for the window.
            let message = message.collect().await?.to_bytes();
            let (answer, mut stream) = streams
                .send_request(Request::from_parts(head, ()), false)
                .map_err(broken)?;
            stream.send_data(message, true).map_err(broken)?;
            let (head, stream) = answer.await.map_err(broken)?.into_parts();
            let read = false;
            Ok(Response::from_parts(head, Answer { stream, read }))
        })
    }
}

/// What a plugin answers, as it comes: messages, then trailers.
pub struct Answer {
    stream: RecvStream,
    /// All messages have been.
    read: bool,
}

impl Body for Answer {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        if !self.read {
            match ready!(self.stream.poll_data(cx)) {
                Some(Ok(data)) => {
                    let room = self.stream.flow_control().release_capacity(data.len());
                    return Poll::Ready(Some(room.map(|()| Frame::data(data)).map_err(broken)));
                }
                Some(Err(e)) => return Poll::Ready(Some(Err(broken(e)))),
                None => self.read = true,
            }
        }
        let trailers = ready!(self.stream.poll_trailers(cx)).map_err(broken);
        Poll::Ready(trailers.map(|all| all.map(Frame::trailers)).transpose())
    }
}

/// A stream that the plugin has reset has a code, of which tonic makes that of a status; anything
/// else is the end of the connection.
fn broken(error: h2::Error) -> Broken {
    match error.is_reset() && error.is_remote() {
        true => error.into(),
        false => Lost(error).into(),
    }
}
