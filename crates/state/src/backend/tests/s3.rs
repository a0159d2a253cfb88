//! The s3 backend against moto.

use super::super::http_client::{HttpClient, HttpRequest};
use super::parts::Part;
use super::services::moto;
use super::{check_text_beside, info, settings};
use crate::backend::{Backend, Settings};
use crate::{StateError, StateManager};
use cty::Value;
use net::HttpOptions;
use reqwest::{Method, Url};
use statefile::LockInfo;
use std::path::Path;
use std::sync::Arc;

/// Sends a raw request to moto.
async fn ask(moto: &Part, method: Method, path: &str, target: &str, body: &str) -> (u16, String) {
    let url = Url::parse(&format!("http://127.0.0.1:{}{path}", moto.port)).unwrap();
    let mut ask = HttpRequest::new(method, url);
    let mut service = "s3";
    if !target.is_empty() {
        let target = format!("DynamoDB_20120810.{target}").parse().unwrap();
        ask.headers.insert("x-amz-target", target);
        service = "dynamodb";
    }
    // Any credentials; moto does not check them.
    let who = format!(
        "AWS4-HMAC-SHA256 Credential=AKIA/20260101/us-east-1/{service}/aws4_request, SignedHeaders=host, Signature=0"
    );
    ask.headers.insert("authorization", who.parse().unwrap());
    ask.body = body.into();
    let answer = HttpClient::new(HttpOptions::default())
        .send_once(ask)
        .await
        .unwrap();
    (
        answer.status,
        String::from_utf8_lossy(&answer.body).into_owned(),
    )
}

/// Settings for a new bucket and table.
async fn said(moto: &Part, bucket: &str, more: &[(&str, &str)]) -> Settings {
    ask(moto, Method::PUT, &format!("/{bucket}"), "", "").await;
    let table = format!(
        r#"{{"TableName":"{bucket}","KeySchema":[{{"AttributeName":"LockID","KeyType":"HASH"}}],"AttributeDefinitions":[{{"AttributeName":"LockID","AttributeType":"S"}}],"BillingMode":"PAY_PER_REQUEST"}}"#
    );
    ask(moto, Method::POST, "/", "CreateTable", &table).await;
    let endpoint = format!("http://127.0.0.1:{}", moto.port);
    let all = [
        ("bucket", bucket),
        ("key", "a/b c.tfstate"),
        ("region", "us-east-1"),
        ("access_key", "AKIA"),
        ("secret_key", "s"),
        ("endpoint", endpoint.as_str()),
        ("dynamodb_endpoint", endpoint.as_str()),
        ("sts_endpoint", endpoint.as_str()),
    ];
    settings("s3", &[&all, more].concat())
}

fn open(settings: &Settings) -> Arc<dyn Backend> {
    settings.open_with(Path::new("."), &|_| None).unwrap()
}

fn home(settings: &Settings) -> Arc<dyn StateManager> {
    open(settings).state_manager("").unwrap()
}

fn words<T: std::fmt::Debug>(result: Result<T, StateError>) -> String {
    result.unwrap_err().to_string()
}

#[tokio::test]
async fn s3_state_and_its_lock_are_objects() {
    let Some(moto) = moto() else { return };
    let settings = said(&moto, "by-object", &[("use_lockfile", "true")]).await;
    let ours = home(&settings);
    assert_eq!(ours.place(), "s3://by-object/a/b c.tfstate");
    ours.lock(info("1")).await.unwrap();
    let (code, word) = ask(
        &moto,
        Method::GET,
        "/by-object/a/b%20c.tfstate.tflock",
        "",
        "",
    )
    .await;
    assert_eq!(code, 200);
    let word = LockInfo::read(word.as_bytes()).unwrap();
    assert_eq!(word.path, "by-object/a/b c.tfstate");
    let other = home(&settings);
    let refused = words(other.lock(info("2")).await);
    assert!(refused.contains("is locked by me@here"), "{refused}");
    assert!(ours.read().await.unwrap().is_empty());
    ours.write("{}\n".into()).await.unwrap();
    assert_eq!(ours.read().await.unwrap(), b"{}\n");
    ours.unlock().await.unwrap();
    other.lock(info("2")).await.unwrap();
    let refused = words(home(&settings).force_unlock("3").await);
    assert!(refused.contains("has the id 2"), "{refused}");
    home(&settings).force_unlock("2").await.unwrap();
    // The lock was removed: its former owner gets an error.
    let refused = words(other.unlock().await);
    assert!(refused.contains("not locked"), "{refused}");
    ours.delete().await.unwrap();
    assert!(ours.read().await.unwrap().is_empty());
}

#[tokio::test]
async fn s3_lock_and_digest_are_items_of_the_dynamodb_table() {
    let Some(moto) = moto() else { return };
    let settings = said(
        &moto,
        "by-item",
        &[("use_lockfile", "true"), ("dynamodb_table", "by-item")],
    )
    .await;
    let ours = home(&settings);
    ours.lock(info("1")).await.unwrap();
    let refused = words(home(&settings).lock(info("2")).await);
    assert!(refused.contains("lock 1"), "{refused}");
    ours.write("{}\n".into()).await.unwrap();
    let key = r#"{"TableName":"by-item","Key":{"LockID":{"S":"by-item/a/b c.tfstate-md5"}}}"#;
    let (_, item) = ask(&moto, Method::POST, "/", "GetItem", key).await;
    assert!(item.contains("8a80554c91d9fca8acb82f023de02f11"), "{item}");
    assert_eq!(ours.read().await.unwrap(), b"{}\n");
    ours.unlock().await.unwrap();
    let alone = said(&moto, "by-item", &[("dynamodb_table", "by-item")]).await;
    home(&alone).lock(info("3")).await.unwrap();
    // The object's lock is released if the item is taken.
    assert!(words(ours.lock(info("4")).await).contains("lock 3"));
    let (code, _) = ask(
        &moto,
        Method::GET,
        "/by-item/a/b%20c.tfstate.tflock",
        "",
        "",
    )
    .await;
    assert_eq!(code, 404);
    home(&alone).force_unlock("3").await.unwrap();
    ours.lock(info("5")).await.unwrap();
    ours.unlock().await.unwrap();
    // A program that does not use digests wrote another state.
    ask(&moto, Method::PUT, "/by-item/a/b%20c.tfstate", "", "{ }").await;
    let refused = words(ours.read().await);
    assert!(
        refused.contains("does not have the expected content: its MD5 is"),
        "{refused}"
    );
}

#[tokio::test]
async fn s3_workspaces_are_objects_under_a_prefix() {
    let Some(moto) = moto() else { return };
    for (bucket, prefix, key) in [
        ("spaces", None, "/spaces/env%3A/dev/a/b%20c.tfstate"),
        ("spaces-p", Some("p/q"), "/spaces-p/p/q/dev/a/b%20c.tfstate"),
    ] {
        let prefix = prefix.map(|p| ("workspace_key_prefix", p));
        let more: Vec<_> = prefix
            .into_iter()
            .chain([("use_lockfile", "true")])
            .collect();
        let settings = said(&moto, bucket, &more).await;
        let backend = open(&settings);
        assert!(backend.workspaces().await.unwrap().is_empty());
        for name in ["prod", "dev"] {
            backend.create(name, info("1")).await.unwrap();
        }
        backend
            .state_manager("")
            .unwrap()
            .write("{}".into())
            .await
            .unwrap();
        assert_eq!(backend.workspaces().await.unwrap(), ["dev", "prod"]);
        let (code, text) = ask(&moto, Method::GET, key, "", "").await;
        assert_eq!(code, 200, "{bucket}");
        assert!(text.contains("\"serial\":1,") && text.contains("\"resources\":[]"));
        check_text_beside(&*backend, "2").await;
    }
}

#[tokio::test]
async fn s3_reports_a_missing_bucket_and_a_disallowed_account() {
    let Some(moto) = moto() else { return };
    let settings = said(&moto, "there", &[]).await;
    let mut other = settings.clone();
    other.set("bucket", &Value::string("elsewhere")).unwrap();
    let refused = words(home(&other).read().await);
    assert!(
        refused.contains("the S3 bucket elsewhere does not exist"),
        "{refused}"
    );
    let mut other = settings.clone();
    let accounts = Value::list(cty::Type::String, vec![Value::string("999999999999")]);
    other.set("allowed_account_ids", &accounts).unwrap();
    let refused = words(home(&other).read().await);
    assert!(refused.contains("to the account 123456789012"), "{refused}");
}

#[tokio::test]
async fn s3_credentials_come_from_environment_profiles_and_roles() {
    let Some(moto) = moto() else { return };
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("config");
    std::fs::write(
        &file,
        "[profile base]\naws_access_key_id = A\naws_secret_access_key = B\n[profile role]\nrole_arn = arn:aws:iam::123456789012:role/r\nsource_profile = base\n[profile program]\ncredential_process = printf '{\"Version\":1,\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"B\"}'\n[profile sso]\nsso_start_url = https://x\n",
    )
    .unwrap();
    let mut settings = said(&moto, "who", &[("skip_metadata_api_check", "true")]).await;
    for name in ["access_key", "secret_key"] {
        settings.set(name, &Value::null(cty::Type::String)).unwrap();
    }
    let file = file.display().to_string();
    let with = |more: &[(&str, &str)], variables: &[(&str, &str)]| {
        let mut settings = settings.clone();
        for (name, value) in more {
            settings.set(name, &Value::string(value)).unwrap();
        }
        let all: Vec<(String, String)> = variables
            .iter()
            .chain(&[("AWS_SHARED_CONFIG_FILE", file.as_str())])
            .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()))
            .collect();
        let variables = move |name: &str| {
            let found = all.iter().find(|(n, _)| n == name);
            found.map(|(_, value)| value.clone())
        };
        let backend = settings.open_with(Path::new("."), &variables).unwrap();
        backend.state_manager("").unwrap()
    };
    let keys = [("AWS_ACCESS_KEY_ID", "A"), ("AWS_SECRET_ACCESS_KEY", "B")];
    assert!(with(&[], &keys).read().await.unwrap().is_empty());
    for profile in ["base", "role", "program"] {
        let by_argument = with(&[("profile", profile)], &[]).read().await;
        assert!(by_argument.unwrap().is_empty(), "{profile}");
        let by_variable = with(&[], &[("AWS_PROFILE", profile)]).read().await;
        assert!(by_variable.unwrap().is_empty(), "{profile}");
    }
    let role = ("role_arn", "arn:aws:iam::123456789012:role/x");
    assert!(with(&[role], &keys).read().await.unwrap().is_empty());
    for (more, word) in [
        (&[("profile", "sso")][..], "uses SSO"),
        (&[("profile", "nobody")], "the profile \"nobody\" is not in"),
        (&[], "no AWS credentials found"),
    ] {
        let refused = words(with(more, &[]).read().await);
        assert!(refused.contains(word), "{refused}");
    }
}

#[test]
fn s3_names_missing_arguments() {
    for (arguments, word) in [
        (&[][..], "AWS_REGION"),
        (&[("region", "x")], "\"key\""),
        (&[("region", "x"), ("key", "/a")], "slash"),
        (&[("region", "x"), ("key", "a")], "\"bucket\""),
        (
            &[
                ("region", "x"),
                ("key", "a"),
                ("bucket", "b"),
                ("kms_key_id", "k"),
                ("sse_customer_key", "k"),
            ],
            "cannot be used together",
        ),
    ] {
        let opened = settings("s3", arguments).open_with(Path::new("."), &|_| None);
        let said = opened.err().map(|e| e.to_string()).unwrap_or_default();
        assert!(said.contains(word), "{arguments:?}: {said}");
    }
}

#[tokio::test]
async fn s3_connection_error_reports_the_number_of_attempts() {
    let nobody = {
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}", port.local_addr().unwrap())
    };
    for (most, words_of_it) in [("1", ", after 1 attempt"), ("2", ", after 2 attempts")] {
        let settings = settings(
            "s3",
            &[
                ("bucket", "b"),
                ("key", "a"),
                ("region", "us-east-1"),
                ("access_key", "AKIA"),
                ("secret_key", "s"),
                ("endpoint", &nobody),
                ("max_retries", most),
            ],
        );
        let refused = words(home(&settings).read().await);
        assert!(refused.ends_with(words_of_it), "{refused}");
    }
}
