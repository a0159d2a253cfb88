//! Derives of the provider SDK. Each reads a struct with named fields and its doc comments, and
//! implements `sdk::Model`: the schema, and the conversion from and to values.
//!
//! The derives are documented where they are exported, in the crate `sdk`.

mod attributes;
mod expand;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

use crate::expand::{Kind, expand};

/// Implements `sdk::Model` and `sdk::Named` for a resource type; see `sdk::Resource`.
#[proc_macro_derive(Resource, attributes(resource, attr))]
pub fn resource(input: TokenStream) -> TokenStream {
    derive(parse_macro_input!(input as DeriveInput), Kind::Resource)
}

/// Implements `sdk::Model` and `sdk::Named` for a data source; see `sdk::DataSource`.
#[proc_macro_derive(DataSource, attributes(data_source, attr))]
pub fn data_source(input: TokenStream) -> TokenStream {
    derive(parse_macro_input!(input as DeriveInput), Kind::DataSource)
}

/// Implements `sdk::Model` and `sdk::Named` for an ephemeral resource; see `sdk::Ephemeral`.
#[proc_macro_derive(EphemeralResource, attributes(ephemeral_resource, attr))]
pub fn ephemeral_resource(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    derive(input, Kind::EphemeralResource)
}

/// Implements `sdk::Model` for a provider configuration or a nested object.
#[proc_macro_derive(Model, attributes(attr))]
pub fn model(input: TokenStream) -> TokenStream {
    derive(parse_macro_input!(input as DeriveInput), Kind::Model)
}

fn derive(input: DeriveInput, kind: Kind) -> TokenStream {
    // A macro cannot return an error, so it generates code that does not compile.
    expand(&input, kind)
        .unwrap_or_else(|error| error.into_compile_error())
        .into()
}
