//! Tests of the digest cache.

use super::*;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};
use std::fs::FileTimes;
use std::os::unix::fs::PermissionsExt as _;

fn package(folder: &Path) {
    std::fs::create_dir(folder.join("sub")).expect("made");
    std::fs::write(folder.join("b"), "two").expect("written");
    std::fs::write(folder.join("sub/a"), "one").expect("written");
    std::fs::write(folder.join("a-"), "").expect("written");
}

/// Returns a cache that treats every file as settled, so that tests do not wait for two seconds.
fn impatient(cache: HashCache) -> HashCache {
    HashCache {
        settled_after: Duration::ZERO,
        ..cache
    }
}

fn large(folder: &Path) -> PathBuf {
    let file = folder.join("large");
    std::fs::write(&file, vec![7; MIN_CACHED_SIZE as usize]).expect("written");
    file
}

#[test]
fn package_hash_is_over_sorted_lines() {
    let folder = tempfile::tempdir().expect("folder");
    package(folder.path());
    // Computed by hand: sha256 of "", "two" and "one", one line each, in order of the paths.
    let lines = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  a-\n\
                 3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3  b\n\
                 7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed  sub/a\n";
    let expected = format!("h1:{}", STANDARD.encode(Sha256::digest(lines)));
    let hash = |path: &Path| HashCache::in_memory().digest(path).expect("hash");
    assert_eq!(hash(folder.path()), expected);
    let link = folder.path().with_extension("link");
    std::os::unix::fs::symlink(folder.path(), &link).expect("linked");
    assert_eq!(hash(&link), expected, "a package may be a link to one");
    std::fs::remove_file(link).expect("removed");
}

#[test]
fn other_bytes_of_the_same_size_and_modification_time_have_another_digest() {
    let folder = tempfile::tempdir().expect("folder");
    let file = large(folder.path());
    let at = std::fs::metadata(&file)
        .and_then(|m| m.modified())
        .expect("time");
    let cache = HashCache::open(folder.path().join("cache.json"));
    let first = cache.digest(&file).expect("digest");
    let mut bytes = std::fs::read(&file).expect("read");
    bytes[0] = 8;
    // In place: the inode stays the same.
    std::fs::write(&file, bytes).expect("written");
    let set = |path: &Path| {
        let file = File::options().write(true).open(path).expect("opened");
        file.set_times(FileTimes::new().set_modified(at))
            .expect("set");
    };
    set(&file);
    let second = cache.digest(&file).expect("digest");
    assert_ne!(first, second);
    // The same bytes with other times and another path have the same digest.
    let copy = folder.path().join("copy");
    std::fs::copy(&file, &copy).expect("copied");
    let file = File::options().write(true).open(&copy).expect("opened");
    file.set_times(FileTimes::new().set_modified(SystemTime::UNIX_EPOCH))
        .expect("set");
    assert_eq!(cache.digest(&copy).expect("digest"), second);
}

#[test]
fn cached_digest_is_used_while_the_file_is_unchanged_and_settled() {
    let folder = tempfile::tempdir().expect("folder");
    let (large, file) = (large(folder.path()), folder.path().join("dir/cache.json"));
    let cache = impatient(HashCache::open(file.clone()));
    let digest = cache.file(&large).expect("digest");
    let mode = std::fs::metadata(&file)
        .expect("saved")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    // A planted digest shows that the contents are not read again.
    let planted = "0".repeat(64);
    let text = std::fs::read_to_string(&file).expect("read");
    std::fs::write(&file, text.replace(&digest, &planted)).expect("written");
    let later = impatient(HashCache::open(file.clone()));
    assert_eq!(later.file(&large).expect("digest"), planted);
    // The file has just been written, so the real cache does not trust its entry.
    let real = HashCache::open(file.clone());
    assert_eq!(real.file(&large).expect("digest"), digest);
    // Every change of a file changes its change time.
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&large, mode).expect("set");
    assert_eq!(later.file(&large).expect("digest"), digest);
}

#[test]
fn unusable_cache_file_is_ignored_and_replaced() {
    let folder = tempfile::tempdir().expect("folder");
    let (large, file) = (large(folder.path()), folder.path().join("cache.json"));
    let cache = impatient(HashCache::open(file.clone()));
    let digest = cache.file(&large).expect("digest");
    let sound = std::fs::read_to_string(&file).expect("read");
    let planted = sound.replace(&digest, &"0".repeat(64));
    let again = || {
        impatient(HashCache::open(file.clone()))
            .file(&large)
            .expect("digest")
    };
    let mode =
        |mode| std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).expect("set");
    for text in [
        "",
        "{",
        "[1]",
        &planted.replace("\"layout\":1", "\"layout\":2"),
        &planted.replace(&"0".repeat(64), "h1:x"),
    ] {
        std::fs::write(&file, text).expect("written");
        assert_eq!(again(), digest, "{text}");
        assert_eq!(std::fs::read_to_string(&file).expect("read"), sound);
    }
    std::fs::write(&file, &planted).expect("written");
    mode(0o620);
    assert_eq!(again(), digest, "others may have written it");
    let elsewhere = folder.path().join("elsewhere");
    std::fs::write(&elsewhere, &planted).expect("written");
    std::fs::remove_file(&file).expect("removed");
    std::os::unix::fs::symlink(&elsewhere, &file).expect("linked");
    assert_eq!(again(), digest, "a link is not followed");
    assert_eq!(
        std::fs::read_to_string(&elsewhere).expect("read"),
        planted,
        "and not written through"
    );
}

#[test]
fn cache_file_is_bounded_and_small_files_stay_out_of_it() {
    let folder = tempfile::tempdir().expect("folder");
    let file = folder.path().join("cache.json");
    let entries: BTreeMap<String, String> = (0..CACHED)
        .map(|n| (format!("old {n}"), "0".repeat(64)))
        .collect();
    let text = serde_json::json!({"layout": 1, "digests": entries}).to_string();
    std::fs::write(&file, &text).expect("written");
    let cache = impatient(HashCache::open(file.clone()));
    let small = folder.path().join("small");
    std::fs::write(&small, "small").expect("written");
    cache.file(&small).expect("digest");
    assert_eq!(std::fs::read_to_string(&file).expect("read"), text);
    cache.file(&large(folder.path())).expect("digest");
    assert_eq!(CacheFile::at(file).read().len(), 1);
}

#[test]
fn pipes_and_directories_have_no_digest() {
    let folder = tempfile::tempdir().expect("folder");
    let pipe = folder.path().join("pipe");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        0o600.into(),
        0,
    )
    .expect("made");
    let cache = HashCache::in_memory();
    assert!(cache.file(&pipe).is_err());
    assert!(cache.file(folder.path()).is_err());
    assert!(cache.package(folder.path()).is_err(), "it has a pipe in it");
    assert!(cache.digest(&folder.path().join("none")).is_err());
}
