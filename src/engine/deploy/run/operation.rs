//! Running operation: its start, its intent and its failure, in the order of the scheduler.

use super::deploying::Deploying;
use super::operation_error::OperationError;
use super::scheduler::OperationTurn;
use crate::stage::change::Change;
use cty::Value;
use graph::Step;
use model::{Activity, OperationStep};

/// Step of a deploy that applies or destroys the object of a change, with its turn.
pub(super) struct RunningOperation<'d> {
    pub(super) deploy: &'d Deploying,
    pub(super) change: &'d Change,
    /// Index of the change in the stage.
    pub(super) index: usize,
    step: Step,
    doing: Activity,
    pub(super) turn: OperationTurn,
}

impl<'d> RunningOperation<'d> {
    /// Starts an operation that has its turn; one that plans ahead still waits for display.
    pub(super) fn start(
        deploy: &'d Deploying,
        index: usize,
        step: Step,
        doing: Activity,
        turn: OperationTurn,
    ) -> Self {
        let operation = Self {
            deploy,
            change: &deploy.selection.stage.changes[index],
            index,
            step,
            doing,
            turn,
        };
        if !operation.turn.is_ahead() {
            operation.report_start();
        }
        operation
    }

    fn report_start(&self) {
        let id = self.change.id();
        self.deploy.recorder.step_started(&id, self.doing);
    }

    /// Records a failed operation, and its start if it was ahead.
    pub(super) async fn fail(&self, trouble: OperationError) {
        if self.turn.is_ahead() {
            self.report_start();
        }
        self.deploy.fail(self.change, trouble).await;
    }

    /// Waits for the full turn of an operation that is ahead, which then starts.
    pub(super) async fn wait_for_turn(&mut self) -> Result<(), Box<OperationError>> {
        if self.turn.upgrade().await {
            self.report_start();
        }
        // The deploy may have been cancelled meanwhile; a call that was not sent must not be sent
        // then.
        match self.deploy.scheduler.may_start(self.step) {
            true => Ok(()),
            false => Err(Box::new(OperationError::NotStarted)),
        }
    }

    /// Commits the intent of a step. When this returns, the operation has its turn and may send the
    /// call. If it must not start any more, the intent is removed.
    pub(super) async fn record_intent(
        &mut self,
        deposed: &str,
        step: OperationStep,
        object: &Value,
    ) -> Result<(), Box<OperationError>> {
        let (deploy, change) = (self.deploy, self.change);
        let written = deploy
            .recorder
            .record_intent(change, deposed, step.clone(), object);
        // While this one waits for the disk, another operation may plan.
        let written = self.turn.while_writing(written).await;
        written.map_err(|e| deploy.store_failure(e))?;
        if self.turn.is_ahead()
            && let Err(trouble) = self.wait_for_turn().await
        {
            // No call was sent, so the intent must not remain as an unknown outcome.
            let taken_back = deploy.recorder.remove_intent(change, &step).await;
            return Err(match taken_back {
                Ok(()) => trouble,
                Err(e) => deploy.store_failure(e),
            });
        }
        self.turn.calls();
        Ok(())
    }
}
