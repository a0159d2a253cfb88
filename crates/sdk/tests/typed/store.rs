//! Provider of the tests of the typed layer: servers in a map, with every kind of field, and
//! failures that a test asks for.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sdk::{
    Computed, Context, Diagnostic, Failure, Lifecycle, Model, MovedState, Resource, Result,
    TypedProvider, Updatable, Update, Upgrader, Value, async_trait,
};

/// Servers by id, and what the next calls do.
#[derive(Default)]
pub struct Cloud {
    pub servers: Mutex<BTreeMap<String, Server>>,
    /// Step of an update or create that fails.
    pub fails: Mutex<Option<&'static str>>,
    /// Names of the calls.
    pub calls: Mutex<Vec<&'static str>>,
    /// Secret of the last create.
    pub secret: Mutex<Option<String>>,
}

impl Cloud {
    fn called(&self, name: &'static str) {
        self.calls.lock().unwrap().push(name);
    }

    fn step(&self, name: &'static str) -> Result<()> {
        match *self.fails.lock().unwrap() {
            Some(failing) if failing == name => Err(Failure::new(format!("{name} failed"), "")),
            _ => Ok(()),
        }
    }
}

/// Network card of a server.
#[derive(Clone, Model, PartialEq, Debug)]
pub struct Network {
    /// Name of the network.
    name: String,
    /// Port of the switch.
    #[attr(default = 1)]
    port: i64,
    /// Address in the network.
    address: Computed<String>,
}

/// Disk of a server.
#[derive(Clone, Model, PartialEq, Debug)]
pub struct Disk {
    /// Size in GB.
    size: f64,
}

/// Server of the cloud.
#[derive(Clone, Resource, Debug)]
#[resource(
    name = "cloud_server",
    version = 2,
    timeouts(create = "1m", update = "1m")
)]
pub struct Server {
    /// Name.
    #[attr(check = short)]
    pub name: String,
    /// Zone.
    #[attr(replaces, one_of = ["a", "b"], default = "a")]
    pub zone: String,
    /// Tags.
    pub tags: Option<BTreeMap<String, String>>,
    /// Groups.
    pub groups: Option<BTreeSet<String>>,
    /// Network card.
    pub network: Option<Network>,
    /// Disks.
    #[attr(block)]
    pub disk: Vec<Disk>,
    /// Password, never stored.
    #[attr(write_only)]
    pub secret: Option<String>,
    /// Kind of machine.
    #[attr(optional)]
    pub r#type: Computed<String>,
    /// Free text.
    #[attr(sensitive, deprecated = "use tags")]
    pub note: Option<String>,
    /// Id.
    #[attr(stable, identity)]
    pub id: Computed<String>,
    /// Address; a stopped server has none.
    pub address: Computed<Option<String>>,
}

fn short(name: &str) -> std::result::Result<(), String> {
    match name.len() {
        0..10 => Ok(()),
        _ => Err("must have less than 10 characters".to_owned()),
    }
}

fn complete(server: &mut Server) {
    server.r#type.fill("small");
    server.id.fill(format!("id-{}", server.name));
    server.address.set(None);
    if let Some(network) = &mut server.network {
        network.address.fill("10.0.0.1");
    }
    server.secret = None;
}

#[async_trait]
impl Lifecycle for Server {
    type Client = Arc<Cloud>;

    async fn create(cx: &Context, cloud: &Arc<Cloud>, mut server: Server) -> Result<Server> {
        cloud.called("create");
        *cloud.secret.lock().unwrap() = server.secret.take();
        complete(&mut server);
        if let Err(failure) = cloud.step("create") {
            return Err(failure.with_object(&server));
        }
        if cloud.step("wait").is_err() {
            cx.stop().cancelled().await;
            return Err(Failure::new("stopped", "").with_object(&server));
        }
        let id = server.id.as_str().to_owned();
        cloud.servers.lock().unwrap().insert(id, server.clone());
        Ok(server)
    }

    async fn exists(_: &Context, cloud: &Arc<Cloud>, server: &Server) -> Result<bool> {
        cloud.called("exists");
        Ok(cloud
            .servers
            .lock()
            .unwrap()
            .contains_key(server.id.as_str()))
    }

    async fn read(_: &Context, cloud: &Arc<Cloud>, server: Server) -> Result<Option<Server>> {
        cloud.called("read");
        Ok(cloud
            .servers
            .lock()
            .unwrap()
            .get(server.id.as_str())
            .cloned())
    }

    async fn delete(_: &Context, cloud: &Arc<Cloud>, server: Server) -> Result<()> {
        cloud.called("delete");
        cloud.servers.lock().unwrap().remove(server.id.as_str());
        Ok(())
    }

    async fn import(_: &Context, cloud: &Arc<Cloud>, id: &str) -> Result<Option<Server>> {
        Ok(cloud.servers.lock().unwrap().get(id).cloned())
    }

    fn validate(config: &Value) -> sdk::Diagnostics {
        let mut said = sdk::Diagnostics::new();
        if config
            .get_attr("name")
            .is_some_and(|name| name.as_str() == Some("root"))
        {
            said.push(Diagnostic::error("root is reserved", "").at_attr("name"));
        }
        said
    }

    fn move_state(from: &MovedState) -> Result<Option<serde_json::Value>> {
        match from.type_name.as_str() {
            "cloud_vm" => Ok(Some(serde_json::json!({
                "name": from.state["title"], "id": from.state["id"],
            }))),
            _ => Ok(None),
        }
    }

    fn upgraders() -> Vec<Upgrader> {
        vec![
            Upgrader::new(0, |mut state| {
                state["name"] = state["title"].take();
                Ok(state)
            }),
            Upgrader::new(1, |mut state| {
                state["tags"] = serde_json::json!({"from": state["name"]});
                Ok(state)
            }),
        ]
    }
}

#[async_trait]
impl Updatable for Server {
    async fn update(
        cx: &Context,
        cloud: &Arc<Cloud>,
        change: &mut Update<Server>,
    ) -> Result<Server> {
        cloud.called("update");
        assert!(cx.time_left().unwrap() <= Duration::from_secs(60));
        let id = change.prior.id.as_str().to_owned();
        let mut stored = change.prior.clone();
        cloud.step("tags")?;
        stored.tags = change.planned.tags.clone();
        cloud.servers.lock().unwrap().insert(id.clone(), stored);
        change.commit("tags")?;
        if change.changes("network") {
            cloud.step("network")?;
            change.commit("network")?;
        }
        cloud.step("name")?;
        complete(&mut change.planned);
        cloud
            .servers
            .lock()
            .unwrap()
            .insert(id, change.planned.clone());
        Ok(change.planned.clone())
    }
}

/// Configuration of the cloud.
#[derive(Model)]
pub struct Config {
    /// Name of the region.
    pub region: String,
}

/// Returns a provider of the cloud.
pub fn provider(cloud: &Arc<Cloud>) -> TypedProvider<Arc<Cloud>> {
    let cloud = cloud.clone();
    TypedProvider::new("cloud", move |_, config: Config| {
        let cloud = cloud.clone();
        async move {
            match config.region.as_str() {
                "moon" => Err(Diagnostic::error("no such region", "")
                    .at_attr("region")
                    .into()),
                _ => Ok(cloud),
            }
        }
    })
    .resource::<Server>()
}
