//! Parses and checks the addresses of a request.

use super::change::Change;
use super::nodes::Nodes;
use super::prior::PriorState;
use lang::addr::{AbsInstance, Mode, Target};
use lang::diag::Diagnostic;
use model::{StageMode, StageRequest};

/// Limit of instances named in a hint.
const MAX_LISTED: usize = 8;

pub(super) struct Targets {
    pub(super) target: Vec<Target>,
    pub(super) exclude: Vec<Target>,
    pub(super) replace: Vec<AbsInstance>,
}

pub(super) fn read_targets(request: &StageRequest) -> Result<Targets, Diagnostic> {
    if !request.target.is_empty() && !request.exclude.is_empty() {
        let detail = "--target limits a stage to addresses, and --exclude omits addresses from it. Use only one of the two.";
        return Err(Diagnostic::error(
            "--target and --exclude cannot be combined",
            detail,
        ));
    }
    let all = |texts: &[String], flag: &str| -> Result<Vec<Target>, Diagnostic> {
        texts
            .iter()
            .map(|t| {
                t.parse().map_err(|e: lang::addr::AddrError| {
                    Diagnostic::error(format!("Invalid address for --{flag}"), e.to_string())
                })
            })
            .collect()
    };
    // Instances only: unlike the other two flags, this one accepts no module.
    let replace = request
        .replace
        .iter()
        .map(|t| {
            t.parse().map_err(|e: lang::addr::AddrError| {
                Diagnostic::error("Invalid address for --replace", e.to_string())
            })
        })
        .collect::<Result<Vec<AbsInstance>, _>>()?;
    replaceable(&replace, request.mode)?;
    Ok(Targets {
        target: all(&request.target, "target")?,
        exclude: all(&request.exclude, "exclude")?,
        replace,
    })
}

/// Rejects replacements that the mode does not allow.
fn replaceable(replace: &[AbsInstance], mode: StageMode) -> Result<(), Diagnostic> {
    let unmanaged = |address: &&AbsInstance| address.resource.mode != Mode::Managed;
    if let Some(address) = replace.iter().find(unmanaged) {
        let detail =
            format!("{address} is not a managed resource. Only managed resources can be replaced.");
        return Err(Diagnostic::error("Invalid address for --replace", detail));
    }
    if !replace.is_empty() && mode != StageMode::Normal {
        let detail =
            "Destroy and refresh-only stages replace nothing. Remove --replace or the mode.";
        return Err(Diagnostic::error(
            "--replace cannot be combined with this mode",
            detail,
        ));
    }
    Ok(())
}

/// Returns warnings for addresses of existing resources without the named instance. Each managed
/// instance has a change, even without effect.
pub(super) fn without_instance(
    request: &StageRequest,
    nodes: &Nodes,
    changes: &[Change],
) -> Vec<Diagnostic> {
    // Addresses of unknown resources have their own warning, see [`nowhere`].
    let is_known = |a: &AbsInstance| {
        nodes
            .nodes
            .iter()
            .any(|n| n.resource() == Some(&a.config()))
    };
    let is_missing = |a: &AbsInstance| {
        let is_of = |c: &Change| c.address == *a || c.previous.as_ref() == Some(a);
        a.resource.mode == Mode::Managed && is_known(a) && !changes.iter().any(is_of)
    };
    let warning = |flag: &str, a: &AbsInstance, then: &str| {
        let same = |c: &&Change| c.address.config() == a.config();
        let there: Vec<String> = changes
            .iter()
            .filter(same)
            .take(MAX_LISTED)
            .map(|c| c.address.to_string())
            .collect();
        let hint = match there.is_empty() {
            true => String::new(),
            false => format!(" Instances of the resource: {}.", there.join(", ")),
        };
        let detail = format!("The stage has no instance {a}. {then}{hint}");
        Diagnostic::warning(format!("--{flag} matches nothing"), detail)
    };
    // A refresh-only stage has no changes to look the addresses up in.
    if request.mode == StageMode::RefreshOnly {
        return Vec::new();
    }
    let replace = request.replace.iter().filter_map(|text| text.parse().ok());
    let target = request.target.iter().filter_map(|text| match text.parse() {
        Ok(Target::Instance(instance)) => Some(instance),
        _ => None,
    });
    let replace = replace.filter(|a| is_missing(a));
    let target = target.filter(|a| is_missing(a));
    let replace = replace.map(|a| warning("replace", &a, "This address replaces nothing."));
    let target = target.map(|a| warning("target", &a, "This address adds nothing to the stage."));
    replace.chain(target).collect()
}

/// Returns warnings for addresses that neither configuration nor state has, or had before a move.
/// These are no errors, because the object may already be deleted; but a typo must be visible,
/// above all in an exclude.
pub(super) fn unmatched_warnings(
    request: &StageRequest,
    nodes: &Nodes,
    prior: &PriorState,
) -> Vec<Diagnostic> {
    let flags = [
        (
            "target",
            &request.target,
            "This address adds nothing to the stage.",
        ),
        (
            "exclude",
            &request.exclude,
            "This address excludes nothing.",
        ),
        (
            "replace",
            &request.replace,
            "This address replaces nothing.",
        ),
    ];
    // A stage with targets needs the former address of a moved object too.
    let former: Vec<AbsInstance> = prior.former_addresses().cloned().collect();
    let known = |t: &Target| {
        let mut resources = nodes.nodes.iter().filter_map(|n| n.resource());
        resources.any(|r| t.may_contain(r)) || former.iter().any(|i| t.contains(i))
    };
    let missing = |text: &&String| text.parse::<Target>().is_ok_and(|t| !known(&t));
    let warning = |flag: &str, text: &String, then: &str| {
        let detail = format!("Neither the configuration nor the state has {text}. {then}");
        Diagnostic::warning(format!("--{flag} matches nothing"), detail)
    };
    flags
        .iter()
        .flat_map(|(flag, texts, then)| {
            texts
                .iter()
                .filter(missing)
                .map(move |text| warning(flag, text, then))
        })
        .collect()
}
