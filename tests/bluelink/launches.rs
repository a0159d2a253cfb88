//! Tests of launches, from exec to the namespace call, and of every launch failure.

use crate::support::Run;
use crate::workspace::TestWorkspace;
use serde_json::Value;

pub(crate) fn phases(attempt: &Value) -> Vec<&str> {
    let all = attempt["phases"].as_array().unwrap().iter();
    // `first_output` is recorded independently and can occur between any two phases.
    let names = all.map(|p| p["name"].as_str().unwrap());
    names.filter(|name| *name != "first_output").collect()
}

pub(crate) fn attempts(plugin: &Value) -> &Vec<Value> {
    plugin["attempts"].as_array().unwrap()
}

pub(crate) fn logs(bench: &TestWorkspace) -> String {
    let Run { stdout, .. } = bench.run(&["logs"]).expect(0);
    stdout
}

#[test]
fn s2_06_plugin_registers_answers_and_is_asked_to_end() {
    let bench = TestWorkspace::with_plugin("resource \"fake_box\" \"a\" {\n  name = \"a\"\n}\n");
    let (run, plugin) = bench.plugin();
    run.expect(0);
    assert_eq!(plugin["found"]["dialect"], "bluelink1.0");
    assert_eq!(attempts(&plugin).len(), 1);
    let attempt = &attempts(&plugin)[0];
    assert_eq!(
        phases(attempt),
        ["exec", "registered", "namespace_answered"]
    );
    assert_eq!(attempt["verdict"]["kind"], "ready");
    assert_eq!(plugin["schema"]["resources"], 2);
    assert!(
        logs(&bench).contains("ended when it was asked to"),
        "SIGTERM before SIGKILL"
    );
    let pid = attempt["pid"].as_u64().unwrap();
    assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists());
    // The host must wait: the plugin learns its host's id a moment after the reply.
    assert_eq!(bench.calls("GetNamespace").len(), 1);
}

#[test]
fn s2_10_plugin_may_listen_at_a_unix_socket() {
    let bench = TestWorkspace::with_plugin("");
    bench.workspace.write(
        "main.tf",
        "resource \"fake_box\" \"a\" {\n  name = \"a\"\n}\n",
    );
    bench.write_fault_file("unix", "");
    bench.deploy().expect(0);
    assert_eq!(bench.plugin_objects().len(), 1);
}

#[test]
fn invalid_registration_is_reported_to_the_operator_and_to_the_plugin() {
    let table = [
        (
            "wrong-id",
            "registered_as_another",
            "the plugin is installed as bluelink/fake, but it registered as somebody/else",
        ),
        (
            "wrong-protocol",
            "protocol_version",
            "the plugin uses protocol version 2.0, 1.7, but flightdeck supports 1.0",
        ),
        (
            "wrong-pid",
            "foreign",
            "the plugin registered with process ID 1, but flightdeck launched process",
        ),
        (
            "transformer",
            "plugin_type",
            "the plugin is installed as a provider, but it registered as a transformer; move it to the right directory",
        ),
        (
            "wrong-namespace",
            "namespace",
            "the namespace of the plugin is other, but bluelink/fake must use fake",
        ),
    ];
    for (fault, kind, words) in table {
        let bench = TestWorkspace::with_plugin("provider \"fake\" {}\n");
        bench.write_fault_file("faults", &format!("{fault}\n"));
        let (run, plugin) = bench.plugin();
        run.expect(3);
        assert_eq!(plugin["state"]["state"], "incompatible", "{fault}");
        assert_eq!(
            attempts(&plugin).len(),
            1,
            "{fault}: another launch cannot change it"
        );
        let attempt = &attempts(&plugin)[0];
        assert_eq!(attempt["verdict"]["kind"], kind);
        let text = attempt["verdict"]["text"].as_str().unwrap();
        assert!(text.starts_with(words), "{fault}: {text}");
        let registered = fault == "wrong-namespace";
        assert_eq!(phases(attempt).len(), if registered { 2 } else { 1 });
        let lines = attempt["last_lines"].to_string();
        assert_eq!(
            lines.contains("failed to register"),
            !registered,
            "{fault}: {lines}"
        );
    }
}

#[test]
fn plugin_of_another_kind_or_program_is_launched_once() {
    let table = [
        (
            "other-program",
            "other_program",
            "the file is not a Bluelink plugin: it refused the magic cookie",
        ),
        (
            "serves-another",
            "not_a_provider",
            "the plugin registered as a provider but does not serve one: the request for its namespace failed",
        ),
    ];
    for (fault, kind, words) in table {
        let bench = TestWorkspace::with_plugin("provider \"fake\" {}\n");
        bench.write_fault_file("faults", &format!("{fault}\n").repeat(9));
        let (run, plugin) = bench.plugin();
        run.expect(3);
        assert_eq!(plugin["state"]["state"], "incompatible", "{fault}");
        assert_eq!(attempts(&plugin).len(), 1, "{fault}");
        let verdict = &attempts(&plugin)[0]["verdict"];
        assert_eq!(verdict["kind"], kind);
        let text = verdict["text"].as_str().unwrap();
        assert!(text.starts_with(words), "{fault}: {text}");
    }
}

#[test]
fn s2_08_launches_are_limited_to_five_or_to_either_variable() {
    let mut bench = TestWorkspace::with_plugin("provider \"fake\" {}\n");
    bench.write_fault_file("faults", &"exits\n".repeat(9));
    let launches = |bench: &TestWorkspace| {
        let (run, plugin) = bench.plugin();
        run.expect(3);
        assert_eq!(plugin["state"]["state"], "gave_up");
        let verdict = attempts(&plugin)[0]["verdict"]["text"].to_string();
        assert!(verdict.contains("the process ended before its registration: exit code 3; last output: no licence was found"), "{verdict}");
        attempts(&plugin).len()
    };
    assert_eq!(launches(&bench), 5);
    for family in ["BLUELINK", "CELERITY"] {
        let name = format!("{family}_DEPLOY_ENGINE_PLUGIN_LAUNCH_ATTEMPT_LIMIT");
        bench.set(&name, "2");
        assert_eq!(launches(&bench), 2, "{family}");
        bench.unset(&name);
    }
}

#[test]
fn s2_08_late_or_uncallable_plugin_is_launched_again() {
    let mut bench = TestWorkspace::with_plugin("provider \"fake\" {}\n");
    bench.set("FLIGHTDECK_LAUNCH_DEADLINE_MS", "1500");
    bench.write_fault_file("faults", "late\ndeaf\n-\n");
    let (run, plugin) = bench.plugin();
    run.expect(0);
    let [late, deaf, good] = &attempts(&plugin)[..] else {
        panic!("{plugin:#}")
    };
    assert_eq!(late["verdict"]["kind"], "timed_out");
    assert!(
        late["verdict"]["text"]
            .as_str()
            .unwrap()
            .starts_with("the plugin did not complete its registration within 1.5 s")
    );
    assert_eq!(
        (deaf["verdict"]["kind"].as_str(), phases(deaf)),
        (Some("connect"), vec!["exec", "registered"])
    );
    assert_eq!(good["verdict"]["kind"], "ready");
}

#[test]
fn s2_08_late_registration_is_refused_and_recorded_as_late() {
    let mut bench = TestWorkspace::with_plugin("provider \"fake\" {}\n");
    bench.set("FLIGHTDECK_LAUNCH_DEADLINE_MS", "4000");
    bench.write_fault_file("faults", "a-little-late\n-\n");
    let (run, plugin) = bench.plugin();
    run.expect(0);
    let [late, good] = &attempts(&plugin)[..] else {
        panic!("{plugin:#}")
    };
    assert_eq!(late["verdict"]["kind"], "late");
    assert_eq!(late["verdict"]["retryable"], true);
    let text = late["verdict"]["text"].as_str().unwrap();
    assert!(text.starts_with("the plugin registered "), "{text}");
    assert!(
        text.contains(" too late: the limit is 4 s after its launch"),
        "{text}"
    );
    assert_eq!(phases(late), ["exec"], "it was not registered");
    let lines = late["last_lines"].to_string();
    assert!(
        lines.contains("failed to register: the plugin registered "),
        "and it was told: {lines}"
    );
    let pid = late["pid"].as_u64().unwrap();
    assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists());
    assert_eq!(good["verdict"]["kind"], "ready");
}

#[test]
fn second_or_foreign_registration_is_refused_and_the_launch_continues() {
    let bench = TestWorkspace::with_plugin("provider \"fake\" {}\n");
    bench.write_fault_file("faults", "twice\nforeigner\n");
    bench.plugin().0.expect(0);
    let said = logs(&bench);
    assert!(
        said.contains("refused a second registration of bluelink/fake: it is already registered"),
        "{said}"
    );
    let (run, plugin) = bench.plugin();
    run.expect(0);
    assert_eq!(attempts(&plugin).len(), 1);
    let said = logs(&bench);
    let refused = format!(
        "that does not come from the launched process {}",
        attempts(&plugin)[0]["pid"]
    );
    assert!(
        said.contains(&refused) && said.contains("the foreigner at 127.0.0.1 is answered false"),
        "{said}"
    );
}

#[test]
fn process_that_was_not_launched_is_refused_over_every_kind_of_socket_and_in_every_call() {
    let bench = TestWorkspace::with_plugin("provider \"fake\" {}\n");
    bench.write_fault_file("faults", "foreigner\n");
    let (run, plugin) = bench.plugin();
    run.expect(0);
    // The launched plugin registers after the refused process, in the same launch attempt.
    assert_eq!(attempts(&plugin).len(), 1);
    assert_eq!(attempts(&plugin)[0]["verdict"]["kind"], "ready");
    let said = logs(&bench);
    for address in ["127.0.0.1", "[::ffff:127.0.0.1]"] {
        assert!(
            said.contains(&format!("the foreigner at {address} is answered false")),
            "{said}"
        );
        for call in [
            "deregister",
            "call_function",
            "get_function_definition",
            "has_function",
            "list_functions",
            "deploy_resource",
            "destroy_resource",
            "lookup_resource_in_state",
            "acquire_resource_lock",
        ] {
            let denied =
                format!("the foreigner at {address} calls {call} and is answered PermissionDenied");
            assert!(said.contains(&denied), "{denied}: {said}");
        }
    }
}

#[test]
fn registration_of_another_process_is_one_notice_and_a_warning_in_the_log() {
    let bench = TestWorkspace::with_plugin("resource \"fake_box\" \"a\" {\n  name = \"a\"\n}\n");
    bench.write_fault_file("faults", "foreigner\n");
    let run = bench.run(&["stage"]).expect(0);
    let refused = "does not come from the launched process";
    let said = format!("{}{}", run.stdout, run.stderr);
    let notes = said.lines().filter(|line| line.contains("note: "));
    // The refused process makes many calls, but one notice is enough.
    let of_it = notes.filter(|line| line.contains(refused)).count();
    assert_eq!(of_it, 1, "{run:#?}");
    let warnings = bench.run(&["logs", "--level", "warn"]).expect(0).stdout;
    assert_eq!(warnings.matches(refused).count(), 1, "{warnings}");
}

#[test]
fn plugin_is_not_called_back_at_a_port_of_another_process() {
    let bench = TestWorkspace::with_plugin("provider \"fake\" {}\n");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let heard = std::thread::spawn(move || {
        use std::io::Read as _;
        let (mut stream, _) = listener.accept().unwrap();
        let mut all = Vec::new();
        stream.read_to_end(&mut all).ok();
        all
    });
    bench.write_fault_file("elsewhere", &port.to_string());
    bench.write_fault_file("faults", "elsewhere\n-\n");
    let (run, plugin) = bench.plugin();
    run.expect(0);
    let [elsewhere, good] = &attempts(&plugin)[..] else {
        panic!("{plugin:#}")
    };
    assert_eq!(elsewhere["verdict"]["kind"], "foreign");
    let text = elsewhere["verdict"]["text"].as_str().unwrap();
    let said = format!("does not listen at 127.0.0.1:{port}, the address in its registration");
    assert!(text.contains(&said), "{text}");
    assert_eq!(good["verdict"]["kind"], "ready");
    assert_eq!(
        heard.join().unwrap(),
        b"",
        "nothing was said to the other one"
    );
}

#[test]
fn deregistered_plugin_is_not_called_and_its_objects_are_kept() {
    let mut bench = TestWorkspace::with_plugin(
        "resource \"fake_slow_thing\" \"s\" {\n  name  = \"s\"\n  looks = 1000\n}\n",
    );
    bench.set("FLIGHTDECK_LAUNCH_ATTEMPTS", "1");
    bench.write_fault_file("troubles", "ResourceHasStabilised deregister 1\n");
    let run = bench.deploy();
    assert_eq!(run.code, Some(5), "{run:#?}");
    assert!(logs(&bench).contains("the plugin has deregistered and receives no further calls"));
    let told = run.diagnostics();
    assert!(
        told.iter()
            .any(|d| d["summary"] == "deployed, but its stability is unknown"),
        "{told:#?}"
    );
    assert_eq!(
        bench.state_attributes("fake_slow_thing")["attributes"]["name"],
        "s"
    );
    assert_eq!(
        bench.state_attributes("fake_slow_thing")["status"],
        "tainted"
    );
}

#[test]
fn plugin_does_not_outlive_a_killed_host() {
    use std::io::BufRead as _;
    let bench = TestWorkspace::with_plugin(
        "resource \"fake_slow_thing\" \"s\" {\n  name  = \"s\"\n  looks = 100000\n}\n",
    );
    let mut host = bench
        .command(&["deploy", "--auto-approve", "--json"])
        .spawn()
        .unwrap();
    let lines = std::io::BufReader::new(host.stdout.take().unwrap()).lines();
    let pid = lines.map_while(Result::ok).find_map(|line| {
        let event: Value = serde_json::from_str(&line).unwrap();
        event["attempt"]["pid"].as_u64()
    });
    let plugin = std::path::PathBuf::from(format!("/proc/{}", pid.unwrap()));
    assert!(plugin.exists());
    host.kill().unwrap();
    host.wait().unwrap();
    let until = std::time::Instant::now() + std::time::Duration::from_secs(20);
    // The kernel kills the plugin, which no event reports.
    while plugin.exists() && std::time::Instant::now() < until {
        std::thread::yield_now();
    }
    assert!(!plugin.exists());
}
