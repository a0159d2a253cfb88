//! Client of the host that sends a ping with each call, as the official framework's client does to
//! measure the flow-control window. The host answers the ping at once: a small write right before
//! the reply.

use crate::PORTS;
use h2::Ping;
use http::Request;
use prost::Message;
use prost::bytes::{BufMut as _, Bytes, BytesMut};
use proto::bluelink::pluginservicev1::LookupResourceInStateRequest;
use std::time::{Duration, Instant};
use tokio::net::TcpStream;

/// Repeats a lookup over one connection; returns the duration of one.
pub async fn lookups(request: &LookupResourceInStateRequest, times: u32) -> Duration {
    let port = std::env::var(PORTS[0]).unwrap();
    let socket = TcpStream::connect(format!("127.0.0.1:{port}"))
        .await
        .unwrap();
    socket.set_nodelay(true).unwrap();
    let (mut calls, mut connection) = h2::client::handshake(socket).await.unwrap();
    let mut pings = connection.ping_pong().unwrap();
    tokio::spawn(connection);
    let began = Instant::now();
    for _ in 0..times {
        pings.send_ping(Ping::opaque()).unwrap();
        let head = Request::post("http://localhost/pluginservicev1.Service/LookupResourceInState")
            .header("content-type", "application/grpc")
            .header("te", "trailers")
            .body(())
            .unwrap();
        let (answer, mut body) = calls.send_request(head, false).unwrap();
        body.send_data(grpc_frame(request), true).unwrap();
        let mut answer = answer.await.unwrap().into_body();
        while let Some(piece) = answer.data().await {
            let taken = piece.unwrap().len();
            answer.flow_control().release_capacity(taken).unwrap();
        }
        std::future::poll_fn(|cx| pings.poll_pong(cx))
            .await
            .unwrap();
    }
    began.elapsed() / times
}

/// gRPC frame of a message: uncompressed flag, length, message.
fn grpc_frame(message: &impl Message) -> Bytes {
    let mut out = BytesMut::new();
    out.put_u8(0);
    out.put_u32(u32::try_from(message.encoded_len()).unwrap());
    message.encode(&mut out).unwrap();
    out.freeze()
}
