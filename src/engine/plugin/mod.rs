//! Plugin processes: finding, launching, supervising, logs. Each process is owned by one supervisor task; everything
//! else holds a handle. Reports leave through [`record::PluginObserver`].

pub mod record;
