//! Parses `TF_REATTACH_PROVIDERS`, which describes provider processes started by others.

use super::places::PlacesError;
use crate::settings::{Address, Reattach};
use dependency::ProviderAddress;
use std::collections::BTreeMap;

/// Parses `{"ADDRESS": {"Protocol": "grpc", "ProtocolVersion": 6, "Pid": 1, "Test": true, "Addr":
/// {"Network": "unix", "String": "…"}}}`.
pub(super) fn reattach(text: &str) -> Result<BTreeMap<ProviderAddress, Reattach>, PlacesError> {
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct Entry {
        #[serde(default)]
        protocol: String,
        #[serde(default)]
        protocol_version: u32,
        #[serde(default)]
        pid: u32,
        #[serde(default)]
        test: bool,
        addr: Addr,
    }
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct Addr {
        network: String,
        string: String,
    }
    let wrong = |what: String| PlacesError::Reattach(what);
    let entries: BTreeMap<String, Entry> =
        serde_json::from_str(text).map_err(|e| wrong(format!("invalid JSON: {e}")))?;
    let mut all = BTreeMap::new();
    for (key, entry) in entries {
        let address: ProviderAddress = key.parse().map_err(|e| wrong(format!("{e}")))?;
        if !matches!(entry.protocol.as_str(), "grpc" | "") {
            return Err(wrong(format!(
                "{key} uses the protocol {}, but only grpc is supported",
                entry.protocol
            )));
        }
        let socket = Address::parse(&entry.addr.network, &entry.addr.string)
            .map_err(|e| wrong(format!("{key}: {e}")))?;
        let reattach = Reattach {
            // Early versions of this format have no protocol version and mean 5.
            protocol: if entry.protocol_version == 0 {
                5
            } else {
                entry.protocol_version
            },
            pid: (entry.pid != 0).then_some(entry.pid),
            test: entry.test,
            address: socket,
        };
        all.insert(address, reattach);
    }
    Ok(all)
}
