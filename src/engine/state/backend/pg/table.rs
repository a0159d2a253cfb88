//! Table of states, and connections to its database.

use super::connect::Reach;
use super::error::PgError;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio_postgres::Client;

/// Time limit of an answer.
const ANSWER: Duration = Duration::from_secs(120);

pub(super) struct Table {
    pub(super) reach: Reach,
    pub(super) schema: String,
    pub(super) table: String,
    pub(super) index: String,
    /// Create if missing: schema, table, index.
    pub(super) makes: [bool; 3],
}

/// A connection, and the advisory lock that it holds.
pub(super) struct Session {
    pub(super) client: Client,
    /// Task that drives the connection; aborted with this session.
    pub(super) driver: JoinSet<()>,
    pub(super) held: Option<i64>,
}

/// Quotes an identifier.
fn named(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Waits for an answer, up to the time limit.
pub(super) async fn answer<T>(
    asked: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<T, PgError> {
    match tokio::time::timeout(ANSWER, asked).await {
        Ok(answer) => Ok(answer?),
        Err(_) => Err(PgError::NoAnswer(ANSWER.as_secs())),
    }
}

impl Table {
    /// Qualified and quoted name of the table.
    pub(super) fn whole(&self) -> String {
        format!("{}.{}", named(&self.schema), named(&self.table))
    }

    /// Key of the lock for a state without a row: negative FNV-1 of both names. Ids of rows are
    /// positive, so the two never collide.
    pub(super) fn creation(&self) -> i64 {
        let text = format!("{}\0{}", self.schema, self.table);
        let hash = text.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
            hash.wrapping_mul(0x0100_0193) ^ u32::from(byte)
        });
        -i64::from(hash)
    }

    pub(super) fn place(&self, name: &str) -> String {
        let (place, schema, table) = (self.reach.place(), &self.schema, &self.table);
        format!("{place} ({schema}.{table}, {name})")
    }

    pub(super) async fn connect(&self) -> Result<Session, PgError> {
        let config = self.reach.config()?;
        let connected = answer(config.connect(self.reach.tls()?)).await;
        let (client, connection) = connected?;
        let mut driver = JoinSet::new();
        driver.spawn(async move {
            // The client reports the error to each waiting request.
            drop(connection.await);
        });
        let session = Session {
            client,
            driver,
            held: None,
        };
        self.make(&session.client).await?;
        Ok(session)
    }

    /// Creates the missing parts.
    async fn make(&self, client: &Client) -> Result<(), PgError> {
        let [schema, table, index] = self.makes;
        let whole = self.whole();
        if schema {
            // Looked up first: CREATE SCHEMA needs a privilege even if the schema exists.
            let look = "SELECT 1 FROM information_schema.schemata WHERE schema_name = $1";
            let found = answer(client.query_opt(look, &[&self.schema])).await?;
            if found.is_none() {
                let make = format!("CREATE SCHEMA IF NOT EXISTS {}", named(&self.schema));
                answer(client.batch_execute(&make)).await?;
            }
        }
        if table {
            let make = format!(
                "CREATE SEQUENCE IF NOT EXISTS public.global_states_id_seq AS bigint; CREATE TABLE IF NOT EXISTS {whole} (id bigint NOT NULL DEFAULT nextval('public.global_states_id_seq') PRIMARY KEY, name text UNIQUE, data text)"
            );
            answer(client.batch_execute(&make)).await?;
        }
        if index {
            let make = format!(
                "CREATE UNIQUE INDEX IF NOT EXISTS {} ON {whole} (name)",
                named(&self.index)
            );
            answer(client.batch_execute(&make)).await?;
        }
        Ok(())
    }
}
