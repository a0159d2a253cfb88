//! Selections that were saved under a name.

use super::file::Sqlite;
use super::stages::{json, parse};
use crate::SavedSelections;
use crate::error::StoreError;
use async_trait::async_trait;
use model::SavedSelection;

#[async_trait]
impl SavedSelections for Sqlite {
    async fn saved_selections(&self) -> Result<Vec<SavedSelection>, StoreError> {
        self.read(|conn| {
            let mut query = conn
                .prepare_cached("SELECT name, at, addresses FROM saved_selection ORDER BY name")?;
            let rows =
                query.query_map([], |r| Ok((r.get(0)?, r.get(1)?, r.get::<_, String>(2)?)))?;
            rows.map(|row| {
                let (name, at, addresses) = row?;
                let addresses = parse("a saved selection", &addresses)?;
                Ok(SavedSelection {
                    name,
                    at,
                    addresses,
                })
            })
            .collect()
        })
        .await
    }

    async fn save_selection(&self, selection: SavedSelection) -> Result<(), StoreError> {
        self.write("a saved selection", move |conn| {
            conn.prepare_cached(
                "INSERT OR REPLACE INTO saved_selection (name, at, addresses) VALUES (?1, ?2, ?3)",
            )?
            .execute((
                &selection.name,
                selection.at,
                json("a saved selection", &selection.addresses)?,
            ))?;
            Ok(())
        })
        .await
    }

    async fn delete_selection(&self, name: &str) -> Result<bool, StoreError> {
        let name = name.to_owned();
        self.write("a saved selection", move |conn| {
            let deleted = conn.execute("DELETE FROM saved_selection WHERE name = ?1", [name])?;
            Ok(deleted > 0)
        })
        .await
    }
}
