//! Tests of links that are refused, with place, reason and remedy.

use crate::links::{A, B, LINK, bench, linked_workspace};
use crate::support::Run;
use crate::workspace::TestWorkspace;

fn output_text(run: &Run) -> String {
    format!("{}\n{}", run.stdout, run.stderr)
}

/// All diagnostics of a workspace, each on one line.
fn all_diagnostics(bench: &TestWorkspace) -> String {
    let run = bench.run(&["validate"]);
    let run = match run.code {
        Some(0) => bench.run(&["stage"]),
        _ => run,
    };
    assert_ne!(run.code, Some(0), "{run:#?}");
    output_text(&run)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn only_a_whole_resource_instance_can_be_linked() {
    let counted = "resource \"fake_box\" \"n\" {\n  count = 2\n  name  = \"n\"\n}\n";
    let whole = "must refer to an instance of a managed resource";
    for (from, words) in [
        ("fake_box.a.name", whole),
        ("\"fake_box.a\"", whole),
        ("data.fake_box.a", whole),
        ("[fake_box.a]", whole),
        ("local.a", whole),
        ("module.m.box", whole),
        (
            "fake_box.nobody",
            "There is no resource fake_box.nobody in this module",
        ),
        (
            "fake_box.n",
            "fake_box.n names all instances of the resource",
        ),
        ("fake_box.n[7]", "Invalid index"),
    ] {
        let link = LINK.replace("fake_box.a", from);
        let text = all_diagnostics(&bench(&format!("{A}{B}{counted}{link}")));
        assert!(text.contains(words), "{from}: {text}");
        assert!(text.contains("main.tf:"), "{from} has no place: {text}");
    }
    let text = all_diagnostics(&bench(&format!(
        "{A}{B}link \"ab\" {{\n  from = fake_box.a\n}}\n"
    )));
    assert!(text.contains("The argument \"to\" is required"), "{text}");
    let more = LINK.replace("b\n}", "b\n  colour = 1\n}");
    let text = all_diagnostics(&bench(&format!("{A}{B}{more}")));
    assert!(
        text.contains("An argument named \"colour\" is not expected"),
        "{text}"
    );
    let text = all_diagnostics(&bench(&format!("{A}{B}{LINK}{LINK}")));
    assert!(
        text.contains("Duplicate link \"link\" configuration"),
        "{text}"
    );
}

#[test]
fn unlinked_types_and_resources_of_other_providers_are_refused() {
    let slow = "resource \"fake_slow_thing\" \"s\" {\n  name = \"s\"\n}\n";
    let to_slow = LINK.replace("fake_box.b", "fake_slow_thing.s");
    let text = all_diagnostics(&bench(&format!("{A}{slow}{to_slow}")));
    let words = "No plugin in use links fake_box to fake_slow_thing. Supported links: fake_box to fake_box.";
    assert!(text.contains(words), "{text}");
    let data = "resource \"terraform_data\" \"t\" {}\n";
    let to_data = LINK.replace("fake_box.b", "terraform_data.t");
    let text = all_diagnostics(&bench(&format!("{A}{data}{to_data}")));
    let words = "terraform_data.t belongs to terraform.io/builtin/terraform. Only plugins that declare links can link resources";
    assert!(text.contains(words), "{text}");
    // The plugin in use does not support links.
    let bench = TestWorkspace::with_plugin(&format!("{A}{B}{LINK}"));
    let text = all_diagnostics(&bench);
    assert!(text.contains("No plugin in use links"), "{text}");
}

#[test]
fn links_of_a_plugin_with_old_field_numbers_are_refused_and_the_rest_works() {
    let bench = linked_workspace();
    bench.write_fault_file("old-links", "");
    let text = all_diagnostics(&bench);
    assert!(text.contains("Plugin too old for links"), "{text}");
    assert!(text.contains("plugin-framework 0.2.0 or newer"), "{text}");
    for method in ["ValidateLink", "StageLinkChanges", "GetLinkKind"] {
        assert_eq!(bench.calls(method).len(), 0, "{method}");
    }
    bench.main(&format!("{A}{B}"));
    bench.deploy().expect(0);
    // A plugin older than links does not support them.
    let older = TestWorkspace::with_plugin(&format!("{A}{B}"));
    older.write_fault_file("old", "");
    older.deploy().expect(0);
}

#[test]
fn annotations_must_belong_to_the_link_type() {
    for (annotations, words) in [
        (
            "{ \"fake.link.colour\" = \"red\" }",
            "has no annotation \"fake.link.colour\": it has fake.link.mode",
        ),
        (
            "{ \"fake.link.mode\" = \"both\" }",
            "fake.link.mode must be one of \"read\", \"write\"",
        ),
    ] {
        let link = LINK.replace("b\n}", &format!("b\n  annotations = {annotations}\n}}"));
        let bench = bench(&format!("{A}{B}{link}"));
        let run = bench.run(&["validate"]);
        assert_ne!(run.code, Some(0), "{run:#?}");
        let text = all_diagnostics(&bench);
        assert!(text.contains(words), "{text}");
        assert!(text.contains("main.tf:"), "it has no place: {text}");
        assert_eq!(bench.calls("ValidateLink").len(), 0);
    }
}

#[test]
fn link_diagnostics_of_the_plugin_are_reported() {
    let lonely = A
        .replace("\"a\"\n", "\"lonely\"\n")
        .replace("= \"a\"", "= \"lonely\"");
    let bench = bench(&format!("{lonely}{B}{LINK}"));
    let text = all_diagnostics(&bench);
    assert!(text.contains("a lonely box must not be linked"), "{text}");
    assert_eq!(bench.calls("StageLinkChanges").len(), 0);
}

#[test]
fn plugin_of_a_link_is_found_by_its_types_and_must_be_named_if_ambiguous() {
    let two = || {
        let bench = TestWorkspace::with_two_plugins("");
        // Both plugins work on the same objects.
        std::fs::create_dir(bench.file("world")).unwrap();
        std::os::unix::fs::symlink(bench.file("world"), bench.other("world")).unwrap();
        let head = bench.workspace.read("main.tf");
        let used = "resource \"other_box\" \"used\" {\n  name = \"used\"\n}\n";
        let more = format!("{head}{used}{A}{B}");
        bench.workspace.write("main.tf", &format!("{more}{LINK}"));
        (bench, more)
    };
    let (bench, _) = two();
    std::fs::write(bench.other("links"), "fake/box::fake/box\n").unwrap();
    bench.deploy().expect(0);
    assert_eq!(
        bench.calls_of_other("UpdateLinkResourceA").len(),
        1,
        "it is another one's link"
    );
    assert_eq!(bench.calls("UpdateLinkResourceA").len(), 0);
    let state = bench.workspace.read("terraform.tfstate");
    let of_other = "provider[\\\"registry.bluelink.dev/bluelink/other\\\"]";
    let of_link = state.split("\"type\": \"link\"").nth(1).unwrap();
    assert!(of_link.contains(of_other), "{state}");

    let (bench, more) = two();
    std::fs::write(bench.other("links"), "fake/box::fake/box\n").unwrap();
    bench.write_fault_file("links", "fake/box::fake/box\n");
    let text = all_diagnostics(&bench);
    assert!(text.contains("Select one with `provider`."), "{text}");
    let given = LINK.replace("from", "provider = fake\n  from");
    bench.workspace.write("main.tf", &format!("{more}{given}"));
    bench.deploy().expect(0);
    assert_eq!(bench.calls("UpdateLinkResourceA").len(), 1);
}

#[test]
fn resource_type_named_link_belongs_to_its_own_provider() {
    let own = "resource \"link\" \"ab\" {\n  from = \"x\"\n}\n";
    let text = all_diagnostics(&bench(&format!("{A}{B}{own}")));
    assert!(
        text.contains("hashicorp/link"),
        "it is that provider's: {text}"
    );
    let text = all_diagnostics(&bench(&format!("{A}{B}{LINK}{own}")));
    assert!(
        text.contains("A link resource named \"ab\" was already declared"),
        "{text}"
    );
    let ours = "resource \"link\" \"ab\" {\n  provider = fake\n  from     = \"fake_box.a\"\n  to       = \"fake_box.b\"\n}\n";
    let text = all_diagnostics(&bench(&format!("{A}{B}{ours}")));
    assert!(text.contains("Links need a link block"), "{text}");
}

#[test]
fn formatter_leaves_link_blocks_unchanged() {
    let bench = linked_workspace();
    let before = bench.workspace.read("main.tf");
    bench.run(&["fmt"]).expect(0);
    let after = bench.workspace.read("main.tf");
    let link = |text: &str| text[text.find("link \"").unwrap()..].to_owned();
    assert_eq!(link(&before), link(&after));
}
