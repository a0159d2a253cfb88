use super::*;

fn canonical(text: &str) -> String {
    match ModuleSource::parse(text) {
        Ok(source) => source.to_string(),
        Err(error) => format!("error: {error}"),
    }
}

#[test]
fn module_sources_have_a_canonical_form() {
    for (written, form) in [
        ("./a", "./a"),
        ("./a//b/../c/", "./a/c"),
        ("../x", "../x"),
        (".\\a\\b", "./a/b"),
        ("acme/net/aws", "registry.opentofu.org/acme/net/aws"),
        (
            "acme/net/aws//modules/x",
            "registry.opentofu.org/acme/net/aws//modules/x",
        ),
        ("Example.com:8443/a/b/c", "example.com:8443/a/b/c"),
        ("github.com/o/r", "git::https://github.com/o/r.git"),
        (
            "github.com/o/r//sub?ref=v1",
            "git::https://github.com/o/r.git//sub?ref=v1",
        ),
        ("github.com/o/r/sub", "git::https://github.com/o/r.git//sub"),
        ("git@h.example:o/r.git", "git::ssh://git@h.example/o/r.git"),
        ("git::git@h:o/r.git//x", "git::ssh://git@h/o/r.git//x"),
        ("bitbucket.org/o/r", "git::https://bitbucket.org/o/r.git"),
        (
            "bkt.s3.amazonaws.com/k.zip",
            "s3::https://s3.amazonaws.com/bkt/k.zip",
        ),
        (
            "s3-eu-west-1.amazonaws.com/bkt/k.zip",
            "s3::https://s3-eu-west-1.amazonaws.com/bkt/k.zip",
        ),
        (
            "www.googleapis.com/storage/v1/b/k.zip",
            "gcs::https://www.googleapis.com/storage/v1/b/k.zip",
        ),
        (
            "https://x.example/y.zip//d?archive=zip",
            "https://x.example/y.zip//d?archive=zip",
        ),
        ("git::https://x/y?ref=a//b", "git::https://x/y?ref=a//b"),
        ("/abs/dir", "file:///abs/dir"),
        ("file:///abs", "file:///abs"),
        ("oci://h/repo?tag=1", "oci://h/repo?tag=1"),
    ] {
        assert_eq!(canonical(written), form, "{written}");
    }
}

#[test]
fn malformed_module_source_is_rejected_with_a_suggestion() {
    for (written, words) in [
        ("modules/a", "write \"./modules/a\""),
        ("child", "write \"./child\""),
        ("git::https://x/y//../z", "is outside of"),
        ("github.com/o", "github.com/OWNER/REPOSITORY"),
        (".", "write"),
    ] {
        assert!(canonical(written).contains(words), "{}", canonical(written));
    }
    for written in ["./a", "https://x/y.zip", "github.com/a/b/c"] {
        assert!(ModuleSource::with_version(written).is_err(), "{written}");
    }
}

#[test]
fn registry_directory_precedes_the_requested_subdirectory() {
    let own = RemoteModule::parse("https://x/y.tar.gz//top?archive=tar.gz").expect("address");
    assert_eq!(
        own.below("modules/a").to_string(),
        "https://x/y.tar.gz//top/modules/a?archive=tar.gz"
    );
}
