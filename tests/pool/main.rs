//! Tests of the pool with real processes: bundled providers, and providers from a filesystem mirror
//! that the environment names. Processes, crashes and configurations are real.

mod original_requirements;
mod process_count;
mod process_replacement;
mod provider_failures;
mod provider_lifecycle;
mod test_pool;
mod unmodified_providers;
