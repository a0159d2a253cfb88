//! The plugin protocols as generated code.
