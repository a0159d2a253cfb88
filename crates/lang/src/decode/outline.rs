//! Body parsed by its schema, independent of a scope: the members that the body sets, and default
//! values of all others. A resource's body is parsed once and decoded for each instance.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use cty::schema::Block;
use cty::{Marks, ObjectType, Type, Value};

use super::dynamic::is_dynamic;
use super::references::{has_dynamic, live_references};
use super::{Decoder, Place, shape};
use crate::body::{Body, Content};
use crate::diag::{Diagnostic, Diagnostics};
use crate::eval::Scope;
use crate::syntax::Traversal;

/// Body parsed by a schema. The outline does not keep the schema, so each call passes it again.
pub struct Outline {
    body: Body,
    /// Arguments that are lists of objects may be written as blocks.
    lenient: bool,
    content: Content,
    /// Errors that do not depend on the scope.
    errors: Diagnostics,
    /// Members of the object, sorted by name. Members that are not written have their values here.
    members: Vec<(Arc<str>, Value)>,
    /// Written members in decoding order: arguments, then blocks.
    written: Vec<(usize, Written)>,
    /// Type of the object, valid if all members have the types of the schema.
    object: Option<Arc<ObjectType>>,
    /// References of a body without `dynamic` blocks, which do not depend on the scope.
    references: OnceLock<Option<Vec<Traversal>>>,
}

/// Form of a written member.
#[derive(Clone, Copy)]
enum Written {
    Argument,
    /// List or set of objects, written as blocks.
    ArgumentAsBlocks,
    Blocks,
}

impl Outline {
    /// Creates the outline. `ty` is the type implied by the schema, shared by all values of this
    /// body.
    pub fn of(body: &Body, schema: &Block, ty: &Type) -> Self {
        let object = match ty {
            Type::Object(object) => Some(object.clone()),
            _ => None,
        };
        Self {
            object,
            ..Self::new(body, schema, shape::may_be_blocks(schema))
        }
    }

    pub(super) fn new(body: &Body, schema: &Block, lenient: bool) -> Self {
        let as_blocks = if lenient {
            shape::not_arguments(body, schema)
        } else {
            BTreeSet::new()
        };
        let (content, mut faults) = body.content(&shape::body_schema(schema, &as_blocks));
        unknown_dynamics(&content, schema, &as_blocks, &mut faults);
        let has_blocks = |name: &str| {
            let mut blocks = content.blocks.iter();
            blocks.any(|b| *b.type_name == *name || is_dynamic(b, name))
        };
        let arguments = schema.attributes.iter().map(|(name, attribute)| {
            let as_blocks = as_blocks.contains(&**name);
            let written = match as_blocks {
                true => has_blocks(name).then_some(Written::ArgumentAsBlocks),
                false => content.attribute(name).map(|_| Written::Argument),
            };
            (name, written, attribute.empty_value())
        });
        // Missing required blocks are reported by decoding.
        let blocks = schema.blocks.iter().map(|(name, nested)| {
            let written = has_blocks(name) || nested.min_items > 0;
            (
                name,
                written.then_some(Written::Blocks),
                nested.empty_value(),
            )
        });
        let mut members: Vec<(Arc<str>, Value)> = Vec::new();
        let mut found: Vec<(Arc<str>, Written)> = Vec::new();
        // An attribute hides a block type of the same name.
        let blocks = blocks.filter(|(name, ..)| !schema.attributes.contains_key(*name));
        for (name, written, value) in arguments.chain(blocks) {
            members.push((name.clone(), value));
            found.extend(written.map(|written| (name.clone(), written)));
        }
        members.sort_by(|a, b| a.0.cmp(&b.0));
        let at = |name: &Arc<str>| members.binary_search_by(|(have, _)| have.cmp(name)).ok();
        let written = found.iter();
        let written = written.filter_map(|(name, written)| Some((at(name)?, *written)));
        Self {
            written: written.collect(),
            body: body.clone(),
            lenient,
            content,
            errors: faults,
            members,
            object: None,
            references: OnceLock::new(),
        }
    }

    /// References used by decoding: see [`live_references`].
    pub fn references(&self, schema: &Block, scope: &dyn Scope) -> Cow<'_, [Traversal]> {
        let live = || live_references(&self.body, schema, scope);
        let always = self
            .references
            .get_or_init(|| (!has_dynamic(&self.body, schema)).then(live));
        match always {
            Some(references) => Cow::Borrowed(references),
            None => Cow::Owned(live()),
        }
    }

    /// The value of the body: see [`super::decode_block`].
    pub fn decode(&self, schema: &Block, scope: &dyn Scope) -> (Value, Diagnostics) {
        let mut diags = Diagnostics::new();
        let place = Place {
            scope,
            marks: Marks::none(),
            unknown: false,
        };
        let value = self.value(schema, &place, &mut diags);
        (value, diags)
    }

    pub(super) fn value(
        &self,
        schema: &Block,
        place: &Place<'_>,
        diags: &mut Diagnostics,
    ) -> Value {
        // Each instance reports them, because each decodes on its own.
        diags.append(self.errors.clone());
        let decoder = Decoder {
            content: &self.content,
            schema,
            lenient: self.lenient,
            place,
        };
        let mut members = self.members.clone();
        for (at, written) in &self.written {
            let (name, value) = &mut members[*at];
            let (argument, nested) = (schema.attributes.get(name), schema.blocks.get(name));
            *value = match (written, argument, nested) {
                (Written::Argument, Some(argument), _) => decoder.attribute(name, argument, diags),
                (Written::ArgumentAsBlocks, Some(argument), _) => {
                    decoder.blocks_as_attribute(name, argument, diags)
                }
                (Written::Blocks, _, Some(nested)) => decoder.nested(name, nested, diags),
                // The schema differs from the one of the outline.
                _ => continue,
            };
        }
        match &self.object {
            Some(object) => Value::object_of_type(object, members),
            None => Value::object_from_map(members),
        }
    }
}

/// Reports `dynamic` blocks with block types that the schema does not have.
fn unknown_dynamics(
    content: &Content,
    schema: &Block,
    as_blocks: &BTreeSet<&str>,
    diags: &mut Diagnostics,
) {
    if schema.blocks.contains_key("dynamic") {
        return;
    }
    for block in content.blocks_of("dynamic") {
        let Some(label) = block.labels.first() else {
            continue;
        };
        if !schema.blocks.contains_key(&*label.text) && !as_blocks.contains(&*label.text) {
            let detail = format!("Blocks of type {:?} are not expected here.", &*label.text);
            diags.push(Diagnostic::error("Unsupported block type", detail).at(label.span));
        }
    }
}
