//! Tests of plugin processes with real children and real sockets: launch failures, ends, and
//! processes left behind. The child is a shell script; if it must be callable, the test itself
//! answers on its socket.

mod bundled;
mod failures;
mod kit;
mod lives;
mod orders;
mod real;
mod server;
