//! Tests of typed ephemeral resources, over the protocol.

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sdk::testing::TestProvider;
use sdk::{
    Computed, Context, Ephemeral, EphemeralResource, Failure, Result, TypedProvider, Value,
    async_trait,
};
use serde_json::json;

/// Calls with their tokens.
type Calls = Arc<Mutex<Vec<String>>>;

/// Session of a user.
#[derive(EphemeralResource)]
#[ephemeral_resource(name = "cloud_session")]
struct Session {
    /// Name of the user.
    user: String,
    /// Rights.
    #[attr(default = "read")]
    rights: String,
    /// Token of the session.
    #[attr(sensitive)]
    token: Computed<String>,
    /// Time of expiry, in seconds since 1970.
    expires: Computed<i64>,
}

#[async_trait]
impl Ephemeral for Session {
    type Client = Calls;

    async fn open(_: &Context, _: &Calls, mut session: Session) -> Result<Session> {
        match session.user.as_str() {
            "nobody" => return Err(Failure::new("nobody has no session", "")),
            "forgetful" => return Ok(session),
            _ => {}
        }
        session.token.set("t-1");
        session.expires.set(1000);
        Ok(session)
    }

    fn renew_at(&self) -> Option<SystemTime> {
        let seconds = u64::try_from(*self.expires.get()?).ok()?;
        Some(UNIX_EPOCH + Duration::from_secs(seconds))
    }

    async fn renew(cx: &Context, calls: &Calls, mut session: Session) -> Result<Session> {
        calls
            .lock()
            .unwrap()
            .push(format!("renew {}", session.token.as_str()));
        cx.warn("the session was renewed", "");
        session.token.set("t-2");
        session.expires.set(2000);
        Ok(session)
    }

    async fn close(_: &Context, calls: &Calls, session: Session) -> Result<()> {
        calls
            .lock()
            .unwrap()
            .push(format!("close {}", session.token.as_str()));
        match session.rights.as_str() {
            "all" => Err(Failure::new("it is in use", "")),
            _ => Ok(()),
        }
    }

    fn validate(config: &Value) -> sdk::Diagnostics {
        let mut said = sdk::Diagnostics::new();
        if config
            .get_attr("user")
            .is_some_and(|user| user.as_str() == Some(""))
        {
            said.error("the user has no name", "");
        }
        said
    }
}

/// Key that needs no renewal and no close.
#[derive(EphemeralResource)]
#[ephemeral_resource(name = "cloud_key")]
struct Key {
    /// Key.
    key: Computed<String>,
}

#[async_trait]
impl Ephemeral for Key {
    type Client = Calls;
    async fn open(_: &Context, _: &Calls, mut key: Key) -> Result<Key> {
        key.key.set("k");
        Ok(key)
    }
}

async fn start(calls: &Calls) -> TestProvider {
    let calls = calls.clone();
    let provider = TypedProvider::new("cloud", move |_, _: ()| {
        let calls = calls.clone();
        async move { Ok(calls) }
    });
    let provider = provider.ephemeral_resource::<Session>();
    let provider = provider.ephemeral_resource::<Key>();
    assert_eq!(sdk::internal_validate(&provider), []);
    let test = TestProvider::over_protocol(provider).await.unwrap();
    test.configure(json!({})).await.unwrap();
    test
}

#[tokio::test]
async fn ephemeral_resource_is_opened_renewed_and_closed_with_its_object() {
    let calls = Calls::default();
    let test = start(&calls).await;
    let mut open = test
        .open("cloud_session", json!({"user": "me"}))
        .await
        .unwrap();
    assert_eq!(open.result["token"], "t-1");
    assert_eq!(open.result["rights"], "read", "the default");
    let at = |seconds| Some(UNIX_EPOCH + Duration::from_secs(seconds));
    assert_eq!(open.renew_at, at(1000));
    let said = test.renew(&mut open).await.unwrap();
    assert_eq!(said.0[0].summary, "the session was renewed");
    assert_eq!(open.renew_at, at(2000));
    assert_eq!(open.result["token"], "t-1", "users keep the first token");
    test.close(open).await.unwrap();
    assert_eq!(*calls.lock().unwrap(), ["renew t-1", "close t-2"]);
}

#[tokio::test]
async fn renewal_and_close_are_optional() {
    let test = start(&Calls::default()).await;
    let mut open = test.open("cloud_key", json!({})).await.unwrap();
    assert_eq!((&open.result, open.renew_at), (&json!({"key": "k"}), None));
    let failed = test.renew(&mut open).await.unwrap_err();
    assert_eq!(
        failed.diagnostics.0[0].summary,
        "cloud_key cannot be renewed"
    );
    test.close(open).await.unwrap();
}

#[tokio::test]
async fn mistakes_of_users_and_of_the_provider_are_errors() {
    let test = start(&Calls::default()).await;
    for (user, summary) in [
        ("", "the user has no name"),
        ("nobody", "nobody has no session"),
        ("forgetful", "the provider returned an unknown value"),
    ] {
        let refused = test.open("cloud_session", json!({"user": user})).await;
        assert_eq!(refused.unwrap_err().diagnostics.0[0].summary, summary);
    }
    let missing = test.open("cloud_session", json!({})).await.unwrap_err();
    assert_eq!(missing.diagnostics.0[0].detail, "user is required");
    let all = json!({"user": "me", "rights": "all"});
    let mut open = test.open("cloud_session", all).await.unwrap();
    let failed = test.close(open.clone()).await.unwrap_err();
    assert_eq!(failed.diagnostics.0[0].summary, "it is in use");
    open.private = b"?".to_vec();
    let failed = test.close(open).await.unwrap_err();
    let problem = "the private data of this cloud_session is not valid";
    assert_eq!(failed.diagnostics.0[0].summary, problem);
}
