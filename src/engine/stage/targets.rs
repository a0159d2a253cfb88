//! Addresses that a request names: read, and looked for.

use super::nodes::Nodes;
use crate::engine::words::StageRequest;
use lang::addr::{AbsInstance, Target};
use lang::diag::Diagnostic;

pub(super) struct Targets {
    pub(super) target: Vec<Target>,
    pub(super) exclude: Vec<Target>,
    pub(super) replace: Vec<AbsInstance>,
}

pub(super) fn read_targets(request: &StageRequest) -> Result<Targets, Diagnostic> {
    if !request.target.is_empty() && !request.exclude.is_empty() {
        let detail = "A stage is limited to addresses with --target, or leaves addresses out with --exclude. Give one of the two.";
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
    let replace = request
        .replace
        .iter()
        .map(|t| {
            t.parse().map_err(|e: lang::addr::AddrError| {
                Diagnostic::error("Invalid address for --replace", e.to_string())
            })
        })
        .collect::<Result<_, _>>()?;
    Ok(Targets {
        target: all(&request.target, "target")?,
        exclude: all(&request.exclude, "exclude")?,
        replace,
    })
}

/// Addresses that were given and that neither the configuration nor the state has. Staging goes on:
/// one that is gone already is no error, but a slip of the pen must be seen, above all where it was
/// to be left out.
pub(super) fn nowhere(request: &StageRequest, nodes: &Nodes) -> Vec<Diagnostic> {
    let flags = [
        ("target", &request.target, "Nothing is staged for it."),
        ("exclude", &request.exclude, "Nothing is left out for it."),
        ("replace", &request.replace, "Nothing is replaced for it."),
    ];
    let known = |t: &Target| {
        nodes
            .nodes
            .iter()
            .any(|n| n.resource().is_some_and(|r| t.may_contain(r)))
    };
    let missing = |text: &&String| text.parse::<Target>().is_ok_and(|t| !known(&t));
    let warning = |flag: &str, text: &String, then: &str| {
        let detail = format!("Neither the configuration nor the state has {text}. {then}");
        Diagnostic::warning(format!("--{flag} names nothing"), detail)
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
