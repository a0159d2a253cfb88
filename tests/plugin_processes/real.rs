//! An unmodified provider, where the environment names its executable.

use crate::kit::*;
use flightdeck::engine::plugin::SchemaReply;

#[tokio::test]
async fn a_provider_as_it_is_shipped() {
    let Some(path) = std::env::var_os("FLIGHTDECK_TEST_PLUGIN") else {
        println!("skipped: FLIGHTDECK_TEST_PLUGIN names no provider executable");
        return;
    };
    let bench = Bench::new(settings());
    let plugin = bench.add(program(path));
    let connection = plugin.ready().await.expect("ready");
    let resources = match connection.take_schema().expect("schema") {
        SchemaReply::V5(reply) => reply.resource_schemas.len(),
        SchemaReply::V6(reply) => reply.resource_schemas.len(),
    };
    println!("protocol {}, {resources} resource types, {:?}", connection.protocol, bench.ear.attempts().pop().expect("attempt").phases);
    assert!(resources > 0);
    let pid = connection.pid.expect("pid");
    let began = std::time::Instant::now();
    plugin.stop().await;
    assert!(began.elapsed().as_secs() < 2, "it ends when it is asked to");
    assert_eq!(process_state(pid), None);
}
