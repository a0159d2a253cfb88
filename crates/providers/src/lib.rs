//! The bundled providers: local and lab.
