#![allow(clippy::unwrap_used, reason = "a test ends at its first surprise")]

use super::*;

#[test]
fn subdirectory_glob_expands_to_the_only_match() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("net-1.2/modules/a")).unwrap();
    let found = expand(dir.path(), "*/modules").unwrap();
    assert_eq!(found, dir.path().join("net-1.2/modules"));
    assert_eq!(
        expand(dir.path(), "net-*").unwrap(),
        dir.path().join("net-1.2")
    );
    std::fs::create_dir(dir.path().join("net-1.3")).unwrap();
    for (subdir, words) in [
        ("*", "more than one"),
        ("x", "no such"),
        ("a/../..", "leads out"),
    ] {
        let error = expand(dir.path(), subdir).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn package_address_is_read_from_the_html_meta_tag() {
    let page = "<html><head><meta charset='x'><meta name=\"terraform-get\" content=\"https://x/y.zip?a=1&amp;b=2\" />";
    assert_eq!(from_page(page).unwrap(), "https://x/y.zip?a=1&b=2");
    assert_eq!(from_page("<meta name=\"other\" content=\"x\">"), None);
    assert_eq!(
        below("https://x/y.zip//top?a=1", "in"),
        "https://x/y.zip//top/in?a=1"
    );
}
