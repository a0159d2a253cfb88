//! Tests with the bundled lab provider, whose schema has every kind of attribute and block.

use crate::bench::{BOTH, Dialect, TestWorkspace, assert_equal_over_both_dialects};
use bundled::lab::control;
use serde_json::{Value, json};

struct Wanted {
    bucket: &'static str,
    tier: &'static str,
    replicas: u32,
}

const FIRST: Wanted = Wanted {
    bucket: "store",
    tier: "one",
    replicas: 2,
};

fn main(bench: &TestWorkspace, wanted: &Wanted) -> String {
    let Wanted {
        bucket,
        tier,
        replicas,
    } = wanted;
    let image = match bench.dialect {
        Dialect::Protocol6 => "family = \"debian\"".to_owned(),
        Dialect::Bluelink => {
            "filter = [{ field = \"family\", operator = \"=\", search = [\"debian\"] }]".to_owned()
        }
    };
    let subnets = bench.blocks(
        "subnet",
        &[
            "name = \"a\"\n    cidr = \"10.1.1.0/24\"",
            "name = \"b\"\n    cidr = \"10.1.2.0/24\"\n    zone = \"b\"",
        ],
    );
    let disks = bench.blocks("disk", &["name = \"data\"\n    size_gb = 20"]);
    let health = bench.block("health_check", "path = \"/up\"");
    let backup = bench.block("backup", "retention_days = 7");
    let rules = bench.blocks(
        "lifecycle_rule",
        &[
            "prefix = \"a/\"\n    expire_days = 1",
            "prefix = \"tmp/\"\n    expire_days = 7",
        ],
    );
    format!(
        r#"
data "lab_image" "base" {{
  {image}
}}
resource "lab_network" "net" {{
  name = "net"
  cidr = "10.1.0.0/16"
  tags = {{ "odd.key" = "x", tier = "{tier}" }}
{subnets}}}
resource "lab_server" "web" {{
  name            = "web"
  image           = data.lab_image.base.id
  network_id      = lab_network.net.id
  security_groups = ["a", "b"]
{disks}{health}}}
resource "lab_database" "db" {{
  name       = "db"
  engine     = "postgres"
  network_id = lab_network.net.id
  password   = "hush-hush"
  depends_on = [lab_server.web]
{backup}}}
resource "lab_bucket" "store" {{
  name      = "{bucket}"
  versioned = true
  policy    = jsonencode({{ allow = [lab_network.net.id] }})
{rules}}}
resource "lab_dns_record" "www" {{
  zone    = "example"
  name    = "www"
  records = [lab_database.db.private_ip]
}}
resource "lab_thing" "any" {{
  name     = "any"
  triggers = {{ net = lab_network.net.id }}
  data     = {{ url = lab_bucket.store.url }}
  payload  = {{ n = 3, part = 0.1, list = ["x", true], inner = {{ deep = 1 }} }}
  spec = {{
    replicas = {replicas}
    ports    = [{{ number = 80 }}, {{ number = 53, protocol = "udp" }}]
  }}
}}
output "where" {{
  value = lab_network.net.subnet[1].id
}}
"#
    )
}

fn id(bench: &TestWorkspace, kind: &str) -> String {
    let all = control::objects(&bench.lab()).unwrap();
    let found = all.into_iter().find(|object| object.kind == kind);
    found.unwrap().id
}

#[test]
fn bundled_program_serves_the_dialect_of_its_host() {
    let programs = BOTH.map(|dialect| {
        let bench = TestWorkspace::new(dialect);
        bench.main("resource \"lab_bucket\" \"b\" {\n  name = \"b\"\n}\n");
        let result = bench.run(&["plugins", "--json"]).expect(0).result();
        let all = result["plugins"].as_array().unwrap();
        let wanted = match dialect {
            Dialect::Protocol6 => "tfplugin6",
            Dialect::Bluelink => "bluelink1.0",
        };
        let spoken = all.iter().map(|plugin| &plugin["found"]["dialect"]);
        assert_eq!(spoken.collect::<Vec<_>>(), [wanted, wanted], "{result:#}");
        let schemas = all
            .iter()
            .map(|plugin| plugin["schema"]["resources"].clone());
        let schemas: Vec<Value> = schemas.collect();
        let program = all[0]["found"]["executable"].as_str().unwrap();
        (std::fs::canonicalize(program).unwrap(), schemas)
    });
    assert_eq!(programs[0], programs[1]);
}

#[test]
fn cloud_is_created_drifts_is_updated_partly_replaced_and_destroyed() {
    assert_equal_over_both_dialects(|bench| {
        bench.main(&main(bench, &FIRST));
        let mut seen = vec![json!(bench.stage())];
        assert_eq!(seen, ["create 6"]);
        let run = bench.run(&["deploy", "--auto-approve"]).expect(0);
        let said = format!("{}{}", run.stdout, run.stderr);
        assert!(!said.contains("hush"), "nothing secret is shown: {said}");
        seen.push(bench.objects());
        let database = &seen[1]["lab_database.db"];
        let secret = database["connection_string"].as_str().unwrap();
        assert!(secret.starts_with("postgres://app:hush-hush@"), "{secret}");
        assert_eq!(
            seen[1]["lab_network.net"]["subnet"][0]["zone"], "a",
            "a default"
        );
        assert_eq!(seen[1]["lab_thing.any"]["revision"], 1);
        seen.push(json!(bench.stage()));
        assert_eq!(seen[2], "");

        let server = id(bench, "lab_server");
        control::tamper(&bench.lab(), &server, "size", "huge".into()).unwrap();
        let shown = bench.text_output();
        assert!(shown.contains("size: \"small\" → \"huge\""), "{shown}");
        seen.push(json!(bench.stage()));
        assert_eq!(seen[3], "update 1");
        bench.deploy().expect(0);
        assert_eq!(id(bench, "lab_server"), server, "it is the same one");
        seen.push(bench.objects());
        assert_eq!(seen[1]["lab_server.web"], seen[4]["lab_server.web"]);

        let changed = Wanted {
            tier: "two",
            replicas: 3,
            ..FIRST
        };
        bench.main(&main(bench, &changed));
        seen.push(json!(bench.stage()));
        assert_eq!(seen[5], "update 2");
        bench.deploy().expect(0);
        seen.push(bench.objects());
        assert_eq!(seen[6]["lab_thing.any"]["revision"], 2);

        // Another name replaces the bucket, and its references change.
        let bucket = id(bench, "lab_bucket");
        bench.main(&main(
            bench,
            &Wanted {
                bucket: "other",
                ..changed
            },
        ));
        seen.push(json!(bench.stage()));
        bench.deploy().expect(0);
        assert_ne!(id(bench, "lab_bucket"), bucket);
        seen.push(bench.objects());
        seen.push(json!(bench.stage()));
        assert_eq!(seen[9], "");

        control::delete_object(&bench.lab(), &id(bench, "lab_dns_record")).unwrap();
        seen.push(json!(bench.stage()));
        assert_eq!(seen[10], "create 1");
        bench.run(&["destroy", "--auto-approve"]).expect(0);
        assert_eq!(control::objects(&bench.lab()).unwrap(), []);
        seen.push(Value::Object(bench.state()));
        seen
    });
}

#[test]
fn order_of_a_set_is_no_drift() {
    assert_equal_over_both_dialects(|bench| {
        let server = |groups: &str, rules: [&str; 2]| {
            let rules = bench.blocks("lifecycle_rule", &rules);
            format!(
                "resource \"lab_server\" \"s\" {{\n  name            = \"s\"\n  image           = \"img-1\"\n  security_groups = {groups}\n}}\n\
                 resource \"lab_bucket\" \"b\" {{\n  name = \"b\"\n{rules}}}\n"
            )
        };
        let (early, late) = (
            "prefix = \"a\"\n expire_days = 1",
            "prefix = \"b\"\n expire_days = 2",
        );
        bench.main(&server("[\"z\", \"m\", \"a\"]", [late, early]));
        bench.deploy().expect(0);
        let before = bench.stage();
        // A group added outside is reported alone, without the three others.
        let id = id(bench, "lab_server");
        let groups = json!(["a", "b", "m", "z"]);
        control::tamper(&bench.lab(), &id, "security_groups", groups).unwrap();
        let drifted = bench.stage();
        bench.deploy().expect(0);
        vec![json!([before, drifted, bench.stage()])]
    });
}

#[test]
fn each_provider_configuration_has_its_own_world() {
    assert_equal_over_both_dialects(|bench| {
        bench.main(
            "provider \"lab\" {\n  alias  = \"south\"\n  file   = \"WORLD/south.json\"\n  region = \"south\"\n}\n\
             resource \"lab_bucket\" \"n\" {\n  name = \"n\"\n}\n\
             resource \"lab_bucket\" \"s\" {\n  for_each = toset([\"s1\", \"s2\", \"s3\"])\n  provider = lab.south\n  name     = \"${each.key}-of-south\"\n}\n",
        );
        bench.deploy().expect(0);
        let names = |file: &str| {
            let all = control::objects(&bench.objects_directory().join(file)).unwrap();
            let mut names: Vec<String> = all.into_iter().map(|object| object.name).collect();
            names.sort();
            names
        };
        assert_eq!(names("lab.json"), ["n"]);
        assert_eq!(
            names("south.json"),
            ["s1-of-south", "s2-of-south", "s3-of-south"]
        );
        let seen = vec![bench.objects(), json!(bench.stage())];
        bench.run(&["destroy", "--auto-approve"]).expect(0);
        assert!(names("south.json").is_empty() && names("lab.json").is_empty());
        seen
    });
}
