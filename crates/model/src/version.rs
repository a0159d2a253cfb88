//! Terraform release that flightdeck reports.

/// Providers enable features by it, and other tools accept state files and plan representations of
/// this version. Not our own version, because providers only know Terraform's numbers.
pub const TERRAFORM_VERSION: &str = "1.13.0";
