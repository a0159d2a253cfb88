//! Registry and mirror of the tests, with packages of the bundled provider `lab`.

use super::https_server::{Reply, Server};
use super::pgp_signer::Signer;
use base64::Engine as _;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::io::Write as _;

/// Platform of this machine, as in package names.
pub(crate) fn platform() -> String {
    let arch = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    format!("linux_{arch}")
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

/// Package with one executable that serves the bundled provider `lab`.
pub(crate) fn package(version: &str) -> Vec<u8> {
    let name = format!("terraform-provider-lab_v{version}");
    let script = script();
    let mut bytes = std::io::Cursor::new(Vec::new());
    let mut zip = zip::ZipWriter::new(&mut bytes);
    let options = zip::write::SimpleFileOptions::default()
        .compression_method(zip::CompressionMethod::Deflated)
        .unix_permissions(0o755);
    zip.start_file(name, options).unwrap();
    zip.write_all(script.as_bytes()).unwrap();
    zip.start_file("LICENSE", options.unix_permissions(0o644))
        .unwrap();
    zip.write_all(format!("version {version}\n").as_bytes())
        .unwrap();
    zip.finish().unwrap();
    bytes.into_inner()
}

fn script() -> String {
    format!(
        "#!/bin/sh\nexec {} plugin serve lab\n",
        env!("CARGO_BIN_EXE_flightdeck")
    )
}

/// `h1:` hash of the package of a version, calculated by the test itself.
pub(crate) fn h1(version: &str) -> String {
    let license = format!("version {version}\n");
    let lines = format!(
        "{}  LICENSE\n{}  terraform-provider-lab_v{version}\n",
        sha256(license.as_bytes()),
        sha256(script().as_bytes())
    );
    let digest = Sha256::digest(lines.as_bytes());
    format!(
        "h1:{}",
        base64::engine::general_purpose::STANDARD.encode(digest)
    )
}

/// Path of the download information of one version.
pub(crate) fn download(version: &str) -> String {
    let platform = platform();
    let (os, arch) = platform.split_once('_').unwrap();
    format!("/providers/acme/lab/{version}/download/{os}/{arch}")
}

pub(crate) fn archive(version: &str) -> String {
    format!(
        "/packages/terraform-provider-lab_{version}_{}.zip",
        platform()
    )
}

/// Checksum of a package for an imaginary platform.
pub(crate) fn checksum_of_another_platform(version: &str) -> String {
    sha256(format!("other {version}").as_bytes())
}

/// Download information of a version's package.
pub(crate) fn download_information(version: &str, key: &str) -> Value {
    let platform = platform();
    let (os, arch) = platform.split_once('_').unwrap();
    json!({
        "protocols": ["5.0", "6.0"], "os": os, "arch": arch,
        "filename": format!("terraform-provider-lab_{version}_{platform}.zip"),
        "download_url": archive(version),
        "shasum": sha256(&package(version)),
        "shasums_url": format!("/packages/{version}/SHA256SUMS"),
        "shasums_signature_url": format!("/packages/{version}/SHA256SUMS.sig"),
        "signing_keys": { "gpg_public_keys": [{ "key_id": "X", "ascii_armor": key }] },
    })
}

/// Registers `acme/lab` in these versions, signed.
pub(crate) fn registry(server: &Server, signer: &Signer, versions: &[&str]) {
    server.answer(
        "/.well-known/terraform.json",
        Reply::json(&json!({ "providers.v1": "/providers/" })),
    );
    let listed: Vec<Value> = versions
        .iter()
        .map(|v| json!({ "version": v, "protocols": ["5.0", "6.0"], "platforms": [] }))
        .collect();
    server.answer(
        "/providers/acme/lab/versions",
        Reply::json(&json!({ "versions": listed })),
    );
    for version in versions {
        let bytes = package(version);
        let sums = format!(
            "{}  terraform-provider-lab_{version}_{}.zip\n{}  terraform-provider-lab_{version}_plan9_mips.zip\n",
            sha256(&bytes),
            platform(),
            checksum_of_another_platform(version)
        );
        server.answer(
            &download(version),
            Reply::json(&download_information(version, &signer.armored())),
        );
        server.answer(&archive(version), Reply::bytes(bytes));
        let signature = signer.sign(sums.as_bytes());
        server.answer(
            &format!("/packages/{version}/SHA256SUMS"),
            Reply::bytes(sums),
        );
        server.answer(
            &format!("/packages/{version}/SHA256SUMS.sig"),
            Reply::bytes(signature),
        );
    }
}

/// Mirror under `/mirror/` of a provider whose own host does not exist.
pub(crate) fn mirror(server: &Server, host: &str, versions: &[&str]) {
    let base = format!("/mirror/{host}/acme/lab");
    let listed: Value = versions
        .iter()
        .map(|v| ((*v).to_owned(), json!({})))
        .collect::<serde_json::Map<_, _>>()
        .into();
    server.answer(
        &format!("{base}/index.json"),
        Reply::json(&json!({ "versions": listed })),
    );
    for version in versions {
        let archives = json!({ platform(): { "url": "../../../../packages/mirrored.zip", "hashes": [h1(version)] } });
        server.answer(
            &format!("{base}/{version}.json"),
            Reply::json(&json!({ "archives": archives })),
        );
        server.answer("/packages/mirrored.zip", Reply::bytes(package(version)));
    }
}
