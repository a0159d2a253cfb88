//! The pool over real processes: the bundled providers, and whatever a filesystem mirror holds that
//! the environment names. Processes, crashes and configurations are real; nothing is faked.

mod kit;
mod leases;
mod lives;
mod real;
mod replacing;
mod seed;
mod trouble;
