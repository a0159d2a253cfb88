//! Identity of objects: the attributes that are marked as identity, as hosts store and send them.

use cty::{Path, Type, Value};
use proto::tfplugin6 as pb;

use crate::codec;
use crate::diagnostics::{Diagnostic, Failure};
use crate::provider::Resource;
use crate::schema::{Attr, Schema};
use crate::service::{Entry, Outcome};

impl Schema {
    fn identity_attributes(&self) -> impl Iterator<Item = &Attr> {
        self.block.attributes.iter().filter(|attr| attr.identity)
    }

    /// Returns the type of identities; `None` if no attribute is part of one.
    pub(crate) fn identity_type(&self) -> Option<Type> {
        let attributes = self.identity_attributes();
        let mut attributes = attributes
            .map(|attr| (attr.name.clone(), attr.ty()))
            .peekable();
        attributes.peek()?;
        Some(Type::object(attributes))
    }
}

/// Returns the schema of identities for the host.
pub(crate) fn schema(of: &Schema) -> pb::ResourceIdentitySchema {
    let attribute = |attr: &Attr| pb::resource_identity_schema::IdentityAttribute {
        name: attr.name.clone(),
        r#type: attr.ty().to_json().into_bytes().into(),
        required_for_import: true,
        optional_for_import: false,
        description: attr.description.clone(),
    };
    pb::ResourceIdentitySchema {
        version: of.identity_version,
        identity_attributes: of.identity_attributes().map(attribute).collect(),
    }
}

/// Returns the identity of an object; `None` if its type has none, or if it is not known yet.
pub(crate) fn of(
    entry: &Entry<dyn Resource>,
    object: &Value,
) -> Outcome<Option<pb::ResourceIdentityData>> {
    let Some(ty) = entry.identity.as_ref().filter(|_| object.is_given()) else {
        return Ok(None);
    };
    let parts = entry.schema.identity_attributes();
    let parts = parts.filter_map(|attr| Some((attr.name.clone(), object.get_attr(&attr.name)?)));
    let identity = Value::object(parts);
    let missing = |(_, part): (Value, &Value)| !part.is_wholly_known() || part.is_null();
    if identity.elements().any(missing) {
        return Ok(None);
    }
    encode(&identity, ty).map(Some)
}

fn encode(identity: &Value, ty: &Type) -> Outcome<pb::ResourceIdentityData> {
    Ok(pb::ResourceIdentityData {
        identity_data: Some(codec::encode(identity, ty)?),
    })
}

/// Decodes an identity that the host sent for an import.
///
/// # Errors
/// The type has no identity, or a part of it is missing.
pub(crate) fn decode(
    entry: &Entry<dyn Resource>,
    data: pb::ResourceIdentityData,
) -> Outcome<Value> {
    let name = entry.item.name();
    let ty = entry.identity.as_ref().ok_or_else(|| {
        let summary = format!("{name} has no identity");
        Failure::new(summary, "import the object by its id instead")
    })?;
    let identity = codec::decode(data.identity_data, ty)?;
    for (key, part) in identity.elements() {
        let part_name = key.as_str().unwrap_or_default();
        if !part.is_given() {
            let detail = format!("set {part_name} in the identity of the import");
            let error = Diagnostic::error("a part of the identity is missing", detail);
            return Err(error.at(Path::root().attr(part_name)).into());
        }
    }
    Ok(identity)
}

/// Returns the text of an identity that is one string.
pub(crate) fn only_text(identity: &Value) -> Option<String> {
    let mut parts = identity.elements();
    match (parts.next(), parts.next()) {
        (Some((_, one)), None) => one.as_str().map(str::to_owned),
        _ => None,
    }
}

/// Upgrades a stored identity of an older version.
///
/// # Errors
/// The identity is newer than the provider, is not JSON, or cannot be upgraded.
pub(crate) fn upgrade(
    entry: &Entry<dyn Resource>,
    request: pb::upgrade_resource_identity::Request,
) -> Outcome<pb::ResourceIdentityData> {
    let (name, version) = (entry.item.name(), entry.schema.identity_version);
    let Some(ty) = &entry.identity else {
        let summary = format!("{name} has no identity");
        return Err(Failure::new(
            summary,
            "this provider cannot read the stored identity",
        ));
    };
    if request.version > version {
        let detail = format!(
            "it has version {}, but this provider supports only version {version}; use a newer version of the provider",
            request.version
        );
        return Err(Failure::new(
            format!("the identity of this {name} is too new"),
            detail,
        ));
    }
    let raw = request.raw_identity.unwrap_or_default();
    let mut json: serde_json::Value = serde_json::from_slice(&raw.json)?;
    if request.version < version {
        json = entry.item.upgrade_identity(request.version, json)?;
    }
    encode(&codec::from_state_json(json, ty)?, ty)
}
