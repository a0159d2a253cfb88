//! Tests of the pool with real processes: bundled providers, and providers from a filesystem mirror
//! that the environment names. Processes, crashes and configurations are real.

mod kit;
mod leases;
mod lives;
mod real;
mod replacing;
mod seed;
mod trouble;
