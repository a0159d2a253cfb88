//! gRPC channel to one process: HTTP/2 over a single socket, which is never reconnected. Owns the
//! task that drives the connection and ends with it.
//!
//! It uses the HTTP/2 library directly. Between a call and its frames, tonic's transport has a
//! queue, a reconnecting service and a task per request. These thread hops take as long as the
//! answer of a fast plugin, and a single socket does not need them.

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

/// Flow-control window of streams and connection: schemas of tens of megabytes in few round trips.
const WINDOW: u32 = 16 << 20;

const USER_AGENT_VALUE: HeaderValue =
    HeaderValue::from_static(concat!("flightdeck/", env!("CARGO_PKG_VERSION")));

type Broken = Box<dyn Error + Send + Sync>;

/// Error of a connection that is closed or broken.
#[derive(Debug, thiserror::Error)]
#[error("the connection to the plugin is lost")]
pub struct Lost(#[source] h2::Error);

/// Channel for calls with one request message; clones share the connection.
#[derive(Debug, Clone)]
pub struct Channel {
    streams: SendRequest<Bytes>,
}

impl Channel {
    /// Performs the HTTP/2 handshake over a connected socket.
    ///
    /// # Errors
    /// The other end has closed the socket or does not speak HTTP/2.
    pub(super) async fn connect_over(
        socket: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    ) -> Result<Self, Lost> {
        let (streams, connection) = Builder::new()
            .initial_window_size(WINDOW)
            .initial_connection_window_size(WINDOW)
            // gRPC does not use server push.
            .enable_push(false)
            .handshake(socket)
            .await
            .map_err(Lost)?;
        // Detached: the task ends with the connection, which closes with its last channel.
        TaskTracker::new().spawn(async move {
            if let Err(e) = connection.await {
                tracing::debug!(error = %e, "lost the connection to a plugin");
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
        self.streams.poll_ready(cx).map_err(convert_error)
    }

    fn call(&mut self, request: Request<tonic::body::Body>) -> Self::Future {
        // tower contract: only the clone that was polled as ready may be used for this call.
        let next = self.streams.clone();
        let mut streams = std::mem::replace(&mut self.streams, next);
        Box::pin(async move {
            let (mut head, message) = request.into_parts();
            let mut uri = head.uri.into_parts();
            uri.scheme = Some(Scheme::HTTP);
            // HTTP/2 requires an authority, which a Unix socket does not have.
            uri.authority = Some(Authority::from_static("localhost"));
            head.uri = Uri::from_parts(uri)?;
            head.version = Version::HTTP_2;
            head.headers.insert(USER_AGENT, USER_AGENT_VALUE);
            // The message is complete in memory; the library splits it into frames and waits for
            // the window.
            let message = message.collect().await?.to_bytes();
            let (answer, mut stream) = streams
                .send_request(Request::from_parts(head, ()), false)
                .map_err(convert_error)?;
            stream.send_data(message, true).map_err(convert_error)?;
            let (head, stream) = answer.await.map_err(convert_error)?.into_parts();
            let read = false;
            Ok(Response::from_parts(head, Answer { stream, read }))
        })
    }
}

/// Response body: messages, then trailers.
pub struct Answer {
    stream: RecvStream,
    /// True after the last message.
    read: bool,
}

impl Body for Answer {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        // Trailers may be polled only after all data.
        if !self.read {
            match ready!(self.stream.poll_data(cx)) {
                Some(Ok(data)) => {
                    // Without this, the peer stops sending after one window.
                    let room = self.stream.flow_control().release_capacity(data.len());
                    return Poll::Ready(Some(
                        room.map(|()| Frame::data(data)).map_err(convert_error),
                    ));
                }
                Some(Err(e)) => return Poll::Ready(Some(Err(convert_error(e)))),
                None => self.read = true,
            }
        }
        let trailers = ready!(self.stream.poll_trailers(cx)).map_err(convert_error);
        Poll::Ready(trailers.map(|all| all.map(Frame::trailers)).transpose())
    }
}

/// Converts an HTTP/2 error. A stream reset by the plugin keeps its code, from which tonic derives
/// a status; any other error means that the connection is lost.
fn convert_error(error: h2::Error) -> Broken {
    match error.is_reset() && error.is_remote() {
        true => error.into(),
        false => Lost(error).into(),
    }
}
