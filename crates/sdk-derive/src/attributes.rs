//! Parses `#[resource(…)]`, `#[data_source(…)]`, `#[ephemeral_resource(…)]` and `#[attr(…)]`, and
//! collects doc comments.

use proc_macro2::Span;
use syn::meta::ParseNestedMeta;
use syn::spanned::Spanned as _;
use syn::{Attribute, Error, Expr, ExprLit, Field, Lit, LitInt, LitStr, Meta, Path, Result};

/// Settings of a struct.
#[derive(Default)]
pub(crate) struct StructSettings {
    pub(crate) name: Option<LitStr>,
    pub(crate) version: Option<LitInt>,
    /// Operation with its default time limit, such as `create = "20m"`.
    pub(crate) timeouts: Vec<(syn::Ident, LitStr)>,
}

impl StructSettings {
    /// Reads the attribute of this name; other attributes are ignored.
    pub(crate) fn of(attributes: &[Attribute], name: &str) -> Result<StructSettings> {
        let mut settings = StructSettings::default();
        for attribute in attributes.iter().filter(|a| a.path().is_ident(name)) {
            attribute.parse_nested_meta(|meta| settings.word(&meta, name))?;
        }
        Ok(settings)
    }

    fn word(&mut self, meta: &ParseNestedMeta<'_>, of: &str) -> Result<()> {
        if meta.path.is_ident("name") {
            self.name = Some(meta.value()?.parse()?);
        } else if meta.path.is_ident("version") && of == "resource" {
            // Hosts upgrade the states of resources only, so other types have no version.
            self.version = Some(meta.value()?.parse()?);
        } else if meta.path.is_ident("timeouts") && of == "resource" {
            return meta.parse_nested_meta(|inner| {
                let operation = inner.path.require_ident()?.clone();
                let known = ["create", "read", "update", "delete"];
                // Without this check, the generated code would call a method that does not exist.
                if !known.iter().any(|name| operation == name) {
                    return Err(inner.error("expected create, read, update or delete"));
                }
                self.timeouts.push((operation, inner.value()?.parse()?));
                Ok(())
            });
        } else if of == "resource" {
            return Err(meta.error("expected name, version or timeouts(…)"));
        } else {
            return Err(meta.error("expected name"));
        }
        Ok(())
    }
}

/// Settings of a field.
#[derive(Default)]
pub(crate) struct FieldSettings {
    pub(crate) name: Option<LitStr>,
    /// Flags whose methods of `sdk::Attr` have the same name.
    pub(crate) flags: Vec<syn::Ident>,
    pub(crate) block: Option<Span>,
    pub(crate) default: Option<Expr>,
    pub(crate) deprecated: Option<LitStr>,
    pub(crate) one_of: Option<Expr>,
    pub(crate) check: Option<Path>,
}

/// Flags of a field, each a method of `sdk::Attr` or, for `optional`, of `Computed`.
const FLAGS: [&str; 7] = [
    "required",
    "optional",
    "replaces",
    "stable",
    "sensitive",
    "write_only",
    "identity",
];

impl FieldSettings {
    /// Reads the settings of a field.
    pub(crate) fn of(field: &Field) -> Result<FieldSettings> {
        let mut settings = FieldSettings::default();
        for attribute in field.attrs.iter().filter(|a| a.path().is_ident("attr")) {
            attribute.parse_nested_meta(|meta| settings.word(&meta))?;
        }
        // Checked after all settings are read, because they can come in any order.
        match settings.block {
            Some(span) if !settings.is_plain_block() => {
                Err(Error::new(span, "a block takes no setting but `name`"))
            }
            _ => Ok(settings),
        }
    }

    fn is_plain_block(&self) -> bool {
        self.flags.is_empty()
            && self.default.is_none()
            && self.deprecated.is_none()
            && self.one_of.is_none()
            && self.check.is_none()
    }

    fn word(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        let word = meta.path.require_ident()?.clone();
        match word.to_string().as_str() {
            flag if FLAGS.contains(&flag) => self.flags.push(word),
            "block" => self.block = Some(word.span()),
            "name" => self.name = Some(meta.value()?.parse()?),
            "default" => self.default = Some(meta.value()?.parse()?),
            "deprecated" => self.deprecated = Some(meta.value()?.parse()?),
            "one_of" => self.one_of = Some(meta.value()?.parse()?),
            "check" => self.check = Some(meta.value()?.parse()?),
            "computed" => {
                return Err(meta.error("the type says this: use Computed<T> for the field"));
            }
            other => {
                return Err(meta.error(format!(
                    "unknown setting `{other}`; expected one of: {}, block, name, default, \
                     deprecated, one_of, check",
                    FLAGS.join(", ")
                )));
            }
        }
        Ok(())
    }

    /// Returns true if this flag is set.
    pub(crate) fn has(&self, flag: &str) -> bool {
        self.flags.iter().any(|set| set == flag)
    }
}

/// Returns the text of the doc comment, with the lines as written.
pub(crate) fn doc_text(attributes: &[Attribute]) -> String {
    let line = |attribute: &Attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            Expr::Lit(ExprLit {
                lit: Lit::Str(text),
                ..
            }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    };
    // The space after the slashes is not part of the text. Further spaces stay, because Markdown
    // uses them for lists and code.
    let lines: Vec<String> = attributes
        .iter()
        .filter_map(line)
        .map(|line| line.strip_prefix(' ').unwrap_or(&line).to_owned())
        .collect();
    lines.join("\n").trim().to_owned()
}

/// Returns an error at the struct's field.
pub(crate) fn field_error(field: &Field, text: &str) -> Error {
    Error::new(field.span(), text)
}
