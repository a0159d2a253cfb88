//! Tests of limits: evaluation stops at a signal and at the memory limit, and endless inputs are
//! refused.

use crate::support::{Run, Workspace};
use rustix::process::{Pid, Signal, kill_process};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// Evaluation that takes hours.
const LOOPS: &str = "locals {\n  n = range(1000)\n  x = length([for a in local.n : length([for b in local.n : length([for c in local.n : length([for d in local.n : 1]) if false])])])\n}\noutput \"x\" {\n  value = local.x\n}\n";
/// Limit for the end of any command, even on a busy machine.
const SOON: Duration = Duration::from_secs(400);

fn signal(child: &Child, signal: Signal) {
    kill_process(
        Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap(),
        signal,
    )
    .unwrap();
}

/// Waits until a process has used CPU time for a while, so that it works and is not starting any
/// more.
pub(crate) fn wait_until_busy(child: &Child) {
    let began = Instant::now();
    loop {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
        let ticks: u64 = stat
            .rsplit(") ")
            .next()
            .unwrap()
            .split(' ')
            .nth(11)
            .unwrap()
            .parse()
            .unwrap();
        if ticks > 80 {
            return;
        }
        assert!(
            began.elapsed() < Duration::from_secs(300),
            "it does not work: {stat}"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn ended(mut child: Child) -> Run {
    let began = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if began.elapsed() > SOON {
            child.kill().unwrap();
            panic!("it goes on for more than {SOON:?}");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Run::from(child.wait_with_output().unwrap())
}

#[test]
fn signal_ends_an_evaluation() {
    let text = "%{ for a in range(1000) }%{ for b in range(1000) }%{ for c in range(1000) }${a * b * c == -1 ? \"x\" : \"\"}%{ endfor }%{ endfor }%{ endfor }";
    let template = format!("output \"t\" {{\n  value = length(\"{text}\")\n}}\n");
    // Matches every file of the machine, many times over.
    let pattern = "{**,**,**}/{**,**,**}/*";
    let files = format!(
        "output \"f\" {{\n  value = length([for x in range(1000) : fileset(\"/\", \"{pattern}\")])\n}}\n"
    );
    for (what, main) in [("for", LOOPS), ("template", &template), ("fileset", &files)] {
        let w = Workspace::new(&[("main.tf", main)]);
        for how in [Signal::INT, Signal::TERM] {
            let child = w.command(&["stage"]).spawn().unwrap();
            wait_until_busy(&child);
            signal(&child, how);
            let run = ended(child);
            assert_eq!(run.code, Some(130), "{what}: {run:#?}");
        }
    }
}

#[test]
fn third_signal_ends_any_evaluation() {
    let w = Workspace::new(&[("main.tf", LOOPS)]);
    let child = w.command(&["stage"]).spawn().unwrap();
    wait_until_busy(&child);
    for kind in [Signal::INT, Signal::TERM, Signal::HUP] {
        signal(&child, kind);
        std::thread::sleep(Duration::from_millis(50));
    }
    let run = ended(child);
    assert_eq!(run.code, Some(130), "{run:#?}");
}

#[test]
fn exponential_text_ends_at_the_memory_limit_with_the_expression() {
    for (what, value) in [
        (
            "for",
            "[for a in range(1000) : [for b in range(1000) : \"${local.long} ${a} ${b}\"]]",
        ),
        (
            "setproduct",
            "[for a in range(100) : setproduct(range(100), range(100), range(100))]",
        ),
        (
            "a text",
            "[for a in range(1000) : join(local.long, [for b in range(1000) : local.long])]",
        ),
        (
            "a replacement",
            "replace(join(\"a\", range(1000)), \"a\", join(local.long, range(1000)))",
        ),
        (
            "objects",
            "{ for a in range(1000) : a => { for b in range(1000) : b => { c = \"x${a}${local.long}\" } } }",
        ),
        (
            "a template",
            "\"%{ for a in range(1000) }%{ for b in range(1000) }${local.long}%{ endfor }%{ endfor }\"",
        ),
    ] {
        let w = Workspace::new(&[(
            "main.tf",
            &format!(
                "output \"bomb\" {{\n  value = {value}\n}}\nlocals {{\n  long = join(\",\", range(1000))\n}}\n"
            ),
        )]);
        let mut command = w.command(&["stage"]);
        let run = ended(
            command
                .env("FLIGHTDECK_MEMORY_LIMIT", "150M")
                .spawn()
                .unwrap(),
        );
        assert_eq!(run.code, Some(1), "{what}: {run:#?}");
        assert!(
            run.stderr.contains("main.tf:2") && run.stderr.contains("memory"),
            "{what}: {}",
            run.stderr
        );
    }
    let w = Workspace::new(&[]);
    let mut command = w.command(&["stage"]);
    let run = ended(
        command
            .env("FLIGHTDECK_MEMORY_LIMIT", "a lot")
            .spawn()
            .unwrap(),
    );
    assert!(
        run.code == Some(1) && run.stderr.contains("FLIGHTDECK_MEMORY_LIMIT"),
        "{run:#?}"
    );
}

/// Locals `a0` to `a40`, each derived from the previous one.
fn doubling_locals(first: &str, twice: impl Fn(&str) -> String) -> String {
    let each: Vec<String> = (0..40)
        .map(|i| format!("  a{} = {}\n", i + 1, twice(&format!("local.a{i}"))))
        .collect();
    format!("locals {{\n  a0 = {first}\n{}}}\n", each.concat())
}

#[test]
fn exponential_collection_ends_at_the_memory_limit_with_the_expression() {
    let long = "join(\",\", range(1000))";
    let lists = doubling_locals("[1]", |a| format!("[{a}, {a}]"));
    let objects = doubling_locals("{}", |a| format!("{{ x = {a}, y = {a} }}"));
    let texts = doubling_locals(long, |a| format!("\"${{{a}}}${{{a}}}\""));
    for (what, locals, value, words) in [
        ("lists", &lists, "jsonencode(local.a40)", "Value too large"),
        ("objects", &objects, "local.a40", "Value too large"),
        (
            "loops",
            &doubling_locals("[1]", |a| format!("[for i in [1, 2] : {a}]")),
            "length(local.a40)",
            "Value too large",
        ),
        ("functions", &lists, "length(flatten(local.a20))", "memory"),
        ("texts", &texts, "length(local.a40)", "memory"),
    ] {
        let w = Workspace::new(&[
            ("main.tf", locals),
            (
                "outputs.tf",
                &format!("output \"o\" {{\n  value = {value}\n}}\n"),
            ),
        ]);
        let mut command = w.command(&["stage"]);
        let run = ended(
            command
                .env("FLIGHTDECK_MEMORY_LIMIT", "120M")
                .spawn()
                .unwrap(),
        );
        assert_eq!(run.code, Some(1), "{what}: {run:#?}");
        assert!(
            run.stderr.contains(words) && run.stderr.contains(".tf:"),
            "{what}: {}",
            run.stderr
        );
    }
}

/// Passes a text of two megabytes through variables, locals and outputs of a hundred module
/// instances. Copies at each of these places would take more than a gigabyte.
#[test]
fn values_are_shared_and_not_copied() {
    let main = "locals {\n  line = join(\"\", [for i in range(1024) : \"0123456789abcdef\"])\n  text = join(\"\", [for i in range(128) : local.line])\n}\nmodule \"m\" {\n  source = \"./m\"\n  count  = 100\n  text   = local.text\n  any    = { text = local.text }\n}\noutput \"same\" {\n  value = alltrue([for m in module.m : m.all.again.text == local.text && m.all.text == local.text])\n}\n";
    let module = "variable \"text\" {\n  type = string\n}\nvariable \"any\" {}\nlocals {\n  again = var.any\n  all   = { again = local.again, text = var.text, both = [var.text, var.text] }\n}\noutput \"all\" {\n  value = local.all\n}\n";
    let w = Workspace::new(&[("main.tf", main), ("m/main.tf", module)]);
    let mut command = w.command(&["stage"]);
    let command = command.env("FLIGHTDECK_MEMORY_LIMIT", "150M");
    let run = ended(command.spawn().unwrap());
    assert_eq!(run.code, Some(0), "{run:#?}");
    assert!(run.stdout.contains("same = true"), "{run:#?}");
}

#[test]
fn mutually_recursive_templates_end_at_the_depth_limit() {
    let file = (
        "t.tpl",
        "${templatefile(\"t.tpl\", { n = n + 1 })}${templatefile(\"t.tpl\", { n = n + 2 })}",
    );
    let text =
        "locals {\n  t = \"$${templatestring(t, { t = t })}$${templatestring(t, { t = t })}\"\n}\n";
    for (what, value) in [
        ("file", "templatefile(\"t.tpl\", { n = 1 })"),
        ("text", "templatestring(local.t, { t = local.t })"),
    ] {
        let w = Workspace::new(&[
            (
                "main.tf",
                &format!("output \"o\" {{\n  value = {value}\n}}\n"),
            ),
            file,
            ("locals.tf", text),
        ]);
        let run = ended(w.command(&["stage"]).spawn().unwrap());
        assert_eq!(run.code, Some(1), "{what}: {run:#?}");
        assert!(
            run.stderr.contains("main.tf:2") && run.stderr.contains("maximum recursion depth"),
            "{what}: {}",
            run.stderr
        );
    }
}

#[test]
fn pipe_or_device_in_place_of_a_file_is_refused_without_blocking() {
    let main = (
        "main.tf",
        "variable \"x\" {\n  default = 1\n}\nresource \"terraform_data\" \"a\" {}\n",
    );
    for (place, args, extra) in [
        ("more.tf", &["stage"][..], None),
        ("more.tf.json", &["stage"], None),
        ("terraform.tfvars", &["stage"], None),
        ("terraform.tfvars.json", &["stage"], None),
        ("more.auto.tfvars", &["stage"], None),
        ("own.tfvars", &["stage", "--var-file", "own.tfvars"], None),
        (".terraform.lock.hcl", &["stage"], None),
        (
            "m/main.tf",
            &["stage"],
            Some("module \"m\" {\n  source = \"./m\"\n}\n"),
        ),
        (
            "read",
            &["stage"],
            Some("output \"o\" {\n  value = file(\"read\")\n}\n"),
        ),
        (
            "read",
            &["stage"],
            Some("output \"o\" {\n  value = filesha256(\"read\")\n}\n"),
        ),
        (
            "read",
            &["stage"],
            Some("output \"o\" {\n  value = templatefile(\"read\", {})\n}\n"),
        ),
    ] {
        for device in [false, true] {
            let w = Workspace::new(&[main]);
            if let Some(text) = extra {
                w.write("extra.tf", text);
            }
            let path = w.path().join(place);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            if device {
                std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
            } else {
                assert!(
                    Command::new("mkfifo")
                        .arg(&path)
                        .status()
                        .unwrap()
                        .success()
                );
            }
            let run = ended(w.command(args).spawn().unwrap());
            assert_eq!(run.code, Some(1), "{place} {extra:?} {device}: {run:#?}");
            assert!(
                run.stderr.contains("regular file"),
                "{place} {extra:?} {device}: {}",
                run.stderr
            );
        }
    }
}
