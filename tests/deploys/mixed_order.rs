//! Tests of the order of a deploy where create-before-destroy and destroy-first objects meet across
//! a dependency that the configuration no longer has. Every combination has a working order.

use crate::Lab;
use crate::support::Workspace;
use bundled::lab::control::{Fault, Kind, On};
use serde_json::Value;

const FIRST: &str = "lifecycle { create_before_destroy = true }\n";

fn data(name: &str, arguments: &str) -> String {
    format!("resource \"terraform_data\" \"{name}\" {{\n{arguments}}}\n")
}

fn on(names: &str) -> String {
    format!("depends_on = [{names}]\n")
}

fn replaced(by: u32) -> String {
    format!("triggers_replace = {by}\n")
}

fn updated(to: u32) -> String {
    format!("input = {to}\n")
}

/// Steps in the order in which the first instance of each resource begins them: `a-` destroys, `a+`
/// creates, `a~` updates.
fn steps(lines: &[Value]) -> String {
    let mut steps: Vec<String> = Vec::new();
    let running = |e: &&Value| e["type"] == "operation" && e["state"] == "running";
    for operation in lines.iter().filter(running) {
        let sign = match operation["step"].as_str() {
            Some("destroying" | "destroying the old object" | "destroying the deposed object") => {
                '-'
            }
            Some("creating") => '+',
            Some("updating") => '~',
            _ => continue,
        };
        let address = operation["address"].as_str().unwrap();
        let name = address.rsplit('.').next().unwrap();
        let step = format!("{}{sign}", name.split(['[', ' ']).next().unwrap());
        if !steps.contains(&step) {
            steps.push(step);
        }
    }
    steps.join(" ")
}

fn deployed(workspace: &Workspace) -> String {
    let run = workspace.run(&["deploy", "--auto-approve", "--json"]);
    steps(&run.expect(0).lines())
}

/// Configurations before and after, and the expected steps.
fn mixtures() -> Vec<(String, String, &'static str)> {
    let base = |arguments: &str| data("base", arguments);
    let top = |arguments: &str| data("top", arguments);
    let on_base = on("terraform_data.base");
    let [one, two] = [replaced(1), replaced(2)];
    let late = format!("{on_base}{FIRST}");
    vec![
        // An object leaves the configuration.
        (base(&one) + &top(&late), base(&two), "top- base- base+"),
        (base(&one) + &top(&on_base), base(&two), "top- base- base+"),
        (
            base(&updated(1)) + &top(&late),
            base(&updated(2)),
            "base~ top-",
        ),
        (
            base(&updated(1)) + &top(&on_base),
            base(&updated(2)),
            "top- base~",
        ),
        (
            base(&one) + &top(&late),
            base(&(two.clone() + FIRST)),
            "base+ top- base-",
        ),
        (base(&one) + &top(&late), String::new(), "top- base-"),
        (
            base(&format!("count = 3\n{one}")) + &top(&format!("count = 3\n{late}")),
            base(&format!("count = 2\n{two}")),
            "top- base- base+",
        ),
        // The dependency alone leaves the configuration.
        (
            base(&one) + &top(&format!("{one}{late}")),
            base(&two) + &top(&format!("{two}{FIRST}")),
            "top+ top- base- base+",
        ),
        (
            base(&one) + &top(&format!("{one}{on_base}")),
            base(&two) + &top(&format!("{two}{FIRST}")),
            "top+ top- base- base+",
        ),
        // The dependency changes its direction.
        (
            base(&one) + &top(&format!("{one}{late}")),
            base(&(two.clone() + &on("terraform_data.top"))) + &top(&format!("{two}{FIRST}")),
            "top+ top- base- base+",
        ),
    ]
}

/// Chains of three objects.
fn chains() -> Vec<(String, String, &'static str)> {
    let [base, mid, top] = ["base", "mid", "top"].map(|n| move |text: &str| data(n, text));
    let (on_base, on_mid) = (on("terraform_data.base"), on("terraform_data.mid"));
    let both = on("terraform_data.mid, terraform_data.base");
    let [one, two] = [replaced(1), replaced(2)];
    let late = format!("{on_base}{FIRST}");
    let low = base(&one) + &mid(&late);
    vec![
        (
            low.clone() + &top(&(updated(1) + &on_mid)),
            base(&two) + &top(&updated(2)),
            "top~ mid- base- base+",
        ),
        (
            low.clone() + &top(&(updated(1) + &on_mid)),
            base(&two) + &top(&(updated(2) + &on_base)),
            "mid- base- base+ top~",
        ),
        (
            low.clone() + &top(&(one.clone() + &on_mid)),
            base(&two) + &top(&(two.clone() + &on_base)),
            "top- mid- base- base+ top+",
        ),
        (
            low.clone() + &top(&both),
            base(&two),
            "top- mid- base- base+",
        ),
        (
            low + &top(&(both.clone() + FIRST)),
            base(&two),
            "top- mid- base- base+",
        ),
        (
            base(&one) + &mid(&(one.clone() + &on_base)) + &top(&(on_mid.clone() + FIRST)),
            base(&two) + &mid(&(two.clone() + &on_base)),
            "top- mid- base- base+ mid+",
        ),
        (
            base(&one) + &mid(&(updated(1) + &on_base)) + &top(&(on_mid + FIRST)),
            base(&two) + &mid(&(updated(2) + &on_base)),
            "top- base- base+ mid~",
        ),
        (
            base(&updated(1)) + &mid(&on_base) + &top(&(both + FIRST)),
            base(&updated(2)),
            "base~ top- mid-",
        ),
    ]
}

#[test]
fn both_replacement_orders_across_a_removed_dependency_are_deployed() {
    for (before, after, order) in mixtures().into_iter().chain(chains()) {
        let workspace = Workspace::new(&[("main.tf", &before)]);
        deployed(&workspace);
        workspace.write("main.tf", &after);
        assert_eq!(deployed(&workspace), order, "{before}\n{after}");
        let again = workspace.run(&["stage"]).expect(0).stdout;
        assert!(again.contains("no changes"), "{again}");
    }
}

#[test]
fn objects_of_a_removed_module_are_destroyed_before_replacements() {
    let call = "module \"m\" {\n  source = \"./m\"\n  depends_on = [terraform_data.base]\n}\n";
    let before = data("base", &replaced(1)) + call;
    let workspace = Workspace::new(&[("main.tf", &before), ("m/main.tf", &data("top", FIRST))]);
    deployed(&workspace);
    workspace.write("main.tf", &data("base", &replaced(2)));
    assert_eq!(deployed(&workspace), "top- base- base+");
}

#[test]
fn deposed_object_is_destroyed_before_its_dependency_is_replaced() {
    // A network with another address is replaced.
    let network = |name: &str, at: u8, more: &str| {
        let cidr = format!("10.{at}.0.0/24");
        format!(
            "resource \"lab_network\" \"{name}\" {{\nname = \"{name}\"\ncidr = \"{cidr}\"\n{more}}}\n"
        )
    };
    let late = on("lab_network.base") + FIRST;
    let lab = Lab::new(&(network("base", 1, "") + &network("top", 2, &late)));
    lab.workspace.run(&["deploy", "--auto-approve"]).expect(0);
    lab.set_fault(Fault {
        on: On::Delete,
        name: Some("top".to_owned()),
        ..Fault::new(Kind::Permanent)
    });
    lab.configure(&(network("base", 1, "") + &network("top", 3, &late)));
    lab.workspace.run(&["deploy", "--auto-approve"]).expect(5);
    lab.clear_faults();
    lab.configure(&network("base", 4, ""));
    assert_eq!(deployed(&lab.workspace), "top- base- base+");
    assert_eq!(lab.state(), ["lab_network.base"]);
}
