//! Decodes bodies to values after checking their references.

use super::Walk;
use crate::stage::scope::ModuleScope;
use cty::schema::{Block, Schema};
use cty::{Type, Value};
use lang::body::Body;
use lang::config::Resource;
use lang::decode::Outline;
use lang::diag::Diagnostics;

impl Walk {
    /// Decodes a body to an object of its schema after checking its references.
    pub fn decode(
        &self,
        body: &Body,
        block: &Block,
        scope: &ModuleScope<'_>,
    ) -> (Value, Diagnostics) {
        let ty = block.implied_type();
        self.decoded(&Outline::of(body, block, &ty), body, block, &ty, scope)
    }

    /// Decodes the body of a resource of the walk's configuration by the schema of its type.
    pub fn decode_resource(
        &self,
        resource: &Resource,
        schema: &Schema,
        scope: &ModuleScope<'_>,
    ) -> (Value, Diagnostics) {
        let outline = self.outlines.of(resource, schema);
        let (body, ty) = (&resource.body, schema.implied_type());
        self.decoded(&outline, body, &schema.block, ty, scope)
    }

    fn decoded(
        &self,
        outline: &Outline,
        body: &Body,
        block: &Block,
        ty: &Type,
        scope: &ModuleScope<'_>,
    ) -> (Value, Diagnostics) {
        let references = outline.references(block, scope);
        let mut faults = scope.check(&references.iter().collect::<Vec<_>>());
        faults.append(scope.missing(|| lang::decode::function_calls(body, block)));
        if faults.has_errors() {
            return (Value::unknown(ty.clone()), faults);
        }
        let (value, mut diags) = outline.decode(block, scope);
        scope.unchanged(&mut diags, None);
        self.providers.secrets().register(&value);
        // Sensitive by schema: these values carry no marks yet.
        if block.contains_sensitive() || !block.write_only_paths(&value).is_empty() {
            self.providers.secrets().register_by_schema(block, &value);
        }
        (value, diags)
    }
}
