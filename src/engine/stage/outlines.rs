//! Bodies of resources as they were looked at, each once in a walk: they are decoded for every
//! instance.

use crate::engine::mutex::lock;
use cty::schema::Schema;
use lang::config::Resource;
use lang::decode::Outline;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// By where a resource stands in memory: the configuration of a walk stays where it is for as long.
#[derive(Default)]
pub struct Outlines(Mutex<HashMap<usize, Arc<Outline>>>);

impl Outlines {
    /// `resource` is one of the configuration that is walked, `schema` that of its type.
    pub fn of(&self, resource: &Resource, schema: &Schema) -> Arc<Outline> {
        let place = std::ptr::from_ref(resource).addr();
        let outline = || Outline::of(&resource.body, &schema.block, schema.implied_type());
        let mut known = lock(&self.0);
        known
            .entry(place)
            .or_insert_with(|| outline().into())
            .clone()
    }
}
