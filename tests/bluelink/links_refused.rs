//! Tests of links that are refused, with place, reason and remedy.

use crate::bench::Bench;
use crate::links::{A, B, LINK, bench, whole};
use crate::support::Run;

fn said(run: &Run) -> String {
    format!("{}\n{}", run.stdout, run.stderr)
}

/// All diagnostics of a workspace, each on one line.
fn refused(bench: &Bench) -> String {
    let run = bench.run(&["validate"]);
    let run = match run.code {
        Some(0) => bench.run(&["stage"]),
        _ => run,
    };
    assert_ne!(run.code, Some(0), "{run:#?}");
    said(&run).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn what_is_no_whole_instance_of_a_resource_cannot_be_linked() {
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
        let text = refused(&bench(&format!("{A}{B}{counted}{link}")));
        assert!(text.contains(words), "{from}: {text}");
        assert!(text.contains("main.tf:"), "{from} has no place: {text}");
    }
    let text = refused(&bench(&format!(
        "{A}{B}link \"ab\" {{\n  from = fake_box.a\n}}\n"
    )));
    assert!(text.contains("The argument \"to\" is required"), "{text}");
    let more = LINK.replace("b\n}", "b\n  colour = 1\n}");
    let text = refused(&bench(&format!("{A}{B}{more}")));
    assert!(
        text.contains("An argument named \"colour\" is not expected"),
        "{text}"
    );
    let text = refused(&bench(&format!("{A}{B}{LINK}{LINK}")));
    assert!(
        text.contains("Duplicate link \"link\" configuration"),
        "{text}"
    );
}

#[test]
fn two_types_that_no_plugin_links_and_resources_of_other_providers_are_refused() {
    let slow = "resource \"fake_slow_thing\" \"s\" {\n  name = \"s\"\n}\n";
    let to_slow = LINK.replace("fake_box.b", "fake_slow_thing.s");
    let text = refused(&bench(&format!("{A}{slow}{to_slow}")));
    let words = "No plugin in use links fake_box to fake_slow_thing. Supported links: fake_box to fake_box.";
    assert!(text.contains(words), "{text}");
    let data = "resource \"terraform_data\" \"t\" {}\n";
    let to_data = LINK.replace("fake_box.b", "terraform_data.t");
    let text = refused(&bench(&format!("{A}{data}{to_data}")));
    let words = "terraform_data.t belongs to terraform.io/builtin/terraform. Only plugins that declare links can link resources";
    assert!(text.contains(words), "{text}");
    // The plugin in use does not support links.
    let bench = Bench::new(&format!("{A}{B}{LINK}"));
    let text = refused(&bench);
    assert!(text.contains("No plugin in use links"), "{text}");
}

#[test]
fn a_plugin_from_before_the_fields_of_links_were_renumbered_is_refused_and_all_else_of_it_works() {
    let bench = whole();
    bench.tell("old-links", "");
    let text = refused(&bench);
    assert!(text.contains("Plugin too old for links"), "{text}");
    assert!(text.contains("plugin-framework 0.2.0 or newer"), "{text}");
    for method in ["ValidateLink", "StageLinkChanges", "GetLinkKind"] {
        assert_eq!(bench.calls(method).len(), 0, "{method}");
    }
    bench.main(&format!("{A}{B}"));
    bench.deploy().expect(0);
    // A plugin older than links does not support them.
    let older = Bench::new(&format!("{A}{B}"));
    older.tell("old", "");
    older.deploy().expect(0);
}

#[test]
fn annotations_are_those_of_the_kind_of_link() {
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
        let text = refused(&bench);
        assert!(text.contains(words), "{text}");
        assert!(text.contains("main.tf:"), "it has no place: {text}");
        assert_eq!(bench.calls("ValidateLink").len(), 0);
    }
}

#[test]
fn what_the_plugin_says_of_a_link_is_told() {
    let lonely = A
        .replace("\"a\"\n", "\"lonely\"\n")
        .replace("= \"a\"", "= \"lonely\"");
    let bench = bench(&format!("{lonely}{B}{LINK}"));
    let text = refused(&bench);
    assert!(text.contains("a lonely box must not be linked"), "{text}");
    assert_eq!(bench.calls("StageLinkChanges").len(), 0);
}

#[test]
fn the_plugin_that_links_the_two_types_is_found_and_of_several_it_must_be_said() {
    let two = || {
        let bench = Bench::two("");
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
    bench.tell("links", "fake/box::fake/box\n");
    let text = refused(&bench);
    assert!(text.contains("Select one with `provider`."), "{text}");
    let given = LINK.replace("from", "provider = fake\n  from");
    bench.workspace.write("main.tf", &format!("{more}{given}"));
    bench.deploy().expect(0);
    assert_eq!(bench.calls("UpdateLinkResourceA").len(), 1);
}

#[test]
fn a_resource_of_a_type_that_is_called_link_is_one_of_its_own_provider() {
    let own = "resource \"link\" \"ab\" {\n  from = \"x\"\n}\n";
    let text = refused(&bench(&format!("{A}{B}{own}")));
    assert!(
        text.contains("hashicorp/link"),
        "it is that provider's: {text}"
    );
    let text = refused(&bench(&format!("{A}{B}{LINK}{own}")));
    assert!(
        text.contains("A link resource named \"ab\" was already declared"),
        "{text}"
    );
    let ours = "resource \"link\" \"ab\" {\n  provider = fake\n  from     = \"fake_box.a\"\n  to       = \"fake_box.b\"\n}\n";
    let text = refused(&bench(&format!("{A}{B}{ours}")));
    assert!(text.contains("Links need a link block"), "{text}");
}

#[test]
fn the_formatter_leaves_a_link_as_it_is() {
    let bench = whole();
    let before = bench.workspace.read("main.tf");
    bench.run(&["fmt"]).expect(0);
    let after = bench.workspace.read("main.tf");
    let link = |text: &str| text[text.find("link \"").unwrap()..].to_owned();
    assert_eq!(link(&before), link(&after));
}
