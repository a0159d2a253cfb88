//! Counts, outcome and mode of stages and deploys.

use super::{Line, Role, line, span};
use model::{Counts, DeployOutcome, StageMode, StageRequest, VariableFlag};

/// Renders counts as `+3 ~1 -/+1` in the colours of the actions. Counts of zero are left out.
pub fn counts(c: &Counts) -> Line {
    let mut l = Line::new();
    for (n, sign, role) in [
        (c.import, "←", Role::Read),
        (c.create, "+", Role::Create),
        (c.update, "~", Role::Update),
        (c.replace, "-/+", Role::Destroy),
        (c.destroy, "-", Role::Destroy),
        (c.read, "<=", Role::Read),
        (c.forget, "×", Role::Forget),
    ] {
        if n > 0 {
            let gap = if l.is_empty() { "" } else { " " };
            l.push(span(role, format!("{gap}{sign}{n}")));
        }
    }
    l
}

/// Cell of a number; empty for 0, so that only counts of something are seen.
pub fn nonzero(role: Role, n: usize) -> Line {
    if n == 0 {
        return Line::new();
    }
    line(role, n.to_string())
}

/// Symbol and role of a deploy's outcome.
pub fn outcome_role(o: DeployOutcome) -> (&'static str, Role) {
    match o {
        DeployOutcome::Running => ("◐", Role::Busy),
        DeployOutcome::Succeeded => ("✓", Role::Ok),
        DeployOutcome::Failed => ("✗", Role::Bad),
        DeployOutcome::Cancelled => ("■", Role::Warn),
        DeployOutcome::Interrupted => ("!", Role::Warn),
    }
}

/// Text of a stage's mode.
pub fn mode(m: StageMode) -> &'static str {
    match m {
        StageMode::Normal => "changes",
        StageMode::Destroy => "destroy",
        StageMode::RefreshOnly => "refresh only",
    }
}

/// Renders the plan options of a request as flags. Sensitive values may be among the variables, so
/// only their names are shown.
pub fn plan_options(plan: &StageRequest) -> Vec<String> {
    let flags = |flag: &str, all: &[String]| -> Vec<String> {
        all.iter().map(|a| format!("--{flag}={a}")).collect()
    };
    let variables = plan.variables.iter().map(|v| match v {
        VariableFlag::Value { name, .. } => format!("--var={name}"),
        VariableFlag::File(path) => format!("--var-file={}", path.display()),
    });
    let refresh = plan.no_refresh.then(|| "--refresh=false".to_owned());
    flags("target", &plan.target)
        .into_iter()
        .chain(flags("exclude", &plan.exclude))
        .chain(flags("replace", &plan.replace))
        .chain(refresh)
        .chain(variables)
        .collect()
}
