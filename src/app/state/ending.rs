//! End of a console, or of its engine, which another one replaces.

/// Reasons for the loop to end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ending {
    pub quit: bool,
    quits_after_deploy: bool,
    /// Workspace that is being opened instead of the current one.
    pub opening_workspace: Option<String>,
    /// The other workspace is open; the loop continues with it.
    pub other_opened: bool,
    /// Reason why no engine is available any more.
    pub engine_failure: Option<String>,
}

impl Ending {
    /// Returns true if the loop ends.
    pub fn is_due(&self) -> bool {
        self.quit || self.other_opened
    }

    /// Quits as soon as no deploy runs.
    pub fn quit_after_deploy(&mut self, is_deploying: bool) {
        self.quit = !is_deploying;
        self.quits_after_deploy = true;
    }

    /// Records the end of a deploy.
    pub fn deploy_ended(&mut self) {
        self.quit |= self.quits_after_deploy;
    }

    /// Records that no other workspace could be opened. If `current` was to be reopened, its engine
    /// has ended already, so the console cannot continue.
    pub fn opening_failed(&mut self, current: &str, why: &str) {
        if self.opening_workspace.take().as_deref() == Some(current) {
            (self.engine_failure, self.quit) = (Some(why.to_owned()), true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn console_quits_after_the_running_deploy_or_at_once() {
        let mut ending = Ending::default();
        ending.deploy_ended();
        assert!(!ending.is_due());
        ending.quit_after_deploy(true);
        assert!(!ending.is_due());
        ending.deploy_ended();
        assert!(ending.is_due());
        let mut idle = Ending::default();
        idle.quit_after_deploy(false);
        assert!(idle.is_due());
    }

    #[test]
    fn console_ends_only_if_its_own_workspace_cannot_be_reopened() {
        for (opening, ends) in [("staging", false), ("default", true)] {
            let mut ending = Ending {
                opening_workspace: Some(opening.to_owned()),
                ..Ending::default()
            };
            ending.opening_failed("default", "the backend is gone");
            assert_eq!((ending.quit, ending.engine_failure.is_some()), (ends, ends));
            assert_eq!(ending.opening_workspace, None);
        }
    }
}
