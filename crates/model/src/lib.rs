//! Model of the engine: ids, times, requests, answers and [`Event`], which covers everything an
//! operator can see. The console, `--json` and replays fold the same events (see [`view`]).
//! Lowest layer: every layer may use it, and it uses none.
//!
//! ```
//! use flightdeck_model::EventKind;
//! use flightdeck_model::bus::Bus;
//!
//! let bus = Bus::default();
//! let (view, _events) = bus.subscribe();
//! assert_eq!(view.seq, 0);
//! bus.emit(EventKind::Notice { text: "took over a lock".to_owned() });
//! assert_eq!(bus.view().seq, 1);
//! ```

pub mod bus;
pub mod causes;
pub mod cores;
pub mod lock_owner;
pub mod logging;
pub mod mutex;
pub mod process;
mod rollout;
pub mod secrets;
pub mod settings;
pub mod view;
pub mod visible;

mod action;
mod answer;
mod call;
mod command;
mod comparison;
mod connection;
mod deploy;
mod diagnostic;
mod drift;
mod endpoint;
mod event;
mod failure;
mod id;
mod install;
mod lazy;
mod method;
mod object;
mod observation;
mod operation;
mod orphan;
mod plugin;
mod provider;
mod reconcile;
mod renewal;
mod request;
mod requested_calls;
mod reveal;
mod stage;
mod step;
mod time;
mod type_view;
mod version;
mod workspace;

pub use action::*;
pub use answer::*;
pub use call::*;
pub use command::*;
pub use comparison::*;
pub use connection::connection_details;
pub use deploy::*;
pub use diagnostic::*;
pub use drift::*;
pub use endpoint::*;
pub use event::*;
pub use failure::*;
pub use id::*;
pub use install::*;
pub use lang::addr::natural_cmp;
pub use lazy::*;
pub use method::*;
pub use object::*;
pub use observation::*;
pub use operation::*;
pub use orphan::*;
pub use plugin::*;
pub use provider::*;
pub use reconcile::*;
pub use renewal::*;
pub use request::*;
pub use requested_calls::*;
pub use reveal::*;
pub use rollout::*;
pub use stage::*;
pub use step::*;
pub use time::*;
pub use type_view::*;
pub use version::*;
pub use workspace::*;
