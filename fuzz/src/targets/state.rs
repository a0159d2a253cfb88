//! Any bytes as a state file of version 4. Outputs that were read survive an export, and objects
//! generated from the same bytes are exported completely.

use engine::stage::objects::output_value;
use provider::builtin::outputs;
use store::records::{State, StateObject, StateOutput};
use store::version4;

use crate::feed::Feed;

pub fn run(data: &[u8]) {
    let read = outputs(data);
    if let Err(why) = &read {
        assert!(!why.to_string().is_empty());
    }
    let mut state = State {
        serial: 1,
        lineage: "l".to_owned(),
        objects: objects(data),
        outputs: Vec::new(),
        ..State::default()
    };
    if let Ok(Some(read)) = &read {
        state.outputs = read
            .iter()
            .map(|(name, value)| StateOutput {
                name: name.to_string(),
                value: cty::json::encode(value, value.ty()).expect("what was read is written"),
                ty: value.ty().to_json(),
                sensitive: false,
                rest: String::new(),
            })
            .collect();
        for output in &state.outputs {
            assert_eq!(
                output_value(output).as_ref(),
                read.get(output.name.as_str()),
                "{}",
                output.name
            );
        }
    }
    let text = version4(&state).to_local();
    let exported = serde_json::from_str(&text).expect("what is exported is JSON");
    let again = outputs(text.as_bytes())
        .expect("what is exported is read")
        .expect("there is something in it");
    match read {
        Ok(Some(read)) => assert_eq!(again, read),
        _ => assert!(again.is_empty()),
    }
    whole(&exported, &state.objects);
}

const ADDRESSES: [&str; 6] = [
    "a.b",
    "a.b[0]",
    "a.b[\"k\"]",
    "data.d.x",
    "module.m.a.b",
    "module.m[\"q\\\"r\"].module.n[1].a.b[2]",
];

fn objects(data: &[u8]) -> Vec<StateObject> {
    let mut feed = Feed::new(data);
    let n = feed.below(5);
    (0..n)
        .map(|i| {
            let ty = feed.ty(1, false);
            let value = feed.value(&ty, false, 1);
            let attributes =
                cty::json::encode(&value, value.ty()).unwrap_or_else(|_| "null".to_owned());
            StateObject {
                address: ADDRESSES[feed.below(ADDRESSES.len())].to_owned(),
                // An instance has one current object; all others are deposed with different keys.
                deposed: if i == 0 {
                    String::new()
                } else {
                    format!("{i:08x}")
                },
                provider: format!(
                    "provider[\"registry.terraform.io/hashicorp/{}\"]",
                    ["a", "b"][feed.below(2)]
                ),
                schema_version: i64::from(feed.byte()),
                attributes,
                sensitive: "[]".to_owned(),
                private: feed.bytes().to_vec(),
                tainted: feed.byte() & 1 == 1,
                create_before_destroy: feed.byte() & 1 == 1,
                skip_destroy: feed.byte() & 1 == 1,
                needs: Vec::new(),
                dependencies: Vec::new(),
                identity: (feed.byte() & 1 == 1).then(|| "{\"id\":1}".to_owned()),
                identity_version: 0,
                rest: String::new(),
            }
        })
        .collect()
}

/// Checks that every object is in the file exactly once, with all its properties.
fn whole(exported: &serde_json::Value, objects: &[StateObject]) {
    let mut found = 0;
    for resource in exported["resources"].as_array().into_iter().flatten() {
        for instance in resource["instances"].as_array().into_iter().flatten() {
            found += 1;
            let deposed = instance
                .get("deposed")
                .and_then(|d| d.as_str())
                .unwrap_or_default();
            let same = objects.iter().filter(|o| {
                o.deposed == deposed
                    && resource["provider"] == o.provider.as_str()
                    && instance["attributes"]
                        == serde_json::from_str::<serde_json::Value>(&o.attributes)
                            .unwrap_or_default()
                    && (instance.get("status").is_some() == o.tainted)
            });
            assert_eq!(same.count(), 1, "{instance}");
        }
    }
    assert_eq!(found, objects.len());
}
