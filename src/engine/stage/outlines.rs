//! Cache of parsed resource bodies. Each body is parsed once per walk, though it is decoded for
//! every instance.

use cty::schema::Schema;
use lang::config::Resource;
use lang::decode::Outline;
use model::mutex::lock;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// Key: memory address of the resource, which is stable because the walk owns the configuration.
#[derive(Default)]
pub struct Outlines(Mutex<HashMap<usize, Arc<Outline>>>);

impl Outlines {
    /// Returns the outline of `resource`, which must belong to the walk's configuration; `schema`
    /// is that of its type.
    pub fn of(&self, resource: &Resource, schema: &Schema) -> Arc<Outline> {
        let place = std::ptr::from_ref(resource).addr();
        let outline = || Outline::of(&resource.body, &schema.block, schema.implied_type());
        // Parsed under the lock, so that concurrent instances do not repeat the work.
        let mut known = lock(&self.0);
        known
            .entry(place)
            .or_insert_with(|| outline().into())
            .clone()
    }
}
