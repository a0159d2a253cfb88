//! The dialect of Bluelink's (before: Celerity's) plugins: a process registers itself at a service
//! of ours, and is called back where it says. There is no call for a plan, so what changes is
//! worked out here; so are defaults, the merging of what the plugin sets, and other attempts.

mod adapter;
mod changes;
mod check;
mod context;
mod convert;
mod data;
mod deploy;
mod documentation;
mod drift;
mod function;
mod gate;
mod life;
mod links;
mod looking;
mod merge;
mod neighbours;
mod paths;
mod plan;
mod replies;
mod retain;
mod retry;
mod schema;
mod settings;
mod signature;
mod speaking;
mod stability;
mod state;
#[cfg(test)]
mod tests;
mod unfit;
mod wire;

pub use settings::BluelinkSettings;
pub use speaking::Bluelink;
