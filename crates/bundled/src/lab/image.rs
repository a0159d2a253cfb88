//! Data source `lab_image`: images for servers, from a fixed catalogue.

use cty::Value;
use sdk::schema::{Attr, Schema};
use sdk::{Context, DataSource, Diagnostic, Failure, Object, async_trait};

use super::thing::digest;

const FAMILIES: [(&str, &str); 4] = [
    ("debian", "13.2"),
    ("ubuntu", "26.04"),
    ("alpine", "3.24"),
    ("flatcar", "4593.1"),
];

/// Data source `lab_image`.
pub(super) struct Image;

#[async_trait]
impl DataSource for Image {
    fn name(&self) -> &str {
        "lab_image"
    }

    fn schema(&self) -> Schema {
        Schema::new()
            .describe("The newest image of a family.")
            .attr(
                Attr::string("family")
                    .required()
                    .describe("`debian`, `ubuntu`, `alpine` or `flatcar`."),
            )
            .attr(
                Attr::string("architecture")
                    .one_of(&["x86_64", "aarch64"])
                    .describe("Default `x86_64`."),
            )
            .attr(Attr::string("id").computed())
            .attr(Attr::string("version").computed())
    }

    async fn read(&self, _: &Context, config: Value) -> Result<Value, Failure> {
        let mut object = Object::of(&config)
            .map_err(|problem| Failure::new("the configuration cannot be read", problem))?;
        let family = object.text("family").unwrap_or_default().to_owned();
        let Some((_, version)) = FAMILIES.iter().find(|(name, _)| *name == family) else {
            let known: Vec<&str> = FAMILIES.iter().map(|(name, _)| *name).collect();
            return Err(Diagnostic::error(
                format!("no image family {family}"),
                format!("available: {}", known.join(", ")),
            )
            .at_attr("family")
            .into());
        };
        let architecture = object.text("architecture").unwrap_or("x86_64").to_owned();
        object.set(
            "id",
            format!("img-{}", digest(&[&family, version, &architecture])),
        );
        object.set("version", *version);
        object
            .into_value()
            .map_err(|problem| Failure::new("the image is not valid", problem))
    }
}
