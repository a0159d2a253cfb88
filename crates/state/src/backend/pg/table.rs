//! Table of states, and connections to its database.

use super::connect::ConnectOptions;
use super::error::PgError;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio_postgres::Client;

/// Time limit of an answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(120);

pub(super) struct Table {
    pub(super) connect_options: ConnectOptions,
    pub(super) schema: String,
    pub(super) table: String,
    pub(super) index: String,
    /// Create if missing: schema, table, index.
    pub(super) creates: [bool; 3],
}

/// A connection, and the advisory lock that it holds.
pub(super) struct Session {
    pub(super) client: Client,
    /// Task that drives the connection; aborted with this session.
    pub(super) driver: JoinSet<()>,
    pub(super) held_lock: Option<i64>,
}

/// Quotes an identifier.
fn quote_identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Waits for an answer, up to the time limit.
pub(super) async fn with_timeout<T>(
    asked: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<T, PgError> {
    match tokio::time::timeout(ANSWER_TIMEOUT, asked).await {
        Ok(answer) => Ok(answer?),
        Err(_) => Err(PgError::NoAnswer(ANSWER_TIMEOUT.as_secs())),
    }
}

impl Table {
    /// Qualified and quoted name of the table.
    pub(super) fn qualified_name(&self) -> String {
        format!(
            "{}.{}",
            quote_identifier(&self.schema),
            quote_identifier(&self.table)
        )
    }

    /// Qualified and quoted name of the table with the texts beside the states. Each row of the
    /// table of states is a workspace, so the texts cannot be there.
    pub(super) fn name_beside(&self) -> String {
        format!(
            "{}.{}",
            quote_identifier(&self.schema),
            quote_identifier(&format!("{}_flightdeck", self.table))
        )
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

    pub(super) fn location(&self, name: &str) -> String {
        let (place, schema, table) = (self.connect_options.location(), &self.schema, &self.table);
        format!("{place} ({schema}.{table}, {name})")
    }

    pub(super) async fn connect(&self) -> Result<Session, PgError> {
        let config = self.connect_options.config()?;
        let connected = with_timeout(config.connect(self.connect_options.tls()?)).await;
        let (client, connection) = connected?;
        let mut driver = JoinSet::new();
        driver.spawn(async move {
            // The client reports the error to each waiting request.
            drop(connection.await);
        });
        let session = Session {
            client,
            driver,
            held_lock: None,
        };
        self.create_missing(&session.client).await?;
        Ok(session)
    }

    /// Creates the missing parts.
    async fn create_missing(&self, client: &Client) -> Result<(), PgError> {
        let [schema, table, index] = self.creates;
        let whole = self.qualified_name();
        if schema {
            // Looked up first: CREATE SCHEMA needs a privilege even if the schema exists.
            let look = "SELECT 1 FROM information_schema.schemata WHERE schema_name = $1";
            let found = with_timeout(client.query_opt(look, &[&self.schema])).await?;
            if found.is_none() {
                let make = format!(
                    "CREATE SCHEMA IF NOT EXISTS {}",
                    quote_identifier(&self.schema)
                );
                with_timeout(client.batch_execute(&make)).await?;
            }
        }
        if table {
            let make = format!(
                "CREATE SEQUENCE IF NOT EXISTS public.global_states_id_seq AS bigint; CREATE TABLE IF NOT EXISTS {whole} (id bigint NOT NULL DEFAULT nextval('public.global_states_id_seq') PRIMARY KEY, name text UNIQUE, data text)"
            );
            with_timeout(client.batch_execute(&make)).await?;
        }
        if index {
            let make = format!(
                "CREATE UNIQUE INDEX IF NOT EXISTS {} ON {whole} (name)",
                quote_identifier(&self.index)
            );
            with_timeout(client.batch_execute(&make)).await?;
        }
        Ok(())
    }
}
