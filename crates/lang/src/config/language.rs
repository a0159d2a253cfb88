//! Checks that a module accepts this version of the language: `language` blocks and
//! `required_version`.

use super::files::ConfigFile;
use super::providers::version;
use super::shared_blocks::list;
use crate::body::{Attribute, Block, BodySchema};
use crate::diag::Diagnostics;
use dependency::{Version, VersionConstraint};

/// OpenTofu version of the supported language; `required_version` in `.tofu` files is checked
/// against it.
pub const LANGUAGE_VERSION: &str = "1.12.6";

/// Last version without `compatible_with`.
const BEFORE_THE_BLOCK: &str = "1.11.0";

/// Parses a `language` block.
pub(super) fn language(block: &Block, is_override: bool, diags: &mut Diagnostics) {
    if is_override {
        let detail = "\"language\" blocks are not allowed in override files. Place these settings in a normal configuration file.";
        diags.error(
            block.def_span,
            "Language selections in override file",
            detail,
        );
        return;
    }
    let schema = BodySchema::new()
        .optional(&["edition", "experiments"])
        .block("compatible_with", &[]);
    let (content, found) = block.body.content(&schema);
    diags.append(found);
    if let Some(a) = content.attribute("edition") {
        const EDITION: &str = "tofu2024";
        match a.expr.as_keyword().as_deref() {
            Some(EDITION) => {}
            None => {
                let detail = format!(
                    "The \"edition\" argument expects a bare keyword; {EDITION} is the only edition."
                );
                diags.error(a.expr.span, "Invalid language edition", detail);
            }
            Some(other) => {
                let detail = format!(
                    "Language edition \"{other}\" is not supported; {EDITION} is the only edition."
                );
                diags.error(a.expr.span, "Unsupported language edition", detail);
            }
        }
    }
    if let Some(a) = content.attribute("experiments") {
        for item in list(&a.expr, diags) {
            match item.as_keyword() {
                Some(word) => {
                    diags.error(
                        item.span,
                        "Unknown experiment keyword",
                        format!("There is no experiment with the keyword \"{word}\"."),
                    );
                }
                None => diags.error(
                    item.span,
                    "Invalid experiment keyword",
                    "Elements of \"experiments\" must be keywords.",
                ),
            }
        }
    }
    compatible_with(block, content.blocks_of("compatible_with"), diags);
}

/// Checks a `compatible_with` block, which lists the compatible OpenTofu versions.
fn compatible_with<'a>(
    block: &Block,
    inner: impl Iterator<Item = &'a Block>,
    diags: &mut Diagnostics,
) {
    let mut seen = false;
    for inner in inner {
        let (content, _, _) = inner
            .body
            .partial_content(&BodySchema::new().optional(&["opentofu"]));
        if let Some(a) = content.attribute("opentofu")
            && let Some((text, _)) = version(&a.expr, a.json.as_deref(), a.expr.span, diags)
            && allows(&text, BEFORE_THE_BLOCK)
        {
            let detail = format!(
                "OpenTofu v1.12.0 introduced the compatible_with block, so its constraints apply \
                only to that version and later ones, but \"{text}\" also allows earlier ones. \
                Add \">= 1.12.0\". For earlier versions, set required_version in a \"terraform\" \
                block of a .tofu file."
            );
            diags.warning(a.span, "Ineffective version constraint", detail);
        }
        if std::mem::replace(&mut seen, true) {
            diags.error(
                block.def_span,
                "Duplicate compatible_with block",
                "A language block may have one compatible_with block.",
            );
        }
    }
}

/// Checks that the files of a module accept this language version. Errors here hide all others.
pub(super) fn check_versions(file: &ConfigFile, diags: &mut Diagnostics) {
    let (root, _, _) = file.body.partial_content(
        &BodySchema::new()
            .block("terraform", &[])
            .block("language", &[]),
    );
    for block in &root.blocks {
        if &*block.type_name == "terraform" {
            // In a `.tf` file the constraint refers to Terraform versions.
            if file.is_tofu {
                let (content, _, _) = block
                    .body
                    .partial_content(&BodySchema::new().optional(&["required_version"]));
                content
                    .attribute("required_version")
                    .into_iter()
                    .for_each(|a| check_version(a, diags));
            }
            continue;
        }
        let (content, _, _) = block
            .body
            .partial_content(&BodySchema::new().block("compatible_with", &[]));
        for inner in &content.blocks {
            let (content, _, _) = inner
                .body
                .partial_content(&BodySchema::new().optional(&["opentofu"]));
            content
                .attribute("opentofu")
                .into_iter()
                .for_each(|a| check_version(a, diags));
        }
    }
}

fn check_version(attribute: &Attribute, diags: &mut Diagnostics) {
    // `check_version_syntax` reports invalid constraints.
    let mut ignored = Diagnostics::new();
    let Some((text, _)) = version(
        &attribute.expr,
        attribute.json.as_deref(),
        attribute.expr.span,
        &mut ignored,
    ) else {
        return;
    };
    if text.parse::<VersionConstraint>().is_ok() && !allows(&text, LANGUAGE_VERSION) {
        diags.error(
            attribute.span,
            "Incompatible module",
            format!(
                "This module requires OpenTofu \"{text}\", but this engine supports the language \
                of OpenTofu v{LANGUAGE_VERSION}."
            ),
        );
    }
}

fn allows(constraint: &str, version: &str) -> bool {
    match (
        constraint.parse::<VersionConstraint>(),
        version.parse::<Version>(),
    ) {
        (Ok(constraint), Ok(version)) => constraint.allows(&version),
        _ => false,
    }
}

/// Reports invalid version constraints.
pub(super) fn check_version_syntax(file: &ConfigFile, diags: &mut Diagnostics) {
    let (root, _, _) = file
        .body
        .partial_content(&BodySchema::new().block("terraform", &[]));
    // In a `.tf` file the constraint refers to Terraform versions.
    for block in root.blocks.iter().filter(|_| file.is_tofu) {
        let (content, _, _) = block
            .body
            .partial_content(&BodySchema::new().optional(&["required_version"]));
        if let Some(a) = content.attribute("required_version") {
            version(&a.expr, a.json.as_deref(), a.expr.span, diags);
        }
    }
}
