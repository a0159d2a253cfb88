//! Test of a pipeline for each backend: one job plans, another reads the plan, a third applies it
//! in a fresh clone with another home, directory and user.

use crate::server::Server;
use crate::services::{moto, postgres};
use crate::support::{Run, Workspace};
use serde_json::Value;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

const MAIN: &str = r#"
terraform {
  required_providers {
    lab = { source = "acme/lab" }
  }
}
variable "world" { type = string }
variable "size" { type = string }
variable "token" {
  type      = string
  ephemeral = true
}
provider "lab" { file = var.world }
module "part" {
  source = "./part"
  size   = var.size
}
resource "lab_thing" "a" { name = "a${path.module}${module.part.size}" }
output "size" { value = module.part.size }
"#;

const PART: &str = r#"
variable "size" {}
resource "terraform_data" "a" { input = "${file("${path.module}/words.txt")}${var.size}" }
output "size" { value = terraform_data.a.output }
"#;

/// Installs the bundled lab as a package of a mirror in the home of a job.
fn mirror(job: &Workspace) {
    let arch = match std::env::consts::ARCH {
        "aarch64" => "arm64",
        _ => "amd64",
    };
    let name = format!(
        ".terraform.d/plugins/registry.opentofu.org/acme/lab/1.0.0/linux_{arch}/terraform-provider-lab_v1.0.0"
    );
    let path = job.path().parent().unwrap().join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let binary = env!("CARGO_BIN_EXE_flightdeck");
    let text = format!("#!/bin/sh\nexec {binary} plugin serve lab\n");
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Fresh clone of the repository in its own directory and home.
fn clone_of(backend: &str, files: &[(&str, &str)]) -> Workspace {
    let job = Workspace::new(&[
        ("main.tf", MAIN),
        ("backend.tf", backend),
        ("part/main.tf", PART),
        ("part/words.txt", "size-"),
    ]);
    files.iter().for_each(|(name, text)| job.write(name, text));
    mirror(&job);
    job
}

/// Runs a job as another user than that of the tests, if possible.
fn as_another_user(job: &Workspace, words: &[&str]) -> Command {
    let command = job.command(words);
    let mut other = Command::new("setpriv");
    other.args(["--reuid=nobody", "--clear-groups", "--"]);
    let binary = env!("CARGO_BIN_EXE_flightdeck");
    let mut can = Command::new("setpriv");
    can.args([
        "--reuid=nobody",
        "--clear-groups",
        "--",
        binary,
        "--version",
    ]);
    let able =
        rustix::process::geteuid().is_root() && can.output().is_ok_and(|o| o.status.success());
    let mut made = match able {
        false => command,
        true => {
            let folder = job.path().parent().unwrap().to_owned();
            let owned = Command::new("chown")
                .args(["-R", "nobody"])
                .arg(&folder)
                .status();
            assert!(owned.unwrap().success());
            other.arg(binary).args(words).current_dir(job.path());
            for (name, value) in command.get_envs() {
                match value {
                    Some(value) => other.env(name, value),
                    None => other.env_remove(name),
                };
            }
            other.stdin(std::process::Stdio::null());
            other
        }
    };
    made.env("USER", "somebody").env("LOGNAME", "somebody");
    made
}

/// Files that the first job passes on.
struct JobArtifacts {
    plan: String,
    lock_file: String,
}

fn plan(backend: &str, init: &[&str], world: &Path, size: &str) -> JobArtifacts {
    let job = clone_of(backend, &[]);
    let run = |words: &[&str]| {
        let mut command = job.command(words);
        command
            .env("TF_VAR_world", world)
            .env("TF_VAR_token", "morning");
        Run::from_command(&mut command).expect(0)
    };
    run(&[&["init", "-input=false"], init].concat());
    run(&[
        "plan",
        "-input=false",
        "-out=p",
        "-var",
        &format!("size={size}"),
    ]);
    JobArtifacts {
        plan: job.read("p"),
        lock_file: job.read(".terraform.lock.hcl"),
    }
}

/// Reads the plan as a policy check would: without configuration, providers and state.
fn policy(handed: &JobArtifacts, action: &str) {
    let job = Workspace::new(&[("p", &handed.plan)]);
    let shown = job.run(&["show", "-json", "p"]).expect(0).stdout;
    let shown: Value = serde_json::from_str(&shown).unwrap();
    let all = shown["resource_changes"].as_array().unwrap();
    assert_eq!(all.len(), 2);
    for change in all {
        assert_eq!(change["change"]["actions"][0], action, "{change}");
    }
    assert!(!shown.to_string().contains("morning"));
}

fn apply(backend: &str, init: &[&str], handed: &JobArtifacts) -> Run {
    let files = [
        ("p", handed.plan.as_str()),
        (".terraform.lock.hcl", handed.lock_file.as_str()),
    ];
    let job = clone_of(backend, &files);
    Run::from_command(&mut as_another_user(
        &job,
        &[&["init", "-input=false"], init].concat(),
    ))
    .expect(0);
    let apply = ["apply", "-input=false", "-var", "token=evening", "p"];
    let run = Run::from_command(&mut as_another_user(&job, &apply));
    if run.code == Some(0) {
        let output = ["output", "-raw", "size"];
        let shown =
            Run::from_command(as_another_user(&job, &output).stderr(std::process::Stdio::piped()));
        assert!(!shown.stdout.is_empty(), "{shown:?}");
    }
    run
}

/// Runs two rounds, then applies a plan that is stale.
fn pipeline(backend: &str, init: &[&str]) {
    let world = tempfile::tempdir().unwrap();
    let open = std::fs::Permissions::from_mode(0o777);
    std::fs::set_permissions(world.path(), open).unwrap();
    let world = world.path().join("world.json");
    let first = plan(backend, init, &world, "small");
    policy(&first, "create");
    apply(backend, init, &first).expect(0);
    let second = plan(backend, init, &world, "large");
    policy(&second, "update");
    let late = plan(backend, init, &world, "late");
    apply(backend, init, &second).expect(0);
    for stale in [first, late] {
        let run = apply(backend, init, &stale).expect(1);
        assert!(run.stderr.contains("serial"), "{run:?}");
    }
}

#[test]
fn plan_of_one_job_is_applied_by_another_with_an_http_backend() {
    let server = Server::start();
    let backend = "terraform {\n  backend \"http\" {\n    retry_max = 0\n  }\n}\n";
    let address = |name: &str| format!("-backend-config={name}={}", server.url("/s"));
    let all = ["address", "lock_address", "unlock_address"].map(address);
    let init: Vec<&str> = all.iter().map(String::as_str).collect();
    pipeline(backend, &init);
    assert_eq!(server.lock(), None);
}

/// Creates a bucket and returns the block of a backend in it, without credentials.
pub(crate) fn s3_backend(port: u16, bucket: &str) -> String {
    let mut stream = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
    let make = format!(
        "PUT /{bucket} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\nConnection: close\r\nAuthorization: AWS4-HMAC-SHA256 Credential=AKIA/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0\r\n\r\n"
    );
    stream.write_all(make.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    format!(
        "terraform {{\n  backend \"s3\" {{\n    bucket                      = {bucket:?}\n    key                         = \"a.tfstate\"\n    region                      = \"us-east-1\"\n    use_lockfile                = true\n    use_path_style              = true\n    skip_credentials_validation = true\n    endpoints                   = {{ s3 = \"http://127.0.0.1:{port}\" }}\n  }}\n}}\n"
    )
}

#[test]
fn plan_of_one_job_is_applied_by_another_with_an_s3_backend() {
    let Some(moto) = moto() else { return };
    pipeline(
        &s3_backend(moto.port, "pipeline"),
        &[
            "-backend-config=access_key=AKIA",
            "-backend-config=secret_key=s",
        ],
    );
}

#[test]
fn plan_of_one_job_is_applied_by_another_with_a_pg_backend() {
    let Some(postgres) = postgres() else { return };
    let backend = "terraform {\n  backend \"pg\" {\n    schema_name = \"pipeline\"\n  }\n}\n";
    let at = format!(
        "-backend-config=conn_str=postgres://me@127.0.0.1:{}/postgres?sslmode=disable",
        postgres.port
    );
    pipeline(backend, &[&at]);
}
