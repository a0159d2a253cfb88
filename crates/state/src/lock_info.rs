//! Lock info that this process writes into a state lock, and the check whether the process that a
//! lock info names has ended. A lock on a server does not end with its process.

use model::LockHolder;
use model::lock_owner::{LivenessCheck as _, ProcessCheck, this_process};
use statefile::LockInfo;

/// Prefix of the process identity in lock info.
const PROCESS: &str = "process";

/// Name in lock info of an operation that changes neither objects nor the state.
pub const PLAN: &str = "OperationTypePlan";

/// Lock info of this process for `operation`.
pub fn lock_info(operation: &str) -> LockInfo {
    let holder = this_process(operation);
    LockInfo {
        id: uuid::Uuid::new_v4().to_string(),
        operation: operation.to_owned(),
        info: owner_text(&holder),
        who: format!("{}@{}", holder.who, holder.host),
        version: concat!("flightdeck ", env!("CARGO_PKG_VERSION")).to_owned(),
        created: jiff::Timestamp::now().to_string(),
        ..LockInfo::default()
    }
}

/// `process PID START BOOT NAMESPACE`.
fn owner_text(holder: &LockHolder) -> String {
    let LockHolder {
        pid,
        start_time,
        boot_id,
        pid_namespace,
        ..
    } = holder;
    format!("{PROCESS} {pid} {start_time} {boot_id} {pid_namespace}")
}

/// Is the lock owner a flightdeck process of this machine and this boot that has ended? False for
/// every other owner, because its end cannot be verified.
pub(super) fn owner_has_ended(info: &LockInfo) -> bool {
    let parts: Vec<&str> = info.info.split(' ').collect();
    let [PROCESS, pid, start_time, boot_id, pid_namespace] = parts[..] else {
        return false;
    };
    let (Ok(pid), Ok(start_time)) = (pid.parse(), start_time.parse()) else {
        return false;
    };
    let Some((_, host)) = info.who.rsplit_once('@') else {
        return false;
    };
    // Without boot id and namespace, a process cannot be identified.
    if !info.version.starts_with("flightdeck ") || boot_id.is_empty() || pid_namespace.is_empty() {
        return false;
    }
    !ProcessCheck.is_alive(&LockHolder {
        host: host.to_owned(),
        pid,
        start_time,
        boot_id: boot_id.to_owned(),
        pid_namespace: pid_namespace.to_owned(),
        // Host names are not unique. With `leased`, another boot id means another machine, which
        // cannot be checked.
        leased: true,
        ..this_process("")
    })
}

/// Locks of processes whose records a store has.
#[derive(Default)]
pub(super) struct RecordedLocks {
    /// Former owners of the workspace lock, which ended without releasing it.
    pub(super) owners: Vec<LockHolder>,
    /// Id of the last state lock, which may be left although the workspace lock was released.
    pub(super) id: String,
}

impl RecordedLocks {
    /// Returns true if the store knows what the lock owner did, or if it changed nothing.
    pub(super) fn has(&self, info: &LockInfo) -> bool {
        is_plan(info)
            || info.id == self.id
            || self
                .owners
                .iter()
                .any(|owner| owner_text(owner) == info.info)
    }
}

pub(super) fn is_plan(info: &LockInfo) -> bool {
    info.operation == PLAN
}

#[cfg(test)]
pub(crate) use tests::{dead_owner, of_the_dead};

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test ends at its first surprise")]

    use super::*;
    use model::process::ProcessIdentity;

    /// Process that has ended.
    pub(crate) fn dead_owner() -> LockHolder {
        let mut child = std::process::Command::new("sleep")
            .arg("1000")
            .spawn()
            .unwrap();
        let was = ProcessIdentity::of(child.id()).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        LockHolder {
            pid: was.pid,
            start_time: was.start_time,
            ..this_process("")
        }
    }

    /// Lock of a process that has ended.
    pub(crate) fn of_the_dead(owner: &LockHolder) -> LockInfo {
        LockInfo {
            info: owner_text(owner),
            ..lock_info("OperationTypeApply")
        }
    }

    #[test]
    fn lock_owner_is_dead_only_if_it_ran_on_this_boot_of_this_machine() {
        let gone = of_the_dead(&dead_owner());
        assert!(owner_has_ended(&gone));
        assert!(!owner_has_ended(&lock_info("x")), "this one runs");
        let with = |from: &str, to: &str| LockInfo {
            info: gone.info.replace(from, to),
            ..gone.clone()
        };
        let boot = this_process("").boot_id;
        assert!(
            !owner_has_ended(&with(&boot, "another-boot")),
            "another machine"
        );
        assert!(
            !owner_has_ended(&with("pid:[", "pid:[9")),
            "another container"
        );
        assert!(!owner_has_ended(&with("process", "")), "no word of ours");
        let elsewhere = LockInfo {
            who: "me@elsewhere".into(),
            ..gone.clone()
        };
        assert!(!owner_has_ended(&elsewhere));
        let of_tofu = LockInfo {
            version: "1.12.6".into(),
            ..gone
        };
        assert!(!owner_has_ended(&of_tofu));
    }
}
