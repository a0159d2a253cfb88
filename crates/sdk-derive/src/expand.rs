//! Generates the implementations from the fields of a struct.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::ext::IdentExt as _;
use syn::spanned::Spanned as _;
use syn::{Data, DeriveInput, Error, Field, Fields, LitStr, Result};

use crate::attributes::{FieldSettings, StructSettings, doc_text, field_error};

/// Kind of the derived struct.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Resource type.
    Resource,
    /// Data source.
    DataSource,
    /// Ephemeral resource.
    EphemeralResource,
    /// Provider configuration or nested object.
    Model,
}

impl Kind {
    /// Name of the attribute with the settings of the struct.
    fn attribute(self) -> Option<&'static str> {
        match self {
            Kind::Resource => Some("resource"),
            Kind::DataSource => Some("data_source"),
            Kind::EphemeralResource => Some("ephemeral_resource"),
            Kind::Model => None,
        }
    }
}

/// Generates the implementations for a struct.
pub(crate) fn expand(input: &DeriveInput, kind: Kind) -> Result<TokenStream> {
    let fields = named_fields(input)?;
    // The generated implementations name the struct without parameters.
    if !input.generics.params.is_empty() {
        let span = input.generics.span();
        return Err(Error::new(span, "generic parameters are not supported"));
    }
    let mut parts = Vec::new();
    for field in fields {
        parts.push(FieldParts::of(field)?);
    }
    let model = model(input, &parts);
    let Some(attribute) = kind.attribute() else {
        return Ok(model);
    };
    let named = named(input, kind, &StructSettings::of(&input.attrs, attribute)?)?;
    Ok(quote!(#model #named))
}

fn named_fields(input: &DeriveInput) -> Result<impl Iterator<Item = &Field>> {
    if let Data::Struct(data) = &input.data
        && let Fields::Named(fields) = &data.fields
    {
        return Ok(fields.named.iter());
    }
    let text = "a schema needs a struct with named fields: each field is an attribute";
    Err(Error::new(input.ident.span(), text))
}

fn model(input: &DeriveInput, parts: &[FieldParts]) -> TokenStream {
    let (name, description) = (&input.ident, doc_text(&input.attrs));
    let schemas = parts.iter().map(|part| &part.schema);
    let (reads, writes) = (
        parts.iter().map(|part| &part.read),
        parts.iter().map(|part| &part.write),
    );
    quote! {
        impl ::sdk::Model for #name {
            fn block() -> ::sdk::Block {
                ::sdk::Block::new().describe(#description)#(#schemas)*
            }

            fn from_object(
                object: &::sdk::Value,
            ) -> ::core::result::Result<Self, ::sdk::typed::Mismatch> {
                ::core::result::Result::Ok(#name { #(#reads),* })
            }

            fn to_object(&self) -> ::sdk::Value {
                ::sdk::Value::object([#(#writes),*])
            }
        }
    }
}

fn named(input: &DeriveInput, kind: Kind, settings: &StructSettings) -> Result<TokenStream> {
    let (ident, attribute) = (&input.ident, kind.attribute().unwrap_or_default());
    let Some(name) = &settings.name else {
        let text =
            format!("the type name is missing: add #[{attribute}(name = \"PROVIDER_TYPE\")]");
        return Err(Error::new(ident.span(), text));
    };
    let version = settings.version.iter();
    let timeouts = settings
        .timeouts
        .iter()
        .map(|(operation, limit)| quote_spanned!(limit.span()=> .#operation(#limit)));
    // Without time limits, the schema must not have a block `timeouts`.
    let timeouts = match settings.timeouts.is_empty() {
        true => quote!(),
        false => quote!(.timeouts(::sdk::Timeouts::new()#(#timeouts)*)),
    };
    Ok(quote! {
        impl ::sdk::Named for #ident {
            const NAME: &'static str = #name;

            fn schema() -> ::sdk::Schema {
                ::sdk::Schema::of(<#ident as ::sdk::Model>::block())
                    #(.version(#version))*#timeouts
            }
        }
    })
}

/// Generated parts of one field.
struct FieldParts {
    /// Call that adds the attribute or block to `sdk::Block`.
    schema: TokenStream,
    /// Initializer of the field.
    read: TokenStream,
    /// Pair of name and value.
    write: TokenStream,
}

impl FieldParts {
    fn of(field: &Field) -> Result<FieldParts> {
        let settings = FieldSettings::of(field)?;
        let Some(ident) = &field.ident else {
            return Err(field_error(field, "a field needs a name"));
        };
        let name = match &settings.name {
            Some(name) => name.clone(),
            // A field `r#type` must become the attribute `type`.
            None => LitStr::new(&ident.unraw().to_string(), ident.span()),
        };
        let ty = &field.ty;
        // Errors about the type of a field point at that type.
        let trait_path = quote_spanned!(ty.span()=> <#ty as ::sdk::AttributeType>);
        let schema = match settings.block {
            None => attribute_schema(field, &settings, &name, &trait_path)?,
            Some(_) => {
                let text = doc_text(&field.attrs);
                quote_spanned!(ty.span()=> .block(<#ty as ::sdk::BlockType>::nested(#name, #text)))
            }
        };
        Ok(FieldParts {
            schema,
            read: quote! {
                #ident: ::sdk::typed::read(object, #name, #trait_path::from_value)?
            },
            write: quote!((#name, #trait_path::to_value(&self.#ident))),
        })
    }
}

fn attribute_schema(
    field: &Field,
    settings: &FieldSettings,
    name: &LitStr,
    trait_path: &TokenStream,
) -> Result<TokenStream> {
    if settings.has("write_only") && settings.default.is_some() {
        let text = "a write-only attribute cannot have a default, because it is never stored";
        return Err(field_error(field, text));
    }
    let ty = &field.ty;
    let description = doc_text(&field.attrs);
    let mut calls = quote!(.describe(#description));
    for flag in &settings.flags {
        // `optional` depends on the type: an optional attribute of Computed<T> stays computed.
        let call = match flag.to_string().as_str() {
            "optional" => quote_spanned!(flag.span()=> .optional_computed()),
            _ => quote_spanned!(flag.span()=> .#flag()),
        };
        calls.extend(call);
    }
    if let Some(why) = &settings.deprecated {
        calls.extend(quote!(.deprecated(#why)));
    }
    // Errors about these expressions point at them instead of the derive.
    if let Some(words) = &settings.one_of {
        calls.extend(quote_spanned!(words.span()=> .one_of(&#words)));
    }
    // The author's check takes the type of the field, so it is not called for unknown values.
    if let Some(check) = &settings.check {
        calls.extend(quote_spanned! {check.span()=>
            .check(|value| match ::sdk::typed::given::<#ty>(value)? {
                ::core::option::Option::None => ::core::result::Result::Ok(()),
                ::core::option::Option::Some(value) => #check(&value),
            })
        });
    }
    let mut attribute = quote!(::sdk::typed::attribute::<#ty>(#name)#calls);
    if let Some(value) = &settings.default {
        // A literal such as "a" is a `&str`, but the field is a `String`.
        let value = quote_spanned!(value.span()=> ::core::convert::Into::<#ty>::into(#value));
        attribute = quote! {
            ::sdk::typed::with_default(#attribute, #trait_path::to_value(&#value))
        };
    }
    // A write-only value is null in every state, and `optional` needs a computed attribute.
    let nullable = settings.has("write_only") || settings.has("required");
    let assertion = match (nullable, settings.has("optional")) {
        (true, _) => quote_spanned!(ty.span()=> ::sdk::typed::assert_nullable::<#ty>();),
        (_, true) => quote_spanned!(ty.span()=> ::sdk::typed::assert_computed::<#ty>();),
        _ => quote!(),
    };
    Ok(quote!(.attr({ #assertion #attribute })))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(input: &str) -> String {
        let input: DeriveInput = syn::parse_str(input).expect("the input is Rust");
        match expand(&input, Kind::Resource) {
            Ok(generated) => panic!("accepted: {generated}"),
            Err(error) => error.to_string(),
        }
    }

    fn field_error(attr: &str) -> String {
        error(&format!(
            "#[resource(name = \"a_b\")] struct B {{ #[attr({attr})] c: String }}"
        ))
    }

    #[test]
    fn mistakes_in_a_struct_are_explained() {
        let cases = [
            ("struct B { c: String }", "the type name is missing"),
            (
                "#[resource(name = \"a_b\")] enum B { C }",
                "a struct with named fields",
            ),
            (
                "#[resource(name = \"a_b\")] struct B(String);",
                "a struct with named fields",
            ),
            (
                "#[resource(name = \"a_b\")] struct B<T> { c: T }",
                "generic parameters are not supported",
            ),
            (
                "#[resource(nam = \"a_b\")] struct B { c: String }",
                "expected name, version",
            ),
            (
                "#[resource(name = \"a_b\", timeouts(open = \"1m\"))] struct B { c: String }",
                "expected create, read, update or delete",
            ),
        ];
        for (input, wanted) in cases {
            let said = error(input);
            assert!(said.contains(wanted), "{input}: {said}");
        }
    }

    #[test]
    fn mistakes_in_a_field_are_explained() {
        let cases = [
            (
                "requird",
                "unknown setting `requird`; expected one of: required, optional",
            ),
            ("computed", "use Computed<T> for the field"),
            ("block, sensitive", "a block takes no setting but `name`"),
            ("write_only, default = \"a\"", "cannot have a default"),
        ];
        for (attr, wanted) in cases {
            let said = field_error(attr);
            assert!(said.contains(wanted), "{attr}: {said}");
        }
    }
}
