//! Tests of warnings and private data, which typed calls pass through their context.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use sdk::testing::TestProvider;
use sdk::{
    Computed, Context, Failure, Lifecycle, Resource, Result, TypedProvider, Updatable, Update,
    async_trait,
};
use serde_json::json;

/// Lock versions of the doors, by name.
type Building = Arc<Mutex<BTreeMap<String, u8>>>;

/// Door with a version, which each change must name.
#[derive(Clone, Resource)]
#[resource(name = "house_door")]
struct Door {
    /// Name.
    #[attr(replaces)]
    name: String,
    /// Colour.
    colour: String,
    /// Id.
    #[attr(stable)]
    id: Computed<String>,
}

#[async_trait]
impl Lifecycle for Door {
    type Client = Building;

    async fn create(cx: &Context, doors: &Building, mut door: Door) -> Result<Door> {
        assert!(cx.private().is_empty(), "a new object has no private data");
        doors.lock().unwrap().insert(door.name.clone(), 1);
        door.id.set(door.name.clone());
        cx.set_private([1]);
        match door.colour.as_str() {
            "pink" => Err(Failure::new("there is no pink", "").with_object(&door)),
            _ => Ok(door),
        }
    }

    async fn read(cx: &Context, doors: &Building, door: Door) -> Result<Option<Door>> {
        if let Some(version) = doors.lock().unwrap().get(&door.name) {
            cx.set_private([*version]);
        }
        Ok(Some(door))
    }

    async fn delete(cx: &Context, doors: &Building, door: Door) -> Result<()> {
        let version = doors.lock().unwrap().remove(&door.name);
        assert_eq!(cx.private(), version.as_slice());
        cx.warn("the house is open", "");
        Ok(())
    }

    async fn import(_: &Context, _: &Building, id: &str) -> Result<Option<Door>> {
        Ok(Some(Door {
            name: id.to_owned(),
            colour: "red".to_owned(),
            id: id.to_owned().into(),
        }))
    }
}

#[async_trait]
impl Updatable for Door {
    async fn update(cx: &Context, doors: &Building, change: &mut Update<Door>) -> Result<Door> {
        let mut doors = doors.lock().unwrap();
        let version = doors.get_mut(&change.prior.name).unwrap();
        assert_eq!(cx.private(), [*version]);
        *version += 1;
        cx.set_private([*version]);
        cx.warn("the paint is wet", "wait an hour");
        match change.planned.colour.as_str() {
            "pink" => Err(Failure::new("there is no pink", "")),
            _ => Ok(change.planned.clone()),
        }
    }
}

async fn start(doors: &Building) -> TestProvider {
    let doors = doors.clone();
    let provider = TypedProvider::new("house", move |cx: Context, _: ()| {
        cx.warn("the house is old", "");
        let doors = doors.clone();
        async move { Ok(doors) }
    });
    let provider = provider.resource::<Door>();
    let test = TestProvider::over_protocol(provider).await.unwrap();
    let said = test.configure(json!({})).await.unwrap();
    assert_eq!(said.0[0].summary, "the house is old");
    test
}

#[tokio::test]
async fn private_data_of_an_object_reaches_its_later_calls() {
    let doors = Building::default();
    let test = start(&doors).await;
    let door = test.apply("house_door", None, json!({"name": "a", "colour": "red"}));
    let door = door.await.unwrap().done().unwrap();
    assert_eq!(door.private, [1]);
    let blue = json!({"name": "a", "colour": "blue"});
    let door = test.apply("house_door", Some(&door), blue).await.unwrap();
    let door = door.done().unwrap();
    assert_eq!(door.private, [2]);
    // A read can replace it, as after a change outside.
    doors.lock().unwrap().insert("a".to_owned(), 7);
    let door = test.read(&door).await.unwrap().unwrap();
    assert_eq!(door.private, [7]);
    assert_eq!(
        test.import("house_door", "a").await.unwrap().private,
        [7],
        "read after the import"
    );
    test.destroy(&door).await.unwrap();
}

#[tokio::test]
async fn failed_calls_keep_the_private_data_that_they_have_set() {
    let test = start(&Building::default()).await;
    let pink = |name: &str| json!({"name": name, "colour": "pink"});
    let half = test.apply("house_door", None, pink("a")).await.unwrap();
    assert_eq!(half.object.unwrap().private, [1]);
    let door = test.apply("house_door", None, json!({"name": "b", "colour": "red"}));
    let door = door.await.unwrap().done().unwrap();
    let failed = test.apply("house_door", Some(&door), pink("b")).await;
    let failed = failed.unwrap().object.unwrap();
    assert_eq!((failed.private, failed.value), (vec![2], door.value));
}

#[tokio::test]
async fn warnings_reach_the_host_beside_results_and_failures() {
    let test = start(&Building::default()).await;
    let door = test.apply("house_door", None, json!({"name": "a", "colour": "red"}));
    let mut door = door.await.unwrap().done().unwrap();
    for (colour, expected) in [
        ("blue", vec!["the paint is wet"]),
        ("pink", vec!["there is no pink", "the paint is wet"]),
    ] {
        let config = json!({"name": "a", "colour": colour});
        let changed = test.apply("house_door", Some(&door), config).await.unwrap();
        let said = changed.diagnostics.0.iter().map(|one| &*one.summary);
        assert_eq!(said.collect::<Vec<_>>(), expected);
        door = changed.object.unwrap();
    }
    let gone = test.destroy(&door).await.unwrap();
    assert_eq!(gone.diagnostics.0[0].summary, "the house is open");
}
