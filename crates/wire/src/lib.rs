//! The go-plugin handshake line and AutoMTLS, both ends.
