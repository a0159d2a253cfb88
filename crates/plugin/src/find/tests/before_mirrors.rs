//! Providers that take precedence over installed ones, or need no installation.

use super::*;

#[test]
fn dev_overrides_take_precedence_over_installed_packages() {
    let scene = Scene::new();
    scene.install("mirror", AWS, "5.1.0");
    let built = scene.path("built");
    std::fs::create_dir(&built).expect("made");
    let rc = format!(
        "provider_installation {{\n dev_overrides {{\n \"hashicorp/aws\" = \"{}\"\n }}\n}}",
        built.display()
    );
    std::fs::write(scene.path("rc"), rc).expect("written");
    let error = scene
        .find("aws", "")
        .expect_err("nothing built yet")
        .to_string();
    assert!(
        error.contains("dev_overrides")
            && error.contains("contains no file whose name starts with terraform-provider-aws"),
        "{error}"
    );
    std::fs::write(built.join("terraform-provider-aws"), "").expect("written");
    let found = scene.find("aws", "= 99.0.0").expect("found");
    assert_eq!(
        (found.version.clone(), found.origin.clone()),
        (None, Origin::DevOverride(built))
    );
    assert_eq!(found.address.to_string(), AWS);
    assert_eq!(found.record().version, None);
}

#[test]
fn not_found_error_has_a_line_per_location_and_the_expected_path() {
    let scene = Scene::new();
    let text = scene
        .find("acme/thing", "~> 2.0")
        .expect_err("nowhere")
        .to_string();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[..2],
        ["the provider acme/thing (~> 2.0) was not found", "searched"]
    );
    assert!(
        lines[2..].contains(&"  TF_REATTACH_PROVIDERS: not set"),
        "{text}"
    );
    let path = format!(
        "acme/thing/VERSION/{}/terraform-provider-thing_vVERSION",
        platform()
    );
    assert!(
        lines
            .last()
            .is_some_and(|l| l.ends_with(&path) && l.contains("registry.")),
        "{text}"
    );
    let bundled = scene
        .find("flightdeck.internal/bundled/none", "")
        .expect_err("none of that name")
        .to_string();
    assert!(
        !bundled.contains("init"),
        "there is nothing to install: {bundled}"
    );
}

#[test]
fn reattached_process_takes_precedence_over_installed_packages() {
    let mut scene = Scene::new();
    scene.install("ws/.terraform/providers", AWS, "5.1.0");
    let text = r#"{"hashicorp/aws":{"Protocol":"grpc","ProtocolVersion":5,"Pid":1,"Test":true,"Addr":{"Network":"unix","String":"/x"}}}"#;
    scene
        .variables
        .insert("TF_REATTACH_PROVIDERS".into(), text.into());
    let found = scene.find("aws", "").expect("found");
    assert!(matches!(found.start, Some(Start::Attach(ref r)) if r.protocol == 5));
    assert_eq!(found.record().source, "TF_REATTACH_PROVIDERS");
    assert!(
        matches!(scene.find("null", "").expect_err("another").searched[0], (_, ref saw) if saw == "has only other providers")
    );
}

#[test]
fn s0_17_bundled_providers_are_served_by_this_program() {
    let scene = Scene::new();
    let found = scene
        .find("flightdeck.internal/bundled/lab", "")
        .expect("found");
    let Some(Start::Spawn(spec)) = &found.start else {
        panic!("{found:?}")
    };
    assert_eq!(
        (spec.executable.as_path(), spec.args.as_slice()),
        (
            Path::new("/bin/flightdeck"),
            ["plugin", "serve", "lab"].map(OsString::from).as_slice()
        )
    );
    let error = scene
        .find("flightdeck.internal/bundled/none", "")
        .expect_err("none of that name")
        .to_string();
    assert!(error.contains("flightdeck.internal/bundled/lab"), "{error}");
    let builtin = scene
        .find("terraform.io/builtin/terraform", "")
        .expect("found");
    assert_eq!(
        (builtin.start.clone(), builtin.origin.clone()),
        (None, Origin::Builtin)
    );
}

#[test]
fn each_provider_of_the_mirror_in_the_environment_is_found() {
    let Some(mirror) = std::env::var_os("FLIGHTDECK_TEST_MIRROR") else {
        cty::testing::skipped("FLIGHTDECK_TEST_MIRROR names no mirror");
        return;
    };
    let scene = Scene::new();
    let rc = format!(
        "provider_installation {{ filesystem_mirror {{ path = \"{}\" }} }}",
        Path::new(&mirror).display()
    );
    std::fs::write(scene.path("rc"), rc).expect("written");
    let mut seen = 0;
    for host in std::fs::read_dir(&mirror).expect("mirror").flatten() {
        for namespace in std::fs::read_dir(host.path())
            .into_iter()
            .flatten()
            .flatten()
        {
            for name in std::fs::read_dir(namespace.path())
                .into_iter()
                .flatten()
                .flatten()
            {
                let parts = [host.file_name(), namespace.file_name(), name.file_name()];
                let address = parts.map(|p| p.to_string_lossy().into_owned()).join("/");
                let found = scene.find(&address, "").expect("found");
                println!(
                    "{address} {} {}",
                    version(&found),
                    found.digest(&HashCache::in_memory()).expect("digest")
                );
                seen += 1;
            }
        }
    }
    assert!(seen > 0);
}
