#![allow(clippy::unwrap_used, reason = "a test ends at its first surprise")]

use super::*;
use std::io::Write as _;

/// Entry of a tar archive, with any name.
fn entry(kind: tar::EntryType, name: &str, target: &str, content: &str) -> Vec<u8> {
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(0o755);
    header.set_size(content.len() as u64);
    let bytes = header.as_mut_bytes();
    bytes[..name.len()].copy_from_slice(name.as_bytes());
    bytes[157..157 + target.len()].copy_from_slice(target.as_bytes());
    header.set_cksum();
    let mut out = header.as_bytes().to_vec();
    out.extend(content.as_bytes());
    out.resize(out.len().div_ceil(512) * 512, 0);
    out
}

fn unpacked(parts: &[Vec<u8>]) -> (tempfile::TempDir, Result<(), FetchError>) {
    let dir = tempfile::tempdir().unwrap();
    let archive = dir.path().join("a.tar");
    let mut bytes = parts.concat();
    bytes.resize(bytes.len() + 1024, 0);
    std::fs::write(&archive, bytes).unwrap();
    let into = dir.path().join("deep/into");
    std::fs::create_dir_all(&into).unwrap();
    let done = unpack(&archive, Kind::Tar, &into);
    (dir, done)
}

#[test]
fn unpack_refuses_entries_outside_the_target_directory() {
    use tar::EntryType::{Link, Regular, Symlink};
    let out = |parts: &[Vec<u8>]| {
        let (dir, done) = unpacked(parts);
        assert!(!dir.path().join("deep/evil").exists() && !dir.path().join("evil").exists());
        done.unwrap_err().to_string()
    };
    for parts in [
        vec![entry(Regular, "../evil", "", "x")],
        vec![entry(Regular, "a/../../evil", "", "x")],
        vec![entry(Regular, "/tmp/flightdeck-evil", "", "x")],
        vec![entry(Symlink, "l", "/etc", "")],
        vec![entry(Symlink, "l", "..", "")],
        vec![entry(Symlink, "a/l", "../..", "")],
        vec![entry(Symlink, "a/l", "b/../../../evil", "")],
        vec![entry(Link, "l", "../../a.tar", "")],
    ] {
        let error = out(&parts);
        assert!(error.contains("leads out"), "{error}");
    }
    let behind = out(&[
        entry(Symlink, "l", ".", ""),
        entry(Regular, "l/evil", "", "x"),
    ]);
    assert!(behind.contains("\"l\" is not a directory"), "{behind}");
}

#[test]
fn unpack_preserves_files_links_and_modes() {
    use tar::EntryType::{Directory, Link, Regular, Symlink};
    let (dir, done) = unpacked(&[
        entry(Directory, "a/", "", ""),
        entry(Regular, "a/one", "", "first"),
        entry(Regular, "a/one", "", "one"),
        entry(Symlink, "b/link", "../a/one", ""),
        entry(Link, "copy", "a/one", ""),
    ]);
    done.unwrap();
    let into = dir.path().join("deep/into");
    for name in ["a/one", "b/link", "copy"] {
        assert_eq!(
            std::fs::read_to_string(into.join(name)).unwrap(),
            "one",
            "{name}"
        );
    }
    use std::os::unix::fs::PermissionsExt as _;
    let mode = std::fs::metadata(into.join("a/one"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o700, 0o700);
}

#[test]
fn unpack_refuses_zip_with_parent_paths_or_truncated_data() {
    let dir = tempfile::tempdir().unwrap();
    let zipped = |name: &str| {
        let mut bytes = io::Cursor::new(Vec::new());
        let mut zip = zip::ZipWriter::new(&mut bytes);
        let options = zip::write::SimpleFileOptions::default()
            .compression_method(zip::CompressionMethod::Deflated);
        zip.start_file(name, options).unwrap();
        zip.write_all(b"content of it").unwrap();
        zip.finish().unwrap();
        bytes.into_inner()
    };
    let into = dir.path().join("into");
    std::fs::create_dir(&into).unwrap();
    let file = dir.path().join("a.zip");
    std::fs::write(&file, zipped("good/file")).unwrap();
    unpack(&file, Kind::Zip, &into).unwrap();
    assert_eq!(
        std::fs::read(into.join("good/file")).unwrap(),
        b"content of it"
    );
    std::fs::write(&file, zipped("../evil")).unwrap();
    let error = unpack(&file, Kind::Zip, &into).unwrap_err().to_string();
    assert!(error.contains("leads out"), "{error}");
    assert!(!dir.path().join("evil").exists());
    let whole = zipped("other");
    std::fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    unpack(&file, Kind::Zip, &into).unwrap_err();
}

#[test]
fn unpack_reads_tar_gzip_bzip2_and_xz() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("in")).unwrap();
    std::fs::write(dir.path().join("in/file"), "packed").unwrap();
    for (flag, name) in [
        ("-cf", "a.tar"),
        ("-czf", "a.tgz"),
        ("-cjf", "a.tar.bz2"),
        ("-cJf", "a.txz"),
    ] {
        let packed = std::process::Command::new("tar")
            .args([flag, name, "-C", "in", "file"])
            .current_dir(dir.path())
            .output();
        if !packed.is_ok_and(|p| p.status.success()) {
            println!("skipped: each way of packing: this machine's tar does not make {name}");
            continue;
        }
        let into = dir.path().join(format!("out-{name}"));
        std::fs::create_dir(&into).unwrap();
        let file = dir.path().join(name);
        unpack(&file, Kind::of_name(name).unwrap(), &into).unwrap();
        assert_eq!(
            std::fs::read_to_string(into.join("file")).unwrap(),
            "packed",
            "{name}"
        );
        if name != "a.tar" {
            let head = std::fs::read(&file).unwrap();
            assert_eq!(Kind::of_content(&head), Kind::of_name(name));
        }
    }
}
