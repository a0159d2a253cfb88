//! Tests of the calls that a host's deploy, read and destroy make to an author's code.

use std::sync::Mutex;

use super::*;
use crate::schema::{Attr, Schema};
use crate::{Object, State};
use async_trait::async_trait;
use proto::bluelink::sharedtypesv1::{ResolvedResource, ResourceInfo, ResourceState};
use tokio_util::sync::CancellationToken;

/// Resource that records its calls.
#[derive(Default)]
struct Shelf {
    asked: Mutex<Vec<String>>,
}

impl Shelf {
    fn note(&self, call: &str, value: &Value) {
        let name = value.get_attr("name").unwrap();
        let id = value.get_attr("id").unwrap();
        let text = |value: &Value| match value.as_str() {
            Some(text) => text.to_owned(),
            None if value.is_known() => "null".to_owned(),
            None => "unknown".to_owned(),
        };
        let line = format!("{call} {} {}", text(&name), text(&id));
        self.asked.lock().unwrap().push(line);
    }
}

#[async_trait]
impl Resource for Shelf {
    fn name(&self) -> &str {
        "toy_shelf"
    }

    fn schema(&self) -> Schema {
        Schema::new()
            .attr(Attr::string("name").required().replaces())
            .attr(Attr::string("colour").replaces())
            .attr(Attr::string("note"))
            .attr(Attr::string("id").computed().stable())
    }

    async fn create(&self, _: &Context, change: Change) -> Result<State, Failure> {
        self.note("create", &change.planned);
        assert!(change.config.get_attr("id").unwrap().is_null());
        let mut object = Object::of(&change.planned).unwrap();
        object.fill("id", "new");
        let half = object.text("name") == Some("half");
        let state = State::new(object.into_value().unwrap());
        match half {
            true => Err(Failure::new("half done", "").with_partial(state)),
            false => Ok(state),
        }
    }

    async fn exists(&self, _: &Context, state: &State) -> Result<bool, Failure> {
        Ok(state.value.get_attr("note").unwrap().as_str() != Some("gone"))
    }

    async fn read(&self, _: &Context, state: State) -> Result<Option<State>, Failure> {
        self.note("read", &state.value);
        Ok(Some(state))
    }

    async fn update(&self, _: &Context, change: Change) -> Result<State, Failure> {
        self.note("update", &change.planned);
        Ok(State::new(change.planned))
    }

    async fn is_stable(&self, _: &Context, state: &State) -> Result<bool, Failure> {
        self.note("look at", &state.value);
        match state.value.get_attr("note").unwrap().as_str() {
            Some("restless") => Ok(false),
            Some("settling") => Ok(self.asked.lock().unwrap().len() > 2),
            Some("unwell") => Err(Failure::new("it is unwell", "")),
            _ => Ok(true),
        }
    }

    async fn delete(&self, _: &Context, state: State) -> Result<Diagnostics, Failure> {
        self.note("delete", &state.value);
        match state.value.get_attr("note").unwrap().as_str() {
            Some("stuck") => Err(Failure::new("it is stuck", "")),
            _ => Ok(Diagnostics::new()),
        }
    }

    async fn import(&self, _: &Context, id: &str) -> Result<State, Failure> {
        let mut object = Object::of(&self.schema().empty_value()).unwrap();
        object.set("id", id);
        object.set("name", "found");
        Ok(State::new(object.into_value().unwrap()))
    }
}

struct Bench {
    shelf: Arc<Shelf>,
    kind: Arc<Kind>,
}

impl Bench {
    fn new() -> Bench {
        let shelf = Arc::new(Shelf::default());
        let item: Arc<dyn Resource> = shelf.clone();
        let kind = Arc::new(Kind::of(Entry::new(item, shelf.schema())));
        Bench { shelf, kind }
    }

    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut *self.shelf.asked.lock().unwrap())
    }

    async fn deploy(
        &self,
        prior: Option<&[(&str, &str)]>,
        spec: &[(&str, &str)],
        must_recreate: bool,
    ) -> Outcome<HashMap<String, MappingNode>> {
        let state = prior.map(|prior| ResourceState {
            spec_data: Some(node(prior)),
            ..ResourceState::default()
        });
        let resolved = ResolvedResource {
            spec: Some(node(spec)),
            ..ResolvedResource::default()
        };
        let info = ResourceInfo {
            current_resource_state: state,
            resource_with_resolved_subs: Some(resolved),
            ..ResourceInfo::default()
        };
        let changes = Changes {
            applied_resource_info: Some(info),
            must_recreate,
            ..Changes::default()
        };
        deploy(self.kind.clone(), cx(), changes).await
    }
}

fn cx() -> Context {
    Context::new(CancellationToken::new())
}

fn node(members: &[(&str, &str)]) -> MappingNode {
    let members = members
        .iter()
        .map(|(name, text)| (*name, Value::string(*text)));
    let value = Value::object(members);
    encode(&value, value.ty(), None).unwrap()
}

fn reasons(failure: &Failure) -> String {
    let all: Vec<String> = failure.diagnostics.0.iter().map(sentence).collect();
    all.join("; ")
}

const OLD: &[(&str, &str)] = &[("name", "a"), ("id", "old")];

#[tokio::test]
async fn state_and_replace_flag_select_create_update_or_replace() {
    let bench = Bench::new();
    let set = bench.deploy(None, &[("name", "a")], true).await.unwrap();
    assert_eq!(bench.asked(), ["create a unknown"]);
    assert_eq!(set.keys().collect::<Vec<_>>(), ["spec.id"]);
    let changed = [("name", "a"), ("note", "x")];
    bench.deploy(Some(OLD), &changed, false).await.unwrap();
    assert_eq!(bench.asked(), ["update a old"], "what stays is known");
    bench
        .deploy(Some(OLD), &[("name", "b")], true)
        .await
        .unwrap();
    assert_eq!(bench.asked(), ["delete a old", "create b unknown"]);
    destroy(bench.kind.clone(), cx(), Some(node(OLD)))
        .await
        .unwrap();
    assert_eq!(bench.asked(), ["delete a old"]);
}

#[tokio::test]
async fn update_and_delete_without_state_fail() {
    let bench = Bench::new();
    for spec in [None, Some(MappingNode::default())] {
        let failure = destroy(bench.kind.clone(), cx(), spec).await.unwrap_err();
        assert!(reasons(&failure).contains("sent an empty state"));
    }
    let failure = bench
        .deploy(Some(&[]), &[("name", "a")], false)
        .await
        .unwrap_err();
    assert!(reasons(&failure).contains("sent an empty state"));
    assert!(bench.asked().is_empty());
}

#[tokio::test]
async fn in_place_update_that_needs_replacement_fails() {
    let bench = Bench::new();
    // Set for the first time, not changed: the host does not see that it requires a replacement.
    let spec = [("name", "a"), ("colour", "red")];
    let failure = bench.deploy(Some(OLD), &spec, false).await.unwrap_err();
    let said = reasons(&failure);
    assert!(
        said.starts_with("a change of colour requires a replacement"),
        "{said}"
    );
    assert!(bench.asked().is_empty());
}

#[tokio::test]
async fn partially_created_object_is_removed_or_named() {
    let bench = Bench::new();
    let failure = bench
        .deploy(None, &[("name", "half")], false)
        .await
        .unwrap_err();
    let said = reasons(&failure);
    assert_eq!(
        said,
        "half done; the partly created object (new) was removed"
    );
    assert_eq!(bench.asked(), ["create half unknown", "delete half new"]);
    let stuck = [("name", "half"), ("note", "stuck")];
    let failure = bench.deploy(None, &stuck, false).await.unwrap_err();
    let said = reasons(&failure);
    assert_eq!(
        said,
        "half done; the partly created object (new) was not removed and still exists: it is stuck"
    );
}

#[tokio::test]
async fn object_with_only_an_id_is_imported() {
    let bench = Bench::new();
    let seen = read_object(bench.kind.clone(), cx(), Some(node(&[("id", "i-1")]))).await;
    assert_eq!(bench.asked(), ["read found i-1"]);
    assert!(seen.unwrap().fields.contains_key("name"));
    read_object(bench.kind.clone(), cx(), Some(node(OLD)))
        .await
        .unwrap();
    assert_eq!(bench.asked(), ["read a old"]);
}

#[tokio::test]
async fn object_that_does_not_exist_is_not_read() {
    let bench = Bench::new();
    let gone = node(&[("name", "a"), ("id", "i"), ("note", "gone")]);
    let seen = read_object(bench.kind.clone(), cx(), Some(gone)).await;
    assert_eq!(seen, Ok(MappingNode::default()));
    assert_eq!(bench.asked(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn unstable_object_is_polled_by_the_host_or_the_sdk() {
    let bench = Bench::new();
    let of = |note: &'static str| [("name", "a"), ("id", "i"), ("note", note)];
    let asked = |note| stable(bench.kind.clone(), cx(), Some(node(&of(note))));
    assert_eq!(asked("").await, Ok(true));
    assert_eq!(asked("restless").await, Ok(false));
    assert!(asked("unwell").await.is_err());
    bench.asked();

    // Protocol 6 has no such call, so the SDK polls until the object is stable.
    let here = async |note, cx: Context| {
        let state = State::new(bench.kind.decode(&node(&of(note))).unwrap());
        crate::calls::wait_until_stable(&*bench.shelf, &cx, state).await
    };
    assert!(here("settling", cx()).await.is_ok());
    assert_eq!(bench.asked(), ["look at a i"; 3]);
    let stopped = cx();
    stopped.stop().cancel();
    for (note, cx, words) in [
        ("restless", cx(), "toy_shelf did not become stable"),
        ("restless", stopped, "stopped before it was stable"),
        ("unwell", cx(), "it is unwell"),
    ] {
        let failure = here(note, cx).await.unwrap_err();
        assert_eq!(failure.diagnostics.0[0].summary, words);
        assert!(failure.partial.is_some(), "it is there");
    }
}
