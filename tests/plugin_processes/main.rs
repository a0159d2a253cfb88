//! Plugin processes from outside: real children, real sockets, every way to fail at the start, and
//! what is left of them afterwards. The child is a shell script; where it shall be callable, the
//! test itself answers on its socket.

mod bundled;
mod failures;
mod kit;
mod lives;
mod orders;
mod real;
mod server;
