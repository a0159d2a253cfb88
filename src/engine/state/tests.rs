//! The seam, with a home that is not the store.

use super::*;
use crate::engine::mutex::lock;
use crate::engine::settings::Access;
use crate::engine::store::model::StateEdit;
use crate::engine::store::sensitive::tests::object;
use std::sync::Mutex;

/// A state that lives in memory, and lacks a lock.
#[derive(Default)]
struct Elsewhere(Mutex<State>);

#[async_trait]
impl Home for Elsewhere {
    fn place(&self) -> String {
        "elsewhere".to_owned()
    }

    async fn lock(&self, _: LockHolder) -> Result<Acquired, HomeError> {
        Ok(Acquired { taken_over: None })
    }

    async fn unlock(&self) -> Result<(), HomeError> {
        Ok(())
    }

    async fn break_lock(&self, _: LockHolder) -> Result<Option<LockHolder>, HomeError> {
        Ok(None)
    }

    async fn holder(&self) -> Result<Option<LockHolder>, HomeError> {
        Ok(None)
    }

    async fn read(&self) -> Result<State, HomeError> {
        Ok(lock(&self.0).clone())
    }

    async fn write(&self, copy: &Store) -> Result<(), HomeError> {
        let state = copy.state().await?;
        *lock(&self.0) = state;
        Ok(())
    }
}

#[tokio::test]
async fn what_the_store_has_is_read_from_a_home_elsewhere_once_it_was_brought_there() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), Access::ReadWrite).unwrap();
    let state = StateOfRecord::at(Arc::new(Elsewhere::default()), &store);
    let put = StateEdit::Put(Box::new(object()));
    store.edit_state(vec![put]).await.unwrap();
    assert_eq!(state.read().await.unwrap(), State::default());
    state.bring_home().await.unwrap();
    assert_eq!(state.read().await.unwrap(), store.state().await.unwrap());
    let found = state.object("terraform_data.a").await.unwrap();
    assert_eq!(found, Some(object()));
}

#[tokio::test]
async fn a_state_whose_home_is_the_store_is_there_with_its_outcome() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), Access::ReadWrite).unwrap();
    let state = StateOfRecord::of(&store);
    let put = StateEdit::Put(Box::new(object()));
    store.edit_state(vec![put]).await.unwrap();
    assert_eq!(state.read().await.unwrap().objects, [object()]);
    assert_eq!(state.place(), store.path().display().to_string());
}
