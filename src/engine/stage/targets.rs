//! Parses and checks the addresses of a request.

use super::nodes::Nodes;
use super::prior::PriorState;
use super::walk::Walk;
use lang::addr::{AbsInstance, AbsResource, InstanceKey, Mode, Target};
use lang::diag::Diagnostic;
use model::{StageMode, StageRequest};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::sync::Arc;

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

/// Flags with addresses, their values, and what an address does that matches nothing.
fn flags(request: &StageRequest) -> [(&'static str, &[String], &'static str); 3] {
    let (target, exclude) = (&request.target, &request.exclude);
    [
        ("target", target, "This address adds nothing to the stage."),
        ("exclude", exclude, "This address excludes no object."),
        (
            "replace",
            &request.replace,
            "This address replaces nothing.",
        ),
    ]
}

/// Instances that the configuration declares, as far as evaluated, or that the state has.
pub(super) struct KnownInstances<'a> {
    pub(super) mode: StageMode,
    pub(super) walk: &'a Walk,
    pub(super) prior: &'a PriorState,
    pub(super) expansions: &'a BTreeMap<AbsResource, BTreeSet<InstanceKey>>,
}

impl KnownInstances<'_> {
    /// Returns warnings for addresses of existing modules and resources without the named instance.
    pub(super) fn warnings(&self, request: &StageRequest) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        for (flag, texts, then) in flags(request) {
            for text in texts {
                // A replacement names one instance, the other flags may name all of a resource.
                let target = match flag {
                    "replace" => text.parse().map(Target::Instance),
                    _ => text.parse(),
                };
                if let Some(alternatives) = target.ok().and_then(|target| self.missing(&target)) {
                    let detail = format!("The stage has no instance {text}. {then}{alternatives}");
                    let summary = format!("--{flag} matches nothing");
                    found.push(Diagnostic::warning(summary, detail));
                }
            }
        }
        found
    }

    /// Returns a hint with the existing instances if an address names a missing one of a declared
    /// resource or module.
    fn missing(&self, target: &Target) -> Option<String> {
        let mut declared = self.walk.nodes.nodes.iter().filter_map(|n| n.resource());
        // Addresses of unknown resources have their own warning, see [`unmatched_warnings`].
        let is_known = declared.any(|resource| target.may_contain(resource));
        if !is_known || self.instances().any(|instance| target.contains(&instance)) {
            return None;
        }
        let module = Target::Module(target.module().clone());
        let modules = self
            .walk
            .context
            .values
            .evaluated_instances(&target.module().path());
        let is_listed = |list: &Arc<Vec<_>>| list.iter().any(|m| module.contains_module(m));
        match modules.filter(|list| !is_listed(list)) {
            Some(list) => return Some(hint("module", &mut list.iter())),
            None if self.mode == StageMode::Destroy => return Some(String::new()),
            None => {}
        }
        let Target::Instance(address) = target else {
            return None;
        };
        let resource = Target::Resource(address.abs());
        let has_resource = |abs: &AbsResource| resource.contains(&abs.instance(InstanceKey::None));
        // The instances of a resource that is not evaluated are not known.
        self.expansions.keys().any(has_resource).then(|| {
            let mut existing = self.instances().filter(|i| resource.contains(i));
            hint("resource", &mut existing)
        })
    }

    fn instances(&self) -> impl Iterator<Item = AbsInstance> {
        let declared = self.expansions.iter();
        let declared = declared
            .flat_map(|(resource, keys)| keys.iter().map(|key| resource.instance(key.clone())));
        let recorded = self.prior.resources.iter().flat_map(|(resource, objects)| {
            objects
                .keys()
                .map(|key| resource.instance(InstanceKey::clone(key)))
        });
        // An address may name an object as before its move.
        let former = self.prior.former_addresses().cloned();
        // A destroy ignores what the configuration declares.
        let declared = declared.filter(|_| self.mode != StageMode::Destroy);
        declared.chain(recorded).chain(former)
    }
}

fn hint<T: Display + Ord>(of: &str, existing: &mut dyn Iterator<Item = T>) -> String {
    let existing: BTreeSet<T> = existing.collect();
    let listed = existing.iter().take(MAX_LISTED).map(T::to_string);
    let listed: Vec<String> = listed.collect();
    match listed.is_empty() {
        true => String::new(),
        false => format!(" Instances of the {of}: {}.", listed.join(", ")),
    }
}

/// Returns warnings for addresses that neither configuration nor state has, or had before a move.
/// These are no errors, because the object may already be deleted; but a typo must be visible,
/// above all in an exclude.
pub(super) fn unmatched_warnings(
    request: &StageRequest,
    nodes: &Nodes,
    prior: &PriorState,
) -> Vec<Diagnostic> {
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
    flags(request)
        .into_iter()
        .flat_map(|(flag, texts, then)| {
            texts
                .iter()
                .filter(missing)
                .map(move |text| warning(flag, text, then))
        })
        .collect()
}
