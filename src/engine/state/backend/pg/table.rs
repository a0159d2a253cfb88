//! The table with the states, and a connection to its database.

use super::connect::Reach;
use super::error::PgError;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio_postgres::Client;

/// For an answer.
const ANSWER: Duration = Duration::from_secs(120);

pub(super) struct Table {
    pub(super) reach: Reach,
    pub(super) schema: String,
    pub(super) table: String,
    pub(super) index: String,
    /// What is made where it is missing: schema, table, index.
    pub(super) makes: [bool; 3],
}

/// The connection, and what is held by it.
pub(super) struct Session {
    pub(super) client: Client,
    /// Moves the bytes; ends with this.
    pub(super) driver: JoinSet<()>,
    pub(super) held: Option<i64>,
}

/// A name as a statement has it.
fn named(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// An answer within its time.
pub(super) async fn answer<T>(
    asked: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<T, PgError> {
    match tokio::time::timeout(ANSWER, asked).await {
        Ok(answer) => Ok(answer?),
        Err(_) => Err(PgError::NoAnswer(ANSWER.as_secs())),
    }
}

impl Table {
    /// As statements name it.
    pub(super) fn whole(&self) -> String {
        format!("{}.{}", named(&self.schema), named(&self.table))
    }

    /// The lock that is taken where there is no row yet: FNV-1 of both names, below zero, where no
    /// row's number is.
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
            // Whoever waits for an answer is told why there is none.
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

    /// Makes what is missing.
    async fn make(&self, client: &Client) -> Result<(), PgError> {
        let [schema, table, index] = self.makes;
        let whole = self.whole();
        if schema {
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
