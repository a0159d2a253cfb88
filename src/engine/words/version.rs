//! Which release of the reference flightdeck answers as.

/// Providers turn features on by it, and other tools take state files and plan representations for
/// its own. Not our version: providers know only Terraform's numbers.
pub const TERRAFORM_VERSION: &str = "1.13.0";
