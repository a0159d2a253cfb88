//! Tests of variable values that a later source overrides: they are not evaluated, so they may be
//! invalid.

use crate::support::{Run, Workspace};

const MAIN: &str = "variable \"s\" {\n  type    = list(number)\n  default = []\n}\noutput \"s\" { value = var.s }\n";

/// Plans with these files of variables, environment and flags.
fn planned(files: &[(&str, &str)], environment: &[(&str, &str)], flags: &[&str]) -> Run {
    let w = Workspace::new(&[&[("main.tf", MAIN)], files].concat());
    let words = [&["plan", "-json", "-out=p"], flags].concat();
    Run::from_command(w.command(&words).envs(environment.iter().copied()))
}

#[test]
fn overridden_values_are_not_evaluated() {
    let invalid = ("terraform.tfvars", "s = foo.bar\n");
    let valid = ("terraform.tfvars", "s = [3]\n");
    planned(&[invalid], &[], &["-var", "s=[2]"]).expect(0);
    planned(&[], &[], &["-var", "s=v", "-var", "s=[2]"]).expect(0);
    planned(&[valid], &[("TF_VAR_s", "foo.bar")], &[]).expect(0);
    planned(&[valid], &[("TF_VAR_s", "[[[")], &[]).expect(0);
    planned(&[invalid, ("z.auto.tfvars", "s = [1]\n")], &[], &[]).expect(0);
    planned(
        &[
            ("a.tfvars", "s = upper(\"x\")\n"),
            ("b.tfvars", "s = [1]\n"),
        ],
        &[],
        &["-var-file=a.tfvars", "-var-file=b.tfvars"],
    )
    .expect(0);
}

#[test]
fn last_value_is_evaluated_and_refused() {
    let valid = ("terraform.tfvars", "s = [3]\n");
    let refused = |run: Run| {
        let run = run.expect(1);
        assert!(run.stdout.contains("Variables not allowed"), "{run:?}");
    };
    refused(planned(&[valid], &[], &["-var", "s=v"]));
    refused(planned(&[], &[], &["-var", "s=[2]", "-var", "s=v"]));
    refused(planned(&[], &[("TF_VAR_s", "foo.bar")], &[]));
    refused(planned(&[("terraform.tfvars", "s = foo.bar\n")], &[], &[]));
}

#[test]
fn undeclared_value_is_checked_by_its_last_source() {
    let file = ("terraform.tfvars", "zz = foo.bar\n");
    let warned = planned(&[file, ("z.auto.tfvars", "zz = 1\n")], &[], &[]).expect(0);
    let told = warned.stdout.matches("Value for undeclared variable");
    assert_eq!(told.count(), 1, "{warned:?}");
    let refused = planned(&[file], &[], &["-var", "zz=1"]).expect(1);
    assert!(
        refused.stdout.contains("assigned on the command line"),
        "{refused:?}"
    );
    planned(&[], &[("TF_VAR_zz", "[[[")], &[]).expect(0);
}

#[test]
fn saved_plan_is_applied_despite_an_invalid_overridden_value() {
    let w = Workspace::new(&[("main.tf", MAIN), ("terraform.tfvars", "s = foo.bar\n")]);
    w.run(&["plan", "-out=p", "-var", "s=[2]"]).expect(0);
    // The file has no valid value to compare with the plan's.
    let run = w.run(&["apply", "p"]).expect(1);
    assert!(run.stderr.contains("Variables not allowed"), "{run:?}");
    w.write("terraform.tfvars", "s = [5]\n");
    w.run(&["plan", "-out=p", "-var", "s=[2]"]).expect(0);
    w.run(&["apply", "p"]).expect(0);
}
