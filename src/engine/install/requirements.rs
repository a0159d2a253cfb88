//! Required providers with their version constraints, from configuration and state.

use dependency::{
    BUNDLED_HOST, DEFAULT_HOST, ProviderAddress, TERRAFORM_REGISTRY, VersionConstraint,
};
use lang::config::Module;
use model::ConfigKey;
use std::collections::{BTreeMap, BTreeSet};
use workspace::provider_addr;

/// Needed providers with their version constraints, from all modules.
pub(super) type Needs = BTreeMap<ProviderAddress, VersionConstraint>;

/// Requirements of a configuration and a state; `in_state` has provider configurations in a state's
/// form. The second value is a list of errors.
pub(super) fn requirements(root: &Module, in_state: &BTreeSet<String>) -> (Needs, Vec<String>) {
    let mut needs = Needs::new();
    let mut wrong = Vec::new();
    for (address, conditions) in root.all().into_iter().flat_map(provider_addr::required) {
        let Ok(address) = address.parse::<ProviderAddress>() else {
            continue;
        };
        let need = needs.entry(address).or_default();
        for (name, text) in conditions {
            match VersionConstraint::of_provider(&text) {
                Ok(more) => need.extend(more),
                Err(error) => wrong.push(format!("{name}: {error}")),
            }
        }
    }
    for text in in_state {
        let key = ConfigKey::parse(text);
        let Some(address) = key.and_then(|key| key.address.parse::<ProviderAddress>().ok()) else {
            continue;
        };
        // A state written by Terraform refers to the same provider in the default registry, unless
        // the configuration names the other one.
        let other = address.host() == TERRAFORM_REGISTRY && !needs.contains_key(&address);
        let address = if other {
            address.on_host(DEFAULT_HOST)
        } else {
            address
        };
        needs.entry(address).or_default();
    }
    // Built-in and bundled providers are part of this program.
    needs.retain(|address, _| address.host() != BUNDLED_HOST && !address.is_builtin());
    // `-` is the namespace in states from before provider addresses.
    for address in needs.keys().filter(|a| a.namespace == "-") {
        wrong.push(format!(
            "the state refers to the provider \"{}\" without a namespace, as very old versions did; set its full address with `flightdeck state replace-provider`",
            address.name
        ));
    }
    (needs, wrong)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test ends at its first surprise")]

    use super::*;
    use lang::config::{Inputs, load_root};
    use lang::source::SourceMap;

    #[test]
    fn requirements_come_from_modules_and_the_state() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write(
            "main.tf",
            "terraform {\n  required_providers {\n    aws = { version = \">= 5.0\" }\n    own = { source = \"registry.terraform.io/acme/own\" }\n    lab = { source = \"flightdeck.internal/bundled/lab\" }\n  }\n}\nmodule \"m\" {\n  source = \"./m\"\n}\nresource \"terraform_data\" \"x\" {}\n",
        );
        write(
            "m/main.tf",
            "terraform {\n  required_providers {\n    aws = { version = \"~> 5.1, != 5.2.0\" }\n  }\n}\nresource \"null_resource\" \"n\" {}\n",
        );
        let (loaded, diags) = load_root(dir.path(), &SourceMap::new(), &Inputs::default());
        assert!(!diags.has_errors(), "{diags:?}");
        let state = [
            "provider[\"registry.terraform.io/hashicorp/random\"].west",
            "module.m.provider[\"registry.terraform.io/acme/own\"]",
            "provider[\"terraform.io/builtin/terraform\"]",
        ];
        let state = state.map(str::to_owned).into_iter().collect();
        let (needs, wrong) = requirements(&loaded.root, &state);
        assert!(wrong.is_empty(), "{wrong:?}");
        let names: Vec<String> = needs.keys().map(ToString::to_string).collect();
        assert_eq!(
            names,
            [
                "registry.opentofu.org/hashicorp/aws",
                "registry.opentofu.org/hashicorp/null",
                "registry.opentofu.org/hashicorp/random",
                "registry.terraform.io/acme/own",
            ]
        );
        let aws = &needs[&"registry.opentofu.org/hashicorp/aws".parse().unwrap()];
        assert_eq!(aws.to_string(), ">= 5.0, ~> 5.1, != 5.2.0");
        let state = ["provider[\"registry.terraform.io/-/aws\"]".to_owned()].into();
        let (_, wrong) = super::requirements(&loaded.root, &state);
        assert!(wrong[0].contains("without a namespace"), "{wrong:?}");
    }
}
