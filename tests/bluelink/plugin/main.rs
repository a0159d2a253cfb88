//! Bluelink plugin for tests, which behaves like plugins built with the official framework. It
//! registers once and exits if nobody listens. It knows its host's id only a moment after the
//! reply, and checks the id in every call. It cannot distinguish null from an empty list. Files
//! next to the executable hold its world and its faults:
//!
//! - `id`: its plugin id,
//! - `faults`: a line for each launch (`exits`, `late`, …; `-` for none),
//! - `troubles`: faults of calls, a line each: METHOD FAULT COUNT,
//! - `retry`: its retry policy; otherwise it has none, which arrives as zeros,
//! - `old`: if it exists, data sources and functions are not supported,
//! - `without-checks`: if it exists, data sources cannot be validated,
//! - `asks`: its requests to the host during a deploy, a line each: NAME REQUEST ARGUMENTS,
//! - `links` and related files: its links, see `links.rs`,
//! - `functions`: names of its functions; otherwise it has all,
//! - `transform`: its transform name if it is a transformer, which serves no provider calls,
//! - `elsewhere`: the port that it registers if its fault is `elsewhere`,
//! - `unix`: if it exists, the plugin listens at a socket next to it,
//! - `world/`: a file for each object; `calls`: a line of JSON for each call.

#![allow(
    clippy::disallowed_methods,
    reason = "a separate program, which may exit in the middle of a call"
)]
#![allow(clippy::unwrap_used, reason = "a test plugin may panic")]

mod deregistration;
mod descriptions;
mod fault_files;
mod functions;
mod host_requests;
mod impostor;
mod link_calls;
mod links;
mod mapping_node;
mod object_store;
mod ping_client;
mod provider;
mod resource_calls;
mod schema;
mod transformer;

use fault_files::file;
use proto::bluelink::pluginservicev1 as host;
use proto::bluelink::pluginservicev1::service_client::ServiceClient;
use proto::bluelink::providerserverv1::provider_server::ProviderServer;
use proto::bluelink::transformerserverv1::transformer_server::TransformerServer;
use resource_calls::{Fake, Host};
use std::process::ExitCode;
use std::time::Duration;
use tokio::net::{TcpListener, UnixListener};
use tokio::signal::unix::{SignalKind, signal};
use tokio_stream::wrappers::UnixListenerStream;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;

/// Variables that name the host's port, under both names of the product.
const PORTS: [&str; 2] = [
    "BLUELINK_BUILD_ENGINE_PLUGIN_SERVICE_PORT",
    "CELERITY_BUILD_ENGINE_PLUGIN_SERVICE_PORT",
];

/// Process id of the plugin that this process impersonates.
const FOREIGNER: &str = "FAKE_REGISTERS_FOR";

/// Delay between the reply and the moment when the host's id is known; the official framework has a
/// shorter one.
const KNOWS_ITS_HOST_AFTER: Duration = Duration::from_millis(25);

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let mut terminate = signal(SignalKind::terminate()).unwrap();
    println!("Starting plugin server...");
    tokio::select! {
        code = serve() => code,
        _ = terminate.recv() => {
            println!("ended when it was asked to");
            ExitCode::SUCCESS
        }
    }
}

async fn serve() -> ExitCode {
    if let Ok(whose) = std::env::var(FOREIGNER) {
        return impostor::run(&whose).await;
    }
    let fault = fault_files::take_launch_fault();
    match fault.as_str() {
        "exits" => {
            eprintln!("[ERROR] no licence was found");
            return ExitCode::from(3);
        }
        "other-program" => {
            eprintln!("This binary is a plugin. These are not meant to be executed directly.");
            return ExitCode::FAILURE;
        }
        "foreigner" => {
            let own = std::env::args_os().next().unwrap();
            let mut other = tokio::process::Command::new(own);
            let pid = std::process::id().to_string();
            other.env(FOREIGNER, pid).status().await.unwrap();
        }
        "late" => tokio::time::sleep(Duration::from_secs(600)).await,
        "a-little-late" => tokio::time::sleep(Duration::from_millis(4_500)).await,
        _ => {}
    }
    let knows = Host::default();
    let (port, socket) = listen(&fault, knows.clone()).await;
    let ports = PORTS.map(|name| std::env::var(name).unwrap_or_default());
    assert_eq!(ports[0], ports[1], "an old plugin reads the other name");
    let address = format!("http://127.0.0.1:{}", ports[0]);
    let Ok(mut service) = ServiceClient::connect(address).await else {
        eprintln!("[ERROR] the host cannot be reached");
        return ExitCode::FAILURE;
    };
    let request = registration(&fault, port, socket);
    let reply = service
        .register(request.clone())
        .await
        .unwrap()
        .into_inner();
    if !reply.success {
        eprintln!("[ERROR] failed to register: {}", reply.message);
        return ExitCode::FAILURE;
    }
    if fault == "twice" {
        let again = service.register(request).await.unwrap().into_inner();
        eprintln!("registered again: {} {}", again.success, again.message);
    }
    tokio::time::sleep(KNOWS_ITS_HOST_AFTER).await;
    knows.set(&reply.host_id);
    if fault == "asks" {
        let context = Default::default();
        let doubled =
            functions::call_through_host(context, "double", serde_json::json!(["a"])).await;
        println!("a function says {doubled:?}");
        let found = host_requests::lookup(String::new(), "fake/box", "box-1", None).await;
        println!("looked up: {found:?}");
    }
    if fault == "deregisters" {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let agreed = deregistration::deregister(&reply.host_id).await;
        println!("deregistered: {agreed}");
    }
    std::future::pending().await
}

/// Registered plugin type: that of the installation directory, unless the fault says otherwise.
fn kind(fault: &str) -> host::PluginType {
    match (fault_files::is_transformer(), fault) {
        (true, "provider") => host::PluginType::Provider,
        (true, _) | (false, "transformer") => host::PluginType::Transformer,
        (false, _) => host::PluginType::Provider,
    }
}

/// Registration request.
fn registration(fault: &str, port: i32, socket: String) -> host::PluginRegistrationRequest {
    let pid = match fault {
        "wrong-pid" => 1,
        _ => std::process::id(),
    };
    host::PluginRegistrationRequest {
        plugin_type: kind(fault).into(),
        plugin_id: match fault {
            "wrong-id" => "somebody/else".to_owned(),
            _ => fault_files::id(),
        },
        instance_id: pid.to_string(),
        protocol_versions: match fault {
            "wrong-protocol" => vec!["2.0".to_owned(), "1.7".to_owned()],
            _ => vec!["1.0".to_owned()],
        },
        metadata: Some(host::PluginMetadata {
            plugin_version: "1.0.0".to_owned(),
            display_name: "Fake".to_owned(),
            plain_text_description: "Boxes for tests".to_owned(),
            repository_url: "https://example.com/fake".to_owned(),
            author: "The Fakers".to_owned(),
            ..host::PluginMetadata::default()
        }),
        port: match fault {
            "deaf" => 1,
            "elsewhere" => fault_files::number("elsewhere"),
            _ => port,
        },
        unix_socket: socket,
    }
}

/// Starts the server; returns its port and socket.
async fn listen(fault: &str, host: Host) -> (i32, String) {
    let namespace = match fault {
        "wrong-namespace" => "other".to_owned(),
        _ => fault_files::id().rsplit('/').next().unwrap().to_owned(),
    };
    let fake = Fake { host, namespace };
    let server = match fault_files::is_transformer() || fault == "serves-another" {
        true => Server::builder().add_service(TransformerServer::new(fake)),
        false => Server::builder().add_service(ProviderServer::new(fake)),
    };
    if file("unix").exists() {
        let path = file(&format!("s{}", std::process::id()));
        let listener = UnixListener::bind(&path).unwrap();
        tokio::spawn(server.serve_with_incoming(UnixListenerStream::new(listener)));
        return (0, path.display().to_string());
    }
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    // Go sets TCP_NODELAY on every socket.
    let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
    tokio::spawn(server.serve_with_incoming(incoming));
    (port.into(), String::new())
}
