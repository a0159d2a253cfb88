//! Provider for the tests of the SDK, with one resource whose behaviour depends on its name.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use cty::{Type, Value};
use sdk::schema::{Attr, Block, Nested, Nesting, Schema};
use sdk::{
    Change, Context, DataSource, Deferral, Diagnostic, Diagnostics, Failure, Object, Planned,
    Planning, Provider, Resource, State, Upgrader, async_trait,
};

#[derive(Default)]
pub struct Toy {
    pub stopped: Arc<AtomicBool>,
    pub looks: Arc<AtomicU32>,
}

#[async_trait]
impl Provider for Toy {
    fn name(&self) -> &str {
        "toy"
    }

    fn schema(&self) -> Schema {
        Schema::new().attr(Attr::string("token").required().sensitive())
    }

    fn resources(&self) -> Vec<Arc<dyn Resource>> {
        vec![Arc::new(ToyBox {
            stopped: self.stopped.clone(),
            looks: self.looks.clone(),
        })]
    }

    fn data_sources(&self) -> Vec<Arc<dyn DataSource>> {
        vec![Arc::new(Big)]
    }

    async fn validate(&self, _: &Context, config: &Value) -> Diagnostics {
        match config.get_attr("token").unwrap().as_str() {
            Some("bad") => Diagnostic::error("bad token", "").at_attr("token").into(),
            _ => Diagnostics::new(),
        }
    }

    async fn configure(&self, _: &Context, config: &Value) -> Diagnostics {
        let mut said = Diagnostics::new();
        said.warning(
            "configured",
            config
                .get_attr("token")
                .unwrap()
                .as_str()
                .unwrap_or("unknown"),
        );
        said
    }
}

pub struct ToyBox {
    stopped: Arc<AtomicBool>,
    looks: Arc<AtomicU32>,
}

#[async_trait]
impl Resource for ToyBox {
    fn name(&self) -> &str {
        "toy_box"
    }

    fn schema(&self) -> Schema {
        let lid = Block::new()
            .attr(Attr::string("shape").required())
            .attr(Attr::string("serial").computed().stable())
            .attr(Attr::number("weight").default(Value::int(1)));
        let inner = [
            Attr::string("label").required(),
            Attr::string("mark").computed(),
        ];
        Schema::new()
            .version(2)
            .attr(Attr::string("name").required())
            .attr(Attr::string("colour").replaces().one_of(&["red", "blue"]))
            .attr(Attr::string("size").default("small".into()))
            .attr(Attr::string("origin").optional_computed())
            .attr(Attr::string("secret").write_only())
            .attr(Attr::new("anything", Type::Dynamic))
            .attr(Attr::nested("inner", Nesting::Single, inner))
            .attr(Attr::string("id").computed().stable())
            .attr(Attr::string("etag").computed())
            .block(Nested::new("lid", Nesting::List, lid))
    }

    async fn plan(&self, _: &Context, request: Planning<'_>) -> Result<Planned, Failure> {
        match request.config.get_attr("name").unwrap().as_str() {
            Some("defers") => {
                let failure = Failure::new("the shelf does not exist", "");
                Err(failure.deferred(Deferral::AbsentPrerequisite))
            }
            _ => Ok(request.by_default()),
        }
    }

    async fn create(&self, cx: &Context, change: Change) -> Result<State, Failure> {
        let mut object = Object::of(&change.planned).unwrap();
        let name = object.text("name").unwrap().to_owned();
        object.fill("id", format!("box-{name}"));
        object.fill("origin", "here");
        object.fill("etag", "1");
        let lids = object.get("lid");
        if let Some(elements) = lids.as_slice().filter(|elements| !elements.is_empty()) {
            let finished = elements.iter().map(|lid| {
                let mut lid = Object::of(lid).unwrap();
                lid.fill("serial", "s1");
                lid.into_value().unwrap()
            });
            object.set(
                "lid",
                Value::list(
                    lids.ty().element_type().unwrap().clone(),
                    finished.collect(),
                ),
            );
        }
        object.clear_unknown();
        let finished = state_of(object.clone());
        let state = || finished.clone().with_private(b"made".to_vec());
        match name.as_str() {
            "panics" => panic!("toy panic"),
            "half" => Err(Failure::new("half", "").with_partial(state())),
            "fails" => Err(Failure::new("fails", "")),
            "silent" => Err(Failure {
                diagnostics: Diagnostics::new(),
                partial: None,
                transient: false,
                deferred: None,
            }),
            "forgets" => {
                object.set("etag", Value::unknown(Type::String));
                Ok(state_of(object))
            }
            "warns" => {
                cx.warn("careful", "it is new");
                Ok(state())
            }
            "waits" => {
                cx.stop().cancelled().await;
                self.stopped.store(true, Ordering::SeqCst);
                Err(Failure::new("stopped", ""))
            }
            "tells" => {
                let secret = change
                    .config
                    .get_attr("secret")
                    .unwrap()
                    .as_str()
                    .unwrap()
                    .to_owned();
                cx.warn("told", secret);
                Ok(state())
            }
            _ => Ok(state()),
        }
    }

    async fn read(&self, _: &Context, state: State) -> Result<Option<State>, Failure> {
        match state.value.get_attr("name").unwrap().as_str() {
            Some("gone") => Ok(None),
            Some("unreadable") => Err(Failure::new("unreadable", "")),
            _ => Ok(Some(State::new(state.value))),
        }
    }

    async fn update(&self, _: &Context, change: Change) -> Result<State, Failure> {
        let mut object = Object::of(&change.planned).unwrap();
        object.fill("etag", "2");
        object.fill("origin", "there");
        object.clear_unknown();
        match object.text("size") {
            Some("huge") => Err(Failure::new("too large", "")),
            _ => Ok(State::new(object.into_value().unwrap())),
        }
    }

    async fn is_stable(&self, _: &Context, state: &State) -> Result<bool, Failure> {
        match state.value.get_attr("name").unwrap().as_str() {
            Some("settles") => Ok(self.looks.fetch_add(1, Ordering::SeqCst) > 0),
            Some("unwell") => Err(Failure::new("unwell", "")),
            _ => Ok(true),
        }
    }

    async fn delete(&self, _: &Context, state: State) -> Result<Diagnostics, Failure> {
        match state.value.get_attr("name").unwrap().as_str() {
            Some("stuck") => Err(Failure::new("stuck", "")),
            _ => Ok(Diagnostics::new()),
        }
    }

    async fn import(&self, _: &Context, id: &str) -> Result<State, Failure> {
        sdk::import_by(&self.schema(), "id", id)
    }

    fn upgraders(&self) -> Vec<Upgrader> {
        let title_to_name = |mut state: serde_json::Value| {
            let title = state
                .as_object_mut()
                .and_then(|state| state.remove("title"))
                .unwrap_or_default();
            state["name"] = title;
            state["origin"] = "version 1".into();
            Ok(state)
        };
        vec![Upgrader::new(1, title_to_name)]
    }
}

fn state_of(object: Object) -> State {
    State::new(object.into_value().unwrap())
}

struct Big;

#[async_trait]
impl DataSource for Big {
    fn name(&self) -> &str {
        "toy_big"
    }

    fn schema(&self) -> Schema {
        Schema::new()
            .attr(Attr::number("megabytes").required())
            .attr(Attr::string("text").computed())
    }

    async fn read(&self, _: &Context, config: Value) -> Result<Value, Failure> {
        let mut object = Object::of(&config).unwrap();
        let size = object.int("megabytes").unwrap_or(0) as usize;
        object.set("text", "x".repeat(size << 20));
        Ok(object.into_value().unwrap())
    }
}
