//! Takes and releases the workspace lock for commands.

use super::command::Operations;
use super::error::WorkError;
use crate::engine::error::EngineError;
use crate::engine::lock_owner::this_process;
use crate::engine::model::*;

impl Operations {
    /// Takes the workspace lock; nested uses share it. Reports unknown outcomes of earlier runs.
    pub async fn lock(&self) -> Result<(), EngineError> {
        if self.take_lock().await? {
            self.report_unknown().await?;
        }
        Ok(())
    }

    /// Takes the lock; returns true if this process did not have it.
    pub(super) async fn take_lock(&self) -> Result<bool, EngineError> {
        if !self.settings.access.can_write() {
            return Err(WorkError::ReadOnly.into());
        }
        // Counted, because a console holds the lock while its commands take it again.
        let mut held = self.locks.lock().await;
        let first = *held == 0;
        if first {
            match self.memory.lock(&self.settings.reason).await {
                Ok(taken_over) => {
                    if let Some(text) = taken_over {
                        self.bus.emit(EventKind::Notice { text });
                    }
                    self.bus.emit(EventKind::Lock {
                        holder: Some(this_process(&self.settings.reason)),
                        ours: true,
                    });
                }
                Err(EngineError::Locked(holder)) => {
                    self.bus.emit(EventKind::Lock {
                        holder: Some((*holder).clone()),
                        ours: false,
                    });
                    return Err(EngineError::Locked(holder));
                }
                Err(error) => return Err(error),
            }
        }
        *held += 1;
        Ok(first)
    }

    /// Ends one use of the lock; the last one releases it.
    pub async fn unlock(&self) {
        let mut held = self.locks.lock().await;
        // A shutdown may have released the lock already.
        if *held == 0 {
            return;
        }
        *held -= 1;
        if *held == 0 {
            if let Err(error) = self.memory.unlock().await {
                self.bus.emit(EventKind::Notice {
                    text: format!("failed to release the workspace lock: {error}"),
                });
            }
            self.bus.emit(EventKind::Lock {
                holder: None,
                ours: false,
            });
        }
    }
}
