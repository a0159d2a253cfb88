//! Runs the checks of a schema's attributes on a configuration.

use cty::{Path, Value};

use crate::diagnostics::{Diagnostic, Diagnostics};
use crate::schema::{Attr, AttrType, Block, Schema};
use crate::values::elements;

/// Returns the errors of the attributes' checks.
pub(crate) fn check_attributes(schema: &Schema, config: &Value) -> Diagnostics {
    let mut found = Diagnostics::new();
    block(&schema.block, config, &Path::root(), &mut found);
    found
}

fn block(schema: &Block, value: &Value, path: &Path, found: &mut Diagnostics) {
    attributes(&schema.attributes, value, path, found);
    for nested in &schema.blocks {
        let Some(inner) = value.get_attr(&nested.name) else {
            continue;
        };
        for (path, element) in elements(nested.nesting, &inner, &path.attr(nested.name.as_str())) {
            block(&nested.block, &element, &path, found);
        }
    }
}

fn attributes(attrs: &[Attr], value: &Value, path: &Path, found: &mut Diagnostics) {
    for attr in attrs {
        let Some(inner) = value.get_attr(&attr.name) else {
            continue;
        };
        let path = path.attr(attr.name.as_str());
        // Unknown values are checked when they are known; null means "not set".
        if let Some(check) = attr.check.as_ref().filter(|_| inner.is_given())
            && let Err(problem) = check(&inner)
        {
            found.push(
                Diagnostic::error(format!("invalid value for {}", attr.name), problem)
                    .at(path.clone()),
            );
        }
        if let AttrType::Nested(nesting, attrs) = &attr.ty {
            for (path, element) in elements(*nesting, &inner, &path) {
                attributes(attrs, &element, &path, found);
            }
        }
    }
}
