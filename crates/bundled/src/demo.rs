//! Demo workspace, and the faults that an operator can trigger in it. The `.tf` files are compiled
//! in from `assets/demo`.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};

use crate::lab::LabError;
use crate::lab::control::{self, Fault, Kind, On};

macro_rules! demo_files {
    ($($path:literal),* $(,)?) => {
        [$(($path, include_str!(concat!("../../../assets/demo/", $path)))),*]
    };
}

static FILES: [(&str, &str); 7] = demo_files![
    "main.tf",
    "variables.tf",
    "outputs.tf",
    "web.tf",
    "web.flightdeck.hcl",
    "modules/network/main.tf",
    "modules/app/main.tf"
];

/// Returns the files of the workspace: relative path (with `/`) and content.
pub fn files() -> &'static [(&'static str, &'static str)] {
    &FILES
}

/// Returns the path of the lab's file in the workspace.
pub fn lab_file(workspace: &Path) -> PathBuf {
    workspace.join("lab").join("lab.json")
}

/// Returns the directory for [`crate::lab::DIRECTORY_VARIABLE`] of child processes, in which
/// `slowstart` counts its launches.
pub fn lab_directory(workspace: &Path) -> PathBuf {
    workspace.join("lab")
}

/// File with the release of the web servers that a fault sets.
const RELEASE: &str = "web.auto.tfvars.json";

/// Writes the workspace into a directory, with a `demo.auto.tfvars.json` that has absolute paths of
/// the lab's file and the output directory. So plugins can run in any directory. `program` has the
/// web server. Returns the lock of the web servers: they end when it is dropped, or when this
/// process is killed.
///
/// # Errors
/// A file or directory cannot be written, or no port is free.
pub fn write_to(workspace: &Path, program: &Path) -> io::Result<File> {
    // Plugins run in their own directories, so relative paths would not work.
    let workspace = std::path::absolute(workspace)?;
    for (path, content) in files() {
        let path = workspace.join(path);
        std::fs::create_dir_all(path.parent().unwrap_or(&workspace))?;
        std::fs::write(path, content)?;
    }
    std::fs::create_dir_all(lab_directory(&workspace))?;
    let lock_path = lab_directory(&workspace).join("web.lock");
    let lock = File::create(&lock_path)?;
    lock.try_lock()?;
    let variables = serde_json::json!({
        "lab_file": lab_file(&workspace).display().to_string(),
        "out_dir": workspace.join("out").display().to_string(),
        "web_lock": lock_path.display().to_string(),
        "web_ports": free_ports(["a", "b", "c"])?,
        "web_program": program.display().to_string(),
    });
    std::fs::write(
        workspace.join("demo.auto.tfvars.json"),
        format!("{variables:#}\n"),
    )?;
    Ok(lock)
}

/// Returns a free port for each key.
fn free_ports<'k>(keys: [&'k str; 3]) -> io::Result<BTreeMap<&'k str, u16>> {
    let listen = |key| Ok((key, TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?));
    // Collected first: a port stays taken until all are known, so that they differ.
    let listeners: Vec<(&str, TcpListener)> =
        keys.into_iter().map(listen).collect::<io::Result<_>>()?;
    let port = |(key, listener): &(&'k str, TcpListener)| Ok((*key, listener.local_addr()?.port()));
    listeners.iter().map(port).collect()
}

/// Installs the demo's Bluelink plugin into a plugin path; `program` serves it.
///
/// # Errors
/// The link cannot be created.
pub fn install_plugin(root: &Path, program: &Path) -> io::Result<()> {
    crate::install("slowstart", root, program).map(drop)
}

/// Fault that an operator of the demo can trigger, or its removal.
pub struct DemoFault {
    /// Digit that selects it; unique.
    pub key: char,
    /// Name of two or three words.
    pub title: &'static str,
    /// Effect in one sentence.
    pub effect: &'static str,
    trigger: fn(&Path) -> Result<String, LabError>,
}

impl DemoFault {
    /// Triggers it in the lab with this file; returns a message for the operator.
    ///
    /// # Errors
    /// The lab's files cannot be read or written.
    pub fn trigger(&self, lab: &Path) -> Result<String, LabError> {
        (self.trigger)(lab)
    }
}

/// Returns all faults, and the entry that clears them.
pub fn demo_faults() -> &'static [DemoFault] {
    &BREAKAGES
}

static BREAKAGES: [DemoFault; 10] = [
    DemoFault {
        key: '1',
        title: "throttle",
        effect: "the next two changes fail with 429 and would succeed if retried",
        trigger: |lab| {
            set(
                lab,
                Fault {
                    times: Some(2),
                    ..Fault::new(Kind::Transient)
                },
                "the next two changes are throttled",
            )
        },
    },
    DemoFault {
        key: '2',
        title: "deny",
        effect: "the next change is permanently denied: 403",
        trigger: |lab| {
            set(
                lab,
                Fault {
                    times: Some(1),
                    ..Fault::new(Kind::Permanent)
                },
                "the next change is denied",
            )
        },
    },
    DemoFault {
        key: '3',
        title: "bad input",
        effect: "the lab rejects the name in the next change",
        trigger: |lab| {
            set(
                lab,
                Fault {
                    times: Some(1),
                    ..Fault::new(Kind::BadInput)
                },
                "the next change has a bad name",
            )
        },
    },
    DemoFault {
        key: '4',
        title: "hang",
        effect: "the next change gets no answer until it is cancelled",
        trigger: |lab| {
            set(
                lab,
                Fault {
                    times: Some(1),
                    ..Fault::new(Kind::Hang)
                },
                "the next change hangs",
            )
        },
    },
    DemoFault {
        key: '5',
        title: "crash",
        effect: "the lab's plugin panics in the next change, after the work and before the answer",
        trigger: |lab| {
            set(
                lab,
                Fault {
                    times: Some(1),
                    after: true,
                    ..Fault::new(Kind::Crash)
                },
                "the next change crashes the plugin",
            )
        },
    },
    DemoFault {
        key: '6',
        title: "partial create",
        effect: "the next create fails and leaves an incomplete object",
        trigger: |lab| {
            set(
                lab,
                Fault {
                    times: Some(1),
                    on: On::Create,
                    ..Fault::new(Kind::Partial)
                },
                "the next create is incomplete",
            )
        },
    },
    DemoFault {
        key: '7',
        title: "drift",
        effect: "a server is resized outside of flightdeck",
        trigger: resize,
    },
    DemoFault {
        key: '8',
        title: "vanish",
        effect: "a bucket is deleted outside of flightdeck",
        trigger: delete_object,
    },
    DemoFault {
        key: '9',
        title: "broken release",
        effect: "the next release of the web servers is never ready; the rolling update pauses",
        trigger: break_release,
    },
    DemoFault {
        key: '0',
        title: "mend",
        effect: "all faults are cleared; changed and deleted objects stay as they are",
        trigger: mend,
    },
];

fn set(lab: &Path, fault: Fault, said: &str) -> Result<String, LabError> {
    control::set(lab, fault).map(|id| format!("{said} ({id})"))
}

fn resize(lab: &Path) -> Result<String, LabError> {
    let Some(server) = first(lab, "lab_server")? else {
        return Ok("there is no server yet: deploy first".into());
    };
    control::tamper(lab, &server.id, "size", "huge".into())?;
    Ok(format!(
        "{} ({}) now has the size huge",
        server.name, server.id
    ))
}

fn delete_object(lab: &Path) -> Result<String, LabError> {
    let Some(bucket) = first(lab, "lab_bucket")? else {
        return Ok("there is no bucket yet: deploy first".into());
    };
    control::delete_object(lab, &bucket.id)?;
    Ok(format!("{} ({}) was deleted", bucket.name, bucket.id))
}

/// Returns the file with the release, in the workspace of a lab.
fn release_file(lab: &Path) -> PathBuf {
    let workspace = lab.ancestors().nth(2).unwrap_or(lab);
    workspace.join(RELEASE)
}

fn failed(doing: &'static str, path: &Path) -> impl Fn(io::Error) -> LabError {
    let path = path.to_owned();
    move |source| LabError::Io {
        doing,
        path: path.clone(),
        source,
    }
}

fn break_release(lab: &Path) -> Result<String, LabError> {
    let path = release_file(lab);
    let text = serde_json::json!({ "web_release": "v2-broken" });
    std::fs::write(&path, format!("{text:#}\n")).map_err(failed("write", &path))?;
    Ok("the release of the web servers is v2-broken: stage and deploy it".into())
}

fn mend(lab: &Path) -> Result<String, LabError> {
    let cleared = control::clear_all(lab)?;
    let path = release_file(lab);
    match std::fs::remove_file(&path) {
        Ok(()) => Ok(format!(
            "{cleared} faults cleared; the web servers have release v1 again"
        )),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Ok(format!("{cleared} faults cleared"))
        }
        Err(error) => Err(failed("remove", &path)(error)),
    }
}

fn first(lab: &Path, kind: &str) -> Result<Option<control::Existing>, LabError> {
    let mut found: Vec<_> = control::objects(lab)?
        .into_iter()
        .filter(|object| object.kind == kind)
        .collect();
    // Sorted, so that a fault affects the same object in each run.
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found.into_iter().next())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_demo_asset_is_compiled_in() {
        fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    walk(&path, found)
                } else {
                    found.push(path)
                }
            }
        }
        let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../assets/demo"));
        let mut found = Vec::new();
        walk(root, &mut found);
        let mut found: Vec<String> = found
            .iter()
            .map(|path| path.strip_prefix(root).unwrap().display().to_string())
            .collect();
        let mut compiled: Vec<&str> = files().iter().map(|(path, _)| *path).collect();
        found.sort();
        compiled.sort_unstable();
        assert_eq!(found, compiled);
    }

    #[test]
    fn demo_workspace_is_written_with_absolute_paths() {
        let dir = tempfile::tempdir().unwrap();
        let lock = write_to(dir.path(), Path::new("/bin/flightdeck")).unwrap();
        let text = std::fs::read_to_string(dir.path().join("demo.auto.tfvars.json")).unwrap();
        let variables: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            variables["lab_file"].as_str().unwrap(),
            lab_file(dir.path()).display().to_string()
        );
        let ports = variables["web_ports"].as_object().unwrap().values();
        let ports: BTreeSet<u64> = ports.map(|port| port.as_u64().unwrap()).collect();
        assert_eq!(ports.len(), 3);
        let other = File::open(variables["web_lock"].as_str().unwrap()).unwrap();
        assert!(other.try_lock_shared().is_err());
        drop(lock);
        other.try_lock_shared().unwrap();
        assert!(dir.path().join("modules/app/main.tf").exists());
    }

    #[test]
    fn demo_plugin_is_installed_in_the_plugin_directory() {
        let dir = tempfile::tempdir().unwrap();
        install_plugin(dir.path(), Path::new("/bin/true")).unwrap();
        let folder = dir.path().join("providers/flightdeck/slowstart");
        let version = std::fs::read_dir(folder).unwrap().next().unwrap().unwrap();
        let link = version.path().join("plugin");
        assert_eq!(std::fs::read_link(&link).unwrap(), Path::new("/bin/true"));
        assert_eq!(crate::installed_as(link.as_os_str()), Some("slowstart"));
        assert!(FILES[0].1.contains("source = \"flightdeck/slowstart\""));
    }

    #[test]
    fn demo_faults_are_injected_and_cleared() {
        let dir = tempfile::tempdir().unwrap();
        let lab = lab_file(dir.path());
        std::fs::create_dir_all(lab_directory(dir.path())).unwrap();
        let keys: BTreeSet<char> = demo_faults().iter().map(|breakage| breakage.key).collect();
        assert_eq!(keys.len(), demo_faults().len());
        for breakage in demo_faults().iter().filter(|breakage| breakage.key != '0') {
            breakage.trigger(&lab).unwrap();
        }
        assert_eq!(control::list(&lab).unwrap().len(), 6);
        let mend = demo_faults()
            .iter()
            .find(|breakage| breakage.key == '0')
            .unwrap();
        let release = std::fs::read_to_string(dir.path().join(RELEASE)).unwrap();
        assert!(release.contains("v2-broken"), "{release}");
        let mended = "6 faults cleared; the web servers have release v1 again";
        assert_eq!(mend.trigger(&lab).unwrap(), mended);
        assert_eq!(mend.trigger(&lab).unwrap(), "0 faults cleared");
        assert!(!dir.path().join(RELEASE).exists());
        assert!(control::list(&lab).unwrap().is_empty());
    }
}
