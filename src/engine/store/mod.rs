//! The store: SQLite with one writer thread. Nothing durable goes round it.

pub mod model;
