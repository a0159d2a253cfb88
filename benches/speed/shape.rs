//! Deployed resources: n objects, and n others that each depend on one of the first. Modelled on
//! `random_pet` and `null_resource`.

use cty::{Type, Value};

/// Resource type as the benchmark uses it.
pub struct Kind {
    pub type_name: &'static str,
    /// True if objects have a name attribute.
    pub named: bool,
    /// Map of strings whose change requires replacement, if the type has one.
    pub triggers: Option<&'static str>,
    /// True if each object depends on one of the other type.
    pub needs: bool,
}

impl Kind {
    /// Returns the arguments of object `i`. `on` is the id of the object that it depends on; `None`
    /// means not yet known.
    pub fn config(&self, i: usize, on: Option<&Value>) -> Vec<(&'static str, Value)> {
        // An unknown value stands for the id of an object that is not created yet.
        let element = match (self.needs, on) {
            (false, _) => Value::string(i.to_string()),
            (true, Some(id)) => id.clone(),
            (true, None) => Value::unknown(Type::String),
        };
        let mut all: Vec<_> = self
            .triggers
            .map(|name| (name, Value::map(Type::String, [("on", element)])))
            .into_iter()
            .collect();
        if self.named {
            all.push(("name", Value::string(format!("{}-{i}", self.label()))));
        }
        all
    }

    fn label(&self) -> &'static str {
        if self.needs { "second" } else { "first" }
    }

    /// Returns the configuration text of `n` objects.
    pub fn text(&self, n: usize, on: &str) -> String {
        let label = self.label();
        let name = if self.named {
            format!("  name = \"{label}-${{count.index}}\"\n")
        } else {
            String::new()
        };
        let triggers = self
            .triggers
            .map(|name| format!("  {name} = {{ on = {on} }}\n"))
            .unwrap_or_default();
        format!(
            "resource \"{}\" \"{label}\" {{\n  count = {n}\n{name}{triggers}}}\n",
            self.type_name
        )
    }
}
