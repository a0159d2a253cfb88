//! Decodes arguments: evaluation, marks, conversion to the schema's type.

use cty::Value;
use cty::schema::Attribute;

use super::{Decoder, Place, body_value, shape};
use crate::diag::{Diagnostic, Diagnostics};
use crate::eval::{Scope, evaluate};
use crate::source::Span;

const INCORRECT: &str = "Incorrect attribute value type";

impl Decoder<'_> {
    pub(super) fn attribute(
        &self,
        name: &str,
        schema: &Attribute,
        diags: &mut Diagnostics,
    ) -> Value {
        let Some(given) = self.content.attribute(name) else {
            return Value::null(schema.implied_type());
        };
        // Not evaluated if the block may not exist, because then its errors may not matter.
        let value = if self.place.unknown {
            Value::dynamic()
        } else {
            let (value, found) = evaluate(&given.expr, self.place.scope);
            diags.append(found);
            value
        };
        // Elements of a marked `for_each` are bound without its marks; the arguments get them here.
        let value = value.with_marks(&self.place.marks);
        let context = given.name_span.to(given.expr.span);
        converted(name, schema, &value, given.expr.span, context, diags)
    }

    /// Decodes blocks as the elements of a list or set of objects.
    pub(super) fn blocks_as_attribute(
        &self,
        name: &str,
        schema: &Attribute,
        diags: &mut Diagnostics,
    ) -> Value {
        let element = schema
            .ty
            .element_type()
            .cloned()
            .unwrap_or(cty::Type::Dynamic);
        let block_schema = shape::object_schema(&element);
        let mut values = Vec::new();
        let mut unknown = false;
        let mut place: Option<Span> = None;
        self.each_block(name, &[], diags, &mut |found, diags| {
            place.get_or_insert(found.def_span);
            unknown |= found.place.unknown;
            values.push(body_value(
                &found.body,
                &block_schema,
                shape::may_be_blocks(&block_schema),
                &found.place,
                diags,
            ));
        });
        let Some(place) = place else {
            return Value::null(schema.implied_type());
        };
        if unknown {
            return Value::unknown(schema.implied_type());
        }
        converted(name, schema, &Value::tuple(values), place, place, diags)
    }
}

fn converted(
    name: &str,
    schema: &Attribute,
    value: &Value,
    at: Span,
    context: Span,
    diags: &mut Diagnostics,
) -> Value {
    match cty::convert(value, &schema.conversion_type()) {
        Ok(value) => value,
        Err(error) => {
            let detail = format!("Inappropriate value for attribute {name:?}: {error}.");
            diags.push(Diagnostic::error(INCORRECT, detail).at(at).within(context));
            // Unknown instead of null, so that later checks add no follow-up errors.
            Value::unknown(schema.implied_type())
        }
    }
}

impl<'a> Place<'a> {
    /// Returns the context with another scope.
    pub(super) fn with_scope(&self, scope: &'a dyn Scope) -> Place<'a> {
        Place {
            scope,
            marks: self.marks.clone(),
            unknown: self.unknown,
        }
    }
}
