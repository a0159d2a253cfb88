//! Tests of plugin processes with real children and real sockets: launch failures, ends, and
//! processes left behind. The child is a shell script; if it must be callable, the test itself
//! answers on its socket.

mod bundled_providers;
mod launch_failures;
mod lifecycle;
mod operator_orders;
mod plugin_server;
mod test_plugin;
mod unmodified_providers;
