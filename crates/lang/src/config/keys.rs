//! Evaluates `encryption` blocks from variables and locals: the methods and keys in use, and
//! whether they fit together. No key is created here; only its length is known.

use std::collections::HashMap;
use std::sync::Arc;

use cty::{Type, Value};

use super::encryption::{Declared, Encryption, Target};
use super::encryption_methods::{Encrypted, Key, Method};
use super::pbkdf2::{BYTES, length};
use super::statics::Statics;
use crate::body::{Attribute, BodySchema};
use crate::diag::{Diagnostic, Diagnostics};
use crate::eval;
use crate::eval::Scope;
use crate::source::Span;
use crate::syntax::{Expr, StepKind, Traversal};

/// Method that does not encrypt.
const PLAIN: &str = "unencrypted";

/// Key providers that request keys from a service or program.
const REMOTE: [&str; 5] = ["aws_kms", "gcp_kms", "azure_vault", "openbao", "external"];

/// Valid key lengths of AES, in bytes.
const AES: [u64; 3] = [16, 24, 32];

/// Checks the methods of all targets and returns the valid ones.
pub(super) fn check(
    encryption: &Encryption,
    statics: &Statics<'_>,
    diags: &mut Diagnostics,
) -> Vec<Encrypted> {
    for _ in encryption.methods.iter().filter(|m| &*m.kind == PLAIN) {
        let detail = "The method \"unencrypted\" stores data as plain text. Use it only to \
            migrate to or from encryption.";
        diags.warning(encryption.span, "Unencrypted method configured", detail);
    }
    let mut out = Vec::new();
    for (word, target) in &encryption.targets {
        let mark = diags.len();
        let methods = methods(encryption, target, diags);
        let wrong = |diags: &Diagnostics| diags.0[mark..].iter().any(Diagnostic::is_error);
        if wrong(diags) {
            continue;
        }
        if target.enforced && methods.iter().any(|m| &*m.kind == PLAIN) {
            let detail = format!(
                "{word} has enforced = true, so it cannot use the method \"unencrypted\", not \
                even as a fallback."
            );
            diags.error(encryption.span, "Unencrypted method is forbidden", detail);
            continue;
        }
        let mut setup = Setup {
            encryption,
            statics,
            made: HashMap::new(),
        };
        let mut ways = Vec::new();
        for (at, method) in methods.iter().enumerate() {
            // Fallback methods only read older data, so their errors are reported when they are
            // used.
            let mut unsaid = Diagnostics::new();
            let said = if at == 0 { &mut *diags } else { &mut unsaid };
            ways.push(setup.method(method, said));
        }
        if !wrong(diags) {
            out.push(Encrypted {
                target: word.clone(),
                span: target.span,
                methods: ways,
            });
        }
    }
    out
}

/// Methods of a target; the first one encrypts.
fn methods<'e>(
    encryption: &'e Encryption,
    target: &Target,
    diags: &mut Diagnostics,
) -> Vec<&'e Declared> {
    let mut out = Vec::new();
    let mut next = Some(target);
    while let Some(target) = next {
        next = target.fallback.as_deref();
        let span = target.method.as_ref().map_or(target.missing, |e| e.span);
        let Some(traversal) = target.method.as_ref().and_then(Expr::as_static_traversal) else {
            diags.error(
                span,
                "Invalid expression",
                "Write a method as method.TYPE.NAME, without quotes or other expressions.",
            );
            continue;
        };
        let (Some((kind, name)), "method", 2) = (
            two_names(&traversal),
            &*traversal.root,
            traversal.steps.len(),
        ) else {
            diags.error(
                span,
                "Invalid encryption method identifier",
                "Write a method as method.TYPE.NAME.",
            );
            break;
        };
        match encryption
            .methods
            .iter()
            .find(|m| *m.kind == *kind && *m.name == *name)
        {
            Some(method) => out.push(method),
            None => {
                let detail =
                    format!("There is no method {kind:?} {name:?} in the encryption block.");
                diags.error(span, "Reference to undeclared encryption method", detail);
            }
        }
    }
    out
}

/// The two names after the root.
fn two_names(traversal: &Traversal) -> Option<(&str, &str)> {
    match &traversal.steps[..] {
        [a, b, ..] => match (&a.kind, &b.kind) {
            (StepKind::Attr(a), StepKind::Attr(b)) => Some((a, b)),
            _ => None,
        },
        _ => None,
    }
}

pub(super) struct Setup<'a> {
    encryption: &'a Encryption,
    statics: &'a Statics<'a>,
    /// Checked keys with their lengths; `None` during the check (to detect cycles) and for invalid
    /// keys.
    made: KeyResults,
}

type KeyResults = HashMap<(Arc<str>, Arc<str>), Option<(u64, Arc<Key>)>>;

impl Setup<'_> {
    fn method(&mut self, method: &Declared, diags: &mut Diagnostics) -> Method {
        let other = Method::Other(method.kind.clone());
        let schema = match &*method.kind {
            PLAIN => return Method::Unencrypted,
            "aes_gcm" => BodySchema::new().required(&["keys"]).optional(&["aad"]),
            "external" => {
                BodySchema::new().optional(&["keys", "encrypt_command", "decrypt_command"])
            }
            kind => {
                let detail = format!(
                    "There is no encryption method {kind:?}. The supported methods are aes_gcm, \
                    external and unencrypted."
                );
                diags.push(Diagnostic::error("Unknown encryption method type", detail));
                return other;
            }
        };
        let (content, found) = method.body.content(&schema);
        let failed = found.has_errors();
        diags.append(found);
        if failed {
            return other;
        }
        let (mut found, mut aad) = (None, Vec::new());
        for (name, attribute) in &content.attributes {
            let Some(value) = self.value(&attribute.expr, diags) else {
                continue;
            };
            if &**name == "aad" {
                let bytes = value.as_slice().unwrap_or_default().iter();
                let byte = |v: &Value| v.as_number().and_then(|n| u8::try_from(n.to_u64()?).ok());
                aad = bytes.filter_map(byte).collect();
            }
            if &**name != "keys" {
                continue;
            }
            found = self.key_of(&value);
            let Some(bytes) = length(&value, attribute.expr.span, diags) else {
                continue;
            };
            if &*method.kind == "aes_gcm" && !AES.contains(&bytes) {
                let detail = format!(
                    "aes_gcm needs a key of 16, 24 or 32 bytes, but the key of method.aes_gcm.{} \
                    has {bytes}.",
                    method.name
                );
                diags.push(Diagnostic::error("Invalid method configuration", detail));
            }
        }
        for command in ["encrypt_command", "decrypt_command"] {
            if &*method.kind == "external" && content.attribute(command).is_none() {
                let detail = format!("method.external.{} needs {command}.", method.name);
                diags.push(Diagnostic::error("Invalid method configuration", detail));
            }
        }
        match found {
            Some(key) if &*method.kind == "aes_gcm" => Method::AesGcm { key, aad },
            _ => other,
        }
    }

    /// Key that a value refers to.
    pub(super) fn key_of(&self, value: &Value) -> Option<Arc<Key>> {
        let fields = value.as_map()?;
        let Some(id) = fields.get(ID).and_then(|id| id.as_str().map(str::to_owned)) else {
            // A value without an id has its bytes in the configuration.
            return Some(Arc::new(Key::Written));
        };
        let (kind, name) = id.split_once('.')?;
        let made = self.made.get(&(kind.into(), name.into()))?.as_ref()?;
        Some(made.1.clone())
    }

    /// Returns the value of an expression over static values and keys, or `None` with errors.
    /// Sensitive values are allowed.
    pub(super) fn value(&mut self, expr: &Expr, diags: &mut Diagnostics) -> Option<Value> {
        // In JSON a reference to a key may be a plain string.
        let named = expr
            .literal_text()
            .and(expr.quoted_traversal())
            .filter(|t| &*t.root == "key_provider");
        let references = named
            .iter()
            .chain(expr.traversals())
            .filter(|t| &*t.root == "key_provider" && t.steps.len() == 2);
        let mut good = true;
        for t in references {
            good &= self.reference(t, expr.span, diags);
        }
        if !good {
            return None;
        }
        if let Some((kind, name)) = named.as_ref().and_then(two_names) {
            return key_value(&self.made, kind, name);
        }
        let (value, found) = eval::evaluate(
            expr,
            &WithKeys {
                statics: self.statics,
                made: &self.made,
            },
        );
        let failed = found.has_errors();
        diags.append(found);
        // Marks are dropped, because keys and passphrases may be sensitive here.
        (!failed).then(|| value.unmark_deep().0)
    }

    /// Checks a referenced key if that has not happened yet.
    fn reference(&mut self, t: &Traversal, by: Span, diags: &mut Diagnostics) -> bool {
        let Some((kind, name)) = two_names(t) else {
            diags.error(
                t.span(),
                "Invalid Key Provider expression format",
                "Write a key provider as key_provider.TYPE.NAME.",
            );
            return false;
        };
        let id: (Arc<str>, Arc<str>) = (kind.into(), name.into());
        if let Some(seen) = self.made.get(&id) {
            if seen.is_none() {
                diags.error(
                    by,
                    "Circular reference detected",
                    format!("key_provider.{kind}.{name} depends on itself, or its block has an error that is reported separately."),
                );
            }
            return seen.is_some();
        }
        let Some(declared) = self
            .encryption
            .key_providers
            .iter()
            .find(|k| *k.kind == *kind && *k.name == *name)
        else {
            let detail =
                format!("There is no key_provider {kind:?} {name:?} in the encryption block.");
            diags.error(t.span(), "Reference to undeclared key provider", detail);
            return false;
        };
        // Marks the key as being checked, so that a cycle ends in an error.
        self.made.insert(id.clone(), None);
        let key = self.key_provider(declared, diags);
        let good = key.is_some();
        self.made.insert(id, key);
        good
    }

    /// Checks a key provider and returns its key with the length; `None` with errors.
    fn key_provider(
        &mut self,
        declared: &Declared,
        diags: &mut Diagnostics,
    ) -> Option<(u64, Arc<Key>)> {
        let mark = diags.len();
        let key = match &*declared.kind {
            "pbkdf2" => self.pbkdf2(declared, diags),
            kind if REMOTE.contains(&kind) => {
                // Evaluated for their errors only, because the key is created elsewhere.
                for attribute in declared.body.just_attributes().0.values() {
                    self.value(&attribute.expr, diags);
                }
                // The remote service creates the key and is asked for a fitting length; 32 bytes
                // are assumed here.
                Some((32, Arc::new(Key::Remote(declared.kind.clone()))))
            }
            kind => {
                let detail = format!(
                    "There is no key provider {kind:?}. The supported key providers are pbkdf2, \
                    {}.",
                    REMOTE.join(", ")
                );
                diags.push(Diagnostic::error("Unknown key_provider type", detail));
                None
            }
        };
        key.filter(|_| !diags.0[mark..].iter().any(Diagnostic::is_error))
    }

    pub(super) fn of_type(
        &mut self,
        attribute: &Attribute,
        ty: &Type,
        diags: &mut Diagnostics,
    ) -> Option<Value> {
        let value = self.value(&attribute.expr, diags)?;
        match value.convert(ty) {
            Ok(value) if value.is_known() && !value.is_null() => Some(value),
            other => {
                let why = other.err().map_or_else(
                    || "it must be known and not null".to_owned(),
                    |e| e.to_string(),
                );
                diags.error(
                    attribute.expr.span,
                    "Unsuitable value type",
                    format!("Unsuitable value: {why}."),
                );
                None
            }
        }
    }
}

/// Attribute that identifies the key of a value. Like [`BYTES`], its name cannot be written in a
/// configuration.
const ID: &str = "type and name of the key";

/// Key as a value in expressions.
fn key_value(all: &KeyResults, kind: &str, name: &str) -> Option<Value> {
    let (bytes, _) = all.get(&(kind.into(), name.into()))?.as_ref()?;
    Some(Value::object([
        (Arc::from(BYTES), Value::number(*bytes)),
        (Arc::from(ID), Value::string(format!("{kind}.{name}"))),
    ]))
}

/// Scope of static values and checked keys.
struct WithKeys<'a> {
    statics: &'a Statics<'a>,
    made: &'a KeyResults,
}

impl Scope for WithKeys<'_> {
    fn resolve(&self, traversal: &Traversal) -> Result<(Value, usize), Diagnostics> {
        let known = two_names(traversal).filter(|_| &*traversal.root == "key_provider");
        match known.and_then(|(kind, name)| key_value(self.made, kind, name)) {
            Some(key) => Ok((key, 2)),
            None => self.statics.resolve(traversal),
        }
    }

    fn base_dir(&self) -> &std::path::Path {
        &self.statics.module.dir
    }
}
