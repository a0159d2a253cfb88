//! Operations of a test as a Bluelink host makes them.

use cty::Value;

use super::operations::{Changed, Instance};
use super::start::{Link, TestProvider};
use crate::bluelink::TestHost;
use crate::calls::failure_diagnostics;
use crate::diagnostics::{Diagnostics, Failure};

fn instance(type_name: &str, value: Value) -> Instance {
    Instance {
        type_name: type_name.to_owned(),
        value,
        private: Vec::new(),
        identity: None,
        tainted: false,
    }
}

impl TestProvider {
    /// The host, if this test is one of a Bluelink plugin.
    pub(super) fn bluelink(&self) -> Option<&TestHost> {
        match &self.link {
            Link::Bluelink(host) => Some(host),
            _ => None,
        }
    }
}

/// Validates and deploys a configuration. The host stores nothing of a failed deploy.
pub(super) async fn apply(
    host: &TestHost,
    type_name: &str,
    prior: Option<&Instance>,
    config: Value,
) -> Result<Changed, Failure> {
    host.validate(type_name, &config).await?;
    let before = prior.map(|prior| &prior.value);
    Ok(match host.deploy(type_name, before, config).await {
        Ok(value) => Changed {
            object: Some(instance(type_name, value)),
            diagnostics: Diagnostics::new(),
        },
        Err(failure) => Changed {
            object: prior.cloned(),
            diagnostics: failure_diagnostics(failure),
        },
    })
}

pub(super) async fn destroy(host: &TestHost, object: &Instance) -> Changed {
    match host.destroy(&object.type_name, &object.value).await {
        Ok(()) => Changed {
            object: None,
            diagnostics: Diagnostics::new(),
        },
        Err(failure) => Changed {
            object: Some(object.clone()),
            diagnostics: failure_diagnostics(failure),
        },
    }
}

pub(super) async fn read(host: &TestHost, object: &Instance) -> Result<Option<Instance>, Failure> {
    let found = host.read(&object.type_name, &object.value).await?;
    Ok(found.map(|value| instance(&object.type_name, value)))
}

pub(super) async fn import(
    host: &TestHost,
    type_name: &str,
    id: &str,
) -> Result<Instance, Failure> {
    let found = host.import(type_name, id).await?;
    let found = found.map(|value| instance(type_name, value));
    found.ok_or_else(|| Failure::new("the import found no object", ""))
}
