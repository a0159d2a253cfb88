//! Plugin of the additional dialect. It registers at a socket of its host with its own socket, then
//! answers each line of JSON with one line. Its world is the directory `world` of its workspace: a
//! file for each object.

#![allow(clippy::unwrap_used, reason = "a test plugin may panic")]

use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::ExitCode;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::signal::unix::{SignalKind, signal};

/// Variable with the path of the host's socket.
const HOST: &str = "LINES_HOST_SOCKET";

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let mut terminate = signal(SignalKind::terminate()).unwrap();
    tokio::select! {
        code = serve() => code,
        _ = terminate.recv() => {
            println!("ended when it was asked to");
            ExitCode::SUCCESS
        }
    }
}

/// Path of a file in the workspace.
fn file(name: &str) -> PathBuf {
    let own = PathBuf::from(std::env::args_os().next().unwrap());
    own.ancestors()
        .find(|folder| folder.ends_with(".terraform"))
        .expect("installed in a workspace")
        .with_file_name(name)
}

/// Takes the fault of this launch: the next line of a file.
fn fault() -> String {
    let text = std::fs::read_to_string(file("faults")).unwrap_or_default();
    let (now, later) = text.split_once('\n').unwrap_or((&text, ""));
    if !text.is_empty() {
        std::fs::write(file("faults"), later).unwrap();
    }
    now.to_owned()
}

async fn serve() -> ExitCode {
    let host = PathBuf::from(std::env::var_os(HOST).expect("started by a host"));
    let socket = host.with_file_name("plugin");
    let listener = UnixListener::bind(&socket).unwrap();
    let id = match fault().as_str() {
        "ends" => {
            eprintln!("[ERROR] no licence was found");
            return ExitCode::from(3);
        }
        "foreign" => "somebody",
        _ => "things",
    };
    println!("nothing on this stream is protocol");
    let register = json!({"register": {"id": id, "pid": std::process::id(), "protocol": "1.0", "socket": socket}});
    let answer = ask(UnixStream::connect(&host).await.unwrap(), &register).await;
    let Some(host) = answer["host"].as_str() else {
        eprintln!("[ERROR] refused: {}", answer["refused"].as_str().unwrap());
        return ExitCode::FAILURE;
    };
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let mut stream = BufReader::new(stream);
        let mut line = String::new();
        stream.read_line(&mut line).await.unwrap();
        let request: Value = serde_json::from_str(&line).unwrap();
        let answer = match request["host"] == host {
            true => {
                apply(&request).map_or_else(|error| json!({"error": error}), |ok| json!({"ok": ok}))
            }
            false => json!({"error": "it is another's plugin"}),
        };
        stream
            .write_all(format!("{answer}\n").as_bytes())
            .await
            .unwrap();
    }
}

/// Sends one line and reads one line.
async fn ask(stream: UnixStream, request: &Value) -> Value {
    let mut stream = BufReader::new(stream);
    stream
        .write_all(format!("{request}\n").as_bytes())
        .await
        .unwrap();
    let mut line = String::new();
    stream.read_line(&mut line).await.unwrap();
    serde_json::from_str(&line).unwrap()
}

fn apply(request: &Value) -> Result<Value, String> {
    let id = || {
        request["id"]
            .as_str()
            .map(str::to_owned)
            .ok_or("an object has an id")
    };
    match request["call"].as_str().unwrap_or_default() {
        "namespace" => Ok(json!("things")),
        "schema" => Ok(json!({
            "config": {"region": "optional"},
            "types": {"things_thing": {"name": "required", "id": "computed", "region": "computed"}},
        })),
        "read" => Ok(std::fs::read_to_string(object(&id()?))
            .map_or(Value::Null, |text| serde_json::from_str(&text).unwrap())),
        "deploy" => {
            let name = request["spec"]["name"]
                .as_str()
                .ok_or("a thing has a name")?;
            let id = request["id"]
                .as_str()
                .map_or_else(|| format!("id-of-{name}"), str::to_owned);
            let region = request["config"]["region"].as_str().unwrap_or("nowhere");
            let thing = json!({"name": name, "id": id, "region": region});
            std::fs::create_dir_all(file("world")).unwrap();
            std::fs::write(object(&id), thing.to_string()).unwrap();
            Ok(thing)
        }
        "destroy" => std::fs::remove_file(object(&id()?))
            .map(|()| Value::Null)
            .map_err(|e| e.to_string()),
        other => Err(format!("{other:?} is not known here")),
    }
}

fn object(id: &str) -> PathBuf {
    file("world").join(format!("{id}.json"))
}
