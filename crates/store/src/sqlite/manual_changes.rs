//! Manual changes of the state. One transaction has the edits, a record of their author, and the
//! settlement of unknown outcomes.

use super::deploys::{record_settled, settle_intents};
use super::file::Sqlite;
use super::stages::{json, parse};
use crate::Edits;
use crate::error::StoreError;
use crate::records::{Settlement, StateEdit};
use async_trait::async_trait;
use model::StateChange;

/// Maximum number of stored records.
const MAX_RECORDS: i64 = 10_000;

#[async_trait]
impl Edits for Sqlite {
    async fn apply_manual_edits(
        &self,
        edits: Vec<StateEdit>,
        settled: Settlement,
        changes: Vec<StateChange>,
    ) -> Result<Vec<StateChange>, StoreError> {
        self.write("the state", move |conn| {
            // Edit, settlement and history are one transaction, so none can exist without the
            // others.
            let serial = super::state::edit(conn, &edits)?;
            settle_intents(conn, &settled.intents, &settled.description)?;
            if settled.done {
                record_settled(conn, &settled.intents)?;
            }
            let changes: Vec<StateChange> = changes
                .into_iter()
                .map(|c| StateChange { serial, ..c })
                .collect();
            for change in &changes {
                conn.prepare_cached("INSERT INTO state_change (at, data) VALUES (?1, ?2)")?
                    .execute((change.at, json("a change of the state", change)?))?;
            }
            conn.execute(
                "DELETE FROM state_change WHERE id <= (SELECT max(id) FROM state_change) - ?1",
                [MAX_RECORDS],
            )?;
            Ok(changes)
        })
        .await
    }

    async fn state_changes(&self, limit: u32) -> Result<Vec<StateChange>, StoreError> {
        // SQLite treats a negative limit as no limit.
        let limit = if limit == 0 { -1 } else { i64::from(limit) };
        self.read(move |conn| {
            let mut query =
                conn.prepare_cached("SELECT data FROM state_change ORDER BY id DESC LIMIT ?1")?;
            let rows = query.query_map([limit], |r| r.get::<_, String>(0))?;
            rows.map(|text| parse("a change of the state", &text?))
                .collect()
        })
        .await
    }
}
