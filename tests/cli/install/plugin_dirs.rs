//! Tests of `init -plugin-dir`: directories of packages that replace all other sources.

use super::https_server::Server;
use super::pgp_signer::Signer;
use super::providers::{LOCK, installed, lab};
use super::registry::{platform, registry};
use super::{run, run_tofu, tofu};
use crate::support::Workspace;

#[test]
fn plugin_dir_replaces_all_sources_and_is_recorded() {
    let (server, signer) = (Server::start(), Signer::new());
    registry(&server, &signer, &["1.0.0", "1.1.0"]);
    let host = &server.host;
    let w = Workspace::new(&[("main.tf", &lab(host, "~> 1.0"))]);
    let inner = format!("{host}/acme/lab/1.0.0/{}", platform());
    w.write(&format!("b/{inner}/terraform-provider-lab_v1.0.0"), "x");
    std::fs::create_dir(w.path().join("a")).unwrap();
    let given = ["init", "-plugin-dir=a", "-plugin-dir=b"];
    run(&w, &server, &given).expect(0);
    let place = installed(&w, host, "1.0.0");
    assert_eq!(
        std::fs::read_link(&place).unwrap(),
        w.path().join("b").join(&inner)
    );
    // The registry has a newer version, and was not asked.
    assert_eq!(server.requested_paths(), Vec::<String>::new());
    let record = ".terraform/plugin_path";
    let written = "[\n  \"a\",\n  \"b\"\n]";
    assert_eq!(w.read(record), written);
    // Later commands use the installed provider. So does an `init` without the flag, which leaves
    // the recorded directories as they are.
    w.run(&["providers"]).expect(0);
    run(&w, &server, &["init"]).expect(0);
    assert_eq!(
        (w.read(record), server.requested_paths().len()),
        (written.to_owned(), 0)
    );
    if let Some(tofu) =
        tofu("directories_of_packages_take_the_place_of_all_others_and_are_written_down")
    {
        std::fs::remove_file(w.path().join(record)).unwrap();
        std::fs::remove_dir_all(w.path().join(".terraform/providers")).unwrap();
        let theirs = run_tofu(&tofu, &w, Some(&server), &given);
        theirs.expect(0);
        assert_eq!(w.read(record), written);
        assert_eq!(
            std::fs::read_link(&place).unwrap(),
            w.path().join("b").join(&inner)
        );
    }
    // If no directory has the provider, the installation fails without asking other sources.
    std::fs::remove_dir_all(w.path().join("b").join(host)).unwrap();
    std::fs::remove_dir_all(w.path().join(".terraform/providers")).unwrap();
    std::fs::remove_file(w.path().join(LOCK)).unwrap();
    let refused = run(&w, &server, &given).expect(1);
    assert!(refused.stderr.contains("was not found in"), "{refused:?}");
    let wrong = run(&w, &server, &["init", "-plugin-dir=nowhere"]).expect(1);
    assert!(wrong.stderr.contains("nowhere"), "{wrong:?}");
    assert_eq!(server.requested_paths().len(), 0);
    // An empty flag restores the default sources.
    run(&w, &server, &["init", "-plugin-dir="]).expect(0);
    assert!(!w.path().join(record).exists());
    assert!(installed(&w, host, "1.1.0").exists());
}
