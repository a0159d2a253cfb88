//! Searches in real directories.

mod before_mirrors;

use super::layout::platform;
use super::*;
use crate::settings::Start;
use dependency::VersionConstraint;
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

const AWS: &str = "registry.terraform.io/hashicorp/aws";

/// A workspace with a mirror beside it, and the environment that names the mirror.
struct Scene {
    folder: tempfile::TempDir,
    variables: HashMap<String, OsString>,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("folder");
        let rc = folder.path().join("rc");
        std::fs::create_dir_all(folder.path().join("ws")).expect("made");
        let text = format!(
            "provider_installation {{ filesystem_mirror {{ path = \"{}\" }} }}",
            folder.path().join("mirror").display()
        );
        std::fs::write(&rc, text).expect("written");
        let variables = HashMap::from([
            ("TF_CLI_CONFIG_FILE".into(), rc.into()),
            ("HOME".into(), folder.path().join("home").into()),
        ]);
        Self { folder, variables }
    }

    fn path(&self, part: &str) -> PathBuf {
        self.folder.path().join(part)
    }

    fn install(&self, place: &str, address: &str, version: &str) -> PathBuf {
        self.install_for(place, address, version, &platform())
    }

    fn install_for(&self, place: &str, address: &str, version: &str, system: &str) -> PathBuf {
        let package = self.path(place).join(address).join(version).join(system);
        std::fs::create_dir_all(&package).expect("made");
        let name = address.rsplit('/').next().expect("name");
        std::fs::write(
            package.join(format!("terraform-provider-{name}_v{version}")),
            version,
        )
        .expect("written");
        package
    }

    fn lock(&self, text: &str) {
        std::fs::write(self.path("ws/.terraform.lock.hcl"), text).expect("written");
    }

    fn find_named(
        &self,
        address: &str,
        constraints: &str,
        named: &[&str],
    ) -> Result<Found, NotFound> {
        let around = Environment {
            variables: self.variables.clone(),
            executable: Some("/bin/flightdeck".into()),
        };
        let workspace = self.path("ws");
        let places = Places::gather(&workspace, &around).expect("places");
        let want = ProviderRequest {
            address: address.parse().expect("address"),
            constraints: VersionConstraint::of_provider(constraints).expect("constraints"),
            implied: false,
            in_state: named.iter().map(|a| a.parse().expect("address")).collect(),
        };
        find(
            &want,
            &LockFile::read(&workspace).expect("lock"),
            &places,
            &HashCache::in_memory(),
        )
    }

    fn find(&self, address: &str, constraints: &str) -> Result<Found, NotFound> {
        self.find_named(address, constraints, &[])
    }
}

fn version(found: &Found) -> String {
    found.version.as_ref().expect("version").to_string()
}

#[test]
fn newest_allowed_version_across_mirrors_is_chosen() {
    let mut scene = Scene::new();
    for v in ["5.1.0", "5.10.0", "5.9.0", "6.0.0-beta1", "6.0.0"] {
        scene.install("mirror", AWS, v);
    }
    scene.install("cache", AWS, "5.11.0");
    scene
        .variables
        .insert("TF_PLUGIN_CACHE_DIR".into(), scene.path("cache").into());
    let found = scene.find("hashicorp/aws", "~> 5.1").expect("found");
    assert_eq!(
        (version(&found).as_str(), found.why.as_str()),
        ("5.11.0", "newest of 4 versions allowed by ~> 5.1")
    );
    assert_eq!(
        found.origin.to_string(),
        format!("plugin cache {}", scene.path("cache").display())
    );
    assert_eq!(found.address.to_string(), AWS);
    assert!(
        found
            .executable()
            .expect("executable")
            .ends_with("terraform-provider-aws_v5.11.0")
    );
    let found = scene.find("aws", "< 5.2").expect("found");
    assert_eq!(
        (version(&found).as_str(), found.why.as_str()),
        ("5.1.0", "the only version allowed by < 5.2")
    );
    assert_eq!(version(&scene.find("aws", "").expect("found")), "6.0.0");
    assert_eq!(
        version(&scene.find("aws", "6.0.0-beta1").expect("found")),
        "6.0.0-beta1"
    );
}

#[test]
fn workspace_installation_takes_precedence_over_mirrors() {
    let scene = Scene::new();
    scene.install("mirror", AWS, "5.2.0");
    scene.install("ws/.terraform/providers", AWS, "5.1.0");
    let found = scene.find("aws", "").expect("found");
    assert_eq!(version(&found), "5.1.0");
    assert!(matches!(found.origin, Origin::Workspace(_)));
    assert_eq!(
        version(&scene.find("aws", ">= 5.2").expect("found")),
        "5.2.0",
        "where it may be taken"
    );
}

#[test]
fn not_found_error_lists_searched_locations_and_versions() {
    let scene = Scene::new();
    let error = scene.find("aws", "").expect_err("nothing").to_string();
    for part in [
        "hashicorp/aws (any version)",
        "TF_REATTACH_PROVIDERS: not set",
        "dev_overrides: none",
        ".terraform/providers: no such directory",
        "mirror: no such directory",
        "`flightdeck init`",
    ] {
        assert!(error.contains(part), "{part:?} is not in {error}");
    }
    scene.install("mirror", AWS, "4.0.0");
    scene.install("mirror", AWS, "5.0.0-rc1");
    scene.install_for("mirror", AWS, "5.1.0", "plan9_mips");
    std::fs::write(
        scene
            .path("mirror")
            .join(AWS)
            .join(format!("terraform-provider-aws_5.2.0_{}.zip", platform())),
        "",
    )
    .expect("written");
    std::fs::create_dir_all(
        scene
            .path("mirror")
            .join(AWS)
            .join("latest")
            .join(platform()),
    )
    .expect("made");
    std::fs::create_dir_all(
        scene
            .path("mirror")
            .join(AWS)
            .join("5.3.0")
            .join(platform()),
    )
    .expect("made");
    let error = scene.find("aws", ">= 5").expect_err("nothing").to_string();
    for part in [
        "4.0.0, not allowed by >= 5",
        "5.0.0-rc1, not allowed by >= 5",
        "5.1.0 only for plan9_mips",
        "5.2.0 as an archive, run `flightdeck init` to unpack it",
        "latest is not a version",
        "contains no file whose name starts with terraform-provider-aws",
    ] {
        assert!(error.contains(part), "{part:?} is not in {error}");
    }
}

#[test]
fn missing_host_means_either_default_host_unless_named_elsewhere() {
    let scene = Scene::new();
    scene.install("mirror", "registry.opentofu.org/hashicorp/aws", "5.2.0");
    scene.install("mirror", AWS, "5.1.0");
    let host = |found: Found| found.address.host.expect("host");
    assert_eq!(
        host(scene.find("aws", "").expect("found")),
        "registry.opentofu.org",
        "the newest"
    );
    assert_eq!(
        host(scene.find(AWS, "").expect("found")),
        "registry.terraform.io",
        "as written"
    );
    assert_eq!(
        host(scene.find_named("aws", "", &[AWS]).expect("found")),
        "registry.terraform.io",
        "as in the state"
    );
    assert_eq!(
        host(
            scene
                .find_named("aws", "", &["registry.terraform.io/other/x"])
                .expect("found")
        ),
        "registry.opentofu.org"
    );
    scene.lock(&format!(
        "provider \"{AWS}\" {{\n version = \"5.1.0\"\n}}\n"
    ));
    assert_eq!(
        host(scene.find("aws", "").expect("found")),
        "registry.terraform.io",
        "as in the lock file"
    );
    scene
        .find("example.com/hashicorp/aws", "")
        .expect_err("another host is another provider");
}

#[test]
fn lock_file_determines_version_and_hashes() {
    let scene = Scene::new();
    let package = scene.install("mirror", AWS, "5.1.0");
    scene.install("mirror", AWS, "5.2.0");
    let lock = |hashes: &str| {
        format!("provider \"{AWS}\" {{\n  version = \"5.1.0\"\n  hashes = [{hashes}]\n}}\n")
    };
    scene.lock(&lock(""));
    let found = scene.find("aws", "").expect("found");
    assert_eq!(version(&found), "5.1.0");
    assert!(
        found.why.contains("locked to 5.1.0") && found.why.contains("not verified"),
        "{}",
        found.why
    );
    scene.lock(&lock("\"zh:00\""));
    let error = scene.find("aws", "").expect_err("unchecked").to_string();
    assert!(
        error.contains("only hashes of archives; run `flightdeck init`"),
        "{error}"
    );
    let hash = HashCache::in_memory().package(&package).expect("hash");
    scene.lock(&lock(&format!("\"h1:other=\", \"{hash}\"")));
    assert!(
        scene
            .find("aws", "")
            .expect("found")
            .why
            .ends_with("its files match the lock file")
    );
    std::fs::write(package.join("terraform-provider-aws_v5.1.0"), "tampered").expect("written");
    let error = scene.find("aws", "").expect_err("tampered").to_string();
    assert!(
        error.contains("5.1.0, but its files do not match the lock file")
            && error.contains("is not among the 2 hashes"),
        "{error}"
    );
    assert!(
        error.contains("5.2.0, but the lock file has 5.1.0"),
        "{error}"
    );
    let error = scene
        .find("aws", "~> 5.2")
        .expect_err("contradiction")
        .to_string();
    assert!(
        error.contains("is locked to 5.1.0, which ~> 5.2 does not allow"),
        "{error}"
    );
}

#[test]
fn locked_provider_is_never_replaced_by_another_address_or_contents() {
    const OTHER: &str = "registry.opentofu.org/hashicorp/aws";
    let tampered = |package: &Path| {
        std::fs::write(package.join("terraform-provider-aws_v5.1.0"), "tampered").expect("written");
    };
    let hash = {
        let scene = Scene::new();
        let package = scene.install("mirror", AWS, "5.1.0");
        HashCache::in_memory().package(&package).expect("hash")
    };
    let lock = |address: &str| {
        format!("provider \"{address}\" {{\n  version = \"5.1.0\"\n  hashes = [\"{hash}\"]\n}}\n")
    };
    // Only the other default host has the provider, in any version, even with identical files.
    for (locked, there) in [(AWS, OTHER), (OTHER, AWS)] {
        for installed in ["5.1.0", "5.2.0"] {
            for place in ["mirror", "ws/.terraform/providers"] {
                let scene = Scene::new();
                scene.install(place, there, installed);
                scene.lock(&lock(locked));
                for named in [&[][..], &[there]] {
                    let error = scene.find_named("aws", "", named);
                    let error = error.expect_err("another provider").to_string();
                    let says =
                        format!("requires {locked} 5.1.0; packages of {there} cannot replace it");
                    assert!(error.contains(&says), "{error}");
                }
            }
        }
    }
    // The other default host has it, beside a package whose files do not match the lock file.
    let scene = Scene::new();
    tampered(&scene.install("mirror", AWS, "5.1.0"));
    scene.install("mirror", OTHER, "5.1.0");
    scene.lock(&lock(AWS));
    let error = scene.find("aws", "").expect_err("tampered").to_string();
    assert!(
        error.contains("its files do not match the lock file"),
        "{error}"
    );
    // The first package that does not match ends the search.
    let scene = Scene::new();
    tampered(&scene.install("ws/.terraform/providers", AWS, "5.1.0"));
    scene.install("mirror", AWS, "5.1.0");
    scene.lock(&lock(AWS));
    scene.find("aws", "").expect_err("tampered");
    // With both hosts in the lock file, each has its own hashes.
    let scene = Scene::new();
    tampered(&scene.install("mirror", AWS, "5.1.0"));
    scene.install("mirror", OTHER, "5.1.0");
    scene.lock(&(lock(AWS) + &lock(OTHER)));
    let found = scene.find("aws", "");
    assert!(
        found.is_err() || found.is_ok_and(|f| f.address.to_string() == OTHER),
        "one of the lock file or none"
    );
}
