//! Locks and state digests in a DynamoDB table.

use super::error::S3Error;
use super::service::{Refusal, Service};
use reqwest::Method;
use serde_json::{Value as Json, json};

/// Table with the partition key `LockID`.
pub(super) struct Table<'a> {
    pub(super) name: &'a str,
    pub(super) service: &'a Service,
}

/// Result of a conditional put.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Put {
    Done,
    Exists,
}

impl Table<'_> {
    fn error(&self, why: impl Into<S3Error>) -> S3Error {
        S3Error::Table {
            name: self.name.to_owned(),
            source: Box::new(why.into()),
        }
    }

    async fn request(
        &self,
        action: &str,
        mut body: Json,
    ) -> Result<Result<Json, Refusal>, S3Error> {
        body["TableName"] = self.name.into();
        let headers = [
            ("content-type", "application/x-amz-json-1.0".to_owned()),
            ("x-amz-target", format!("DynamoDB_20120810.{action}")),
        ];
        let mut url = self.service.endpoint.clone();
        // The signed path must not be empty.
        if url.path().is_empty() {
            url.set_path("/");
        }
        let body = body.to_string().into_bytes();
        let answer = self
            .service
            .send(Method::POST, url, &headers, body)
            .await
            .map_err(|why| self.error(why))?;
        let said: Json = serde_json::from_slice(&answer.body).unwrap_or_default();
        if answer.is_success() {
            return Ok(Ok(said));
        }
        let text = |name: &str| said[name].as_str().unwrap_or_default().to_owned();
        // The type has the form `NAMESPACE#CODE`.
        let kind = text("__type");
        Ok(Err(Refusal {
            status: answer.status,
            code: kind.rsplit('#').next().unwrap_or_default().to_owned(),
            message: if text("message").is_empty() {
                text("Message")
            } else {
                text("message")
            },
        }))
    }

    async fn done(&self, action: &str, body: Json) -> Result<Json, S3Error> {
        let answer = self.request(action, body).await?;
        answer.map_err(|refusal| self.error(refusal))
    }

    /// Creates a lock item unless there is one.
    pub(super) async fn put_lock(&self, id: &str, info: &str) -> Result<Put, S3Error> {
        let body = json!({
            "Item": {"LockID": {"S": id}, "Info": {"S": info}},
            "ConditionExpression": "attribute_not_exists(LockID)",
        });
        match self.request("PutItem", body).await? {
            Ok(_) => Ok(Put::Done),
            Err(refusal) if refusal.code == "ConditionalCheckFailedException" => Ok(Put::Exists),
            Err(refusal) => Err(self.error(refusal)),
        }
    }

    /// Reads an attribute of an item; `None` if it is missing.
    pub(super) async fn get(&self, id: &str, name: &str) -> Result<Option<String>, S3Error> {
        let body = json!({
            "Key": {"LockID": {"S": id}},
            "ProjectionExpression": format!("LockID, {name}"),
            "ConsistentRead": true,
        });
        let found = self.done("GetItem", body).await?;
        Ok(found["Item"][name]["S"].as_str().map(str::to_owned))
    }

    pub(super) async fn put_digest(&self, id: &str, digest: &str) -> Result<(), S3Error> {
        let body = json!({"Item": {"LockID": {"S": id}, "Digest": {"S": digest}}});
        self.done("PutItem", body).await.map(drop)
    }

    /// Removes a lock item if its info is still the same.
    pub(super) async fn remove_lock(&self, id: &str, info: &str) -> Result<(), S3Error> {
        // Conditional, because another owner may have taken the lock since it was read.
        let body = json!({
            "Key": {"LockID": {"S": id}},
            "ConditionExpression": "Info = :info",
            "ExpressionAttributeValues": {":info": {"S": info}},
        });
        self.done("DeleteItem", body).await.map(drop)
    }

    pub(super) async fn remove(&self, id: &str) -> Result<(), S3Error> {
        let body = json!({"Key": {"LockID": {"S": id}}});
        self.done("DeleteItem", body).await.map(drop)
    }
}
