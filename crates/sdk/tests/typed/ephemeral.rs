//! Test of an ephemeral resource of a typed provider.

use std::sync::{Arc, Mutex};

use sdk::schema::{Attr, Schema};
use sdk::testing::TestProvider;
use sdk::{
    Context, Diagnostics, EphemeralResource, Failure, Object, Opened, Renewed, TypedProvider,
    Value, async_trait,
};
use serde_json::json;

/// Session that records its calls with their private data.
#[derive(Clone, Default)]
struct Session(Arc<Mutex<Vec<String>>>);

impl Session {
    fn called(&self, call: &str, private: &[u8]) {
        let line = format!("{call} {}", String::from_utf8_lossy(private));
        self.0.lock().unwrap().push(line);
    }
}

#[async_trait]
impl EphemeralResource for Session {
    fn name(&self) -> &str {
        "cloud_session"
    }

    fn schema(&self) -> Schema {
        Schema::new()
            .attr(Attr::string("user").required())
            .attr(Attr::string("token").computed().sensitive())
    }

    async fn open(&self, _: &Context, config: Value) -> Result<Opened, Failure> {
        let wrong = |problem| Failure::new("the session is not valid", problem);
        let mut session = Object::of(&config).map_err(wrong)?;
        session.set("token", "t-1");
        Ok(Opened {
            value: session.into_value().map_err(wrong)?,
            private: b"opened".to_vec(),
            renew_at: None,
        })
    }

    async fn renew(&self, _: &Context, private: Vec<u8>) -> Result<Renewed, Failure> {
        self.called("renew", &private);
        Ok(Renewed {
            private: b"renewed".to_vec(),
            renew_at: None,
        })
    }

    async fn close(&self, _: &Context, private: Vec<u8>) -> Result<Diagnostics, Failure> {
        self.called("close", &private);
        Ok(Diagnostics::new())
    }
}

#[tokio::test]
async fn ephemeral_resource_is_opened_renewed_and_closed() {
    let session = Session::default();
    let provider = TypedProvider::new("cloud", |_, _: ()| async { Ok(()) });
    let provider = provider.ephemeral_resource(session.clone());
    let test = TestProvider::over_protocol(provider).await.unwrap();
    let missing = test.open("cloud_session", json!({})).await.unwrap_err();
    assert_eq!(missing.diagnostics.0[0].detail, "user is required");
    let mut open = test
        .open("cloud_session", json!({"user": "me"}))
        .await
        .unwrap();
    assert_eq!(open.result, json!({"token": "t-1", "user": "me"}));
    test.renew(&mut open).await.unwrap();
    test.close(open).await.unwrap();
    assert_eq!(
        *session.0.lock().unwrap(),
        ["renew opened", "close renewed"]
    );
}
