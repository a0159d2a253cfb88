//! Provider `lab`: its configuration, kept during the life of the process, and its types.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use cty::{Number, Value};
use sdk::schema::{Attr, Schema};
use sdk::{
    Context, DataSource, Diagnostic, Diagnostics, EphemeralResource, Failure, Object, Provider,
    Resource, async_trait,
};

use super::control::Watched;
use super::fault::{Fault, On};
use super::fault_block;
use super::image::Image;
use super::kinds::KINDS;
use super::lab_file::LabFile;
use super::resource::LabResource;
use super::session::Session;

/// Configuration of the provider.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) file: LabFile,
    pub(super) control: Watched,
    pub(super) region: String,
    pub(super) faults: Vec<Fault>,
    latencies: Vec<(On, u64)>,
}

impl Settings {
    /// Returns the latency of a call in milliseconds, if the resource sets none.
    pub(super) fn latency(&self, call: On) -> u64 {
        self.latencies
            .iter()
            .find(|(on, _)| *on == call)
            .map_or(0, |(_, ms)| *ms)
    }

    fn read(config: &Value) -> Result<Settings, Diagnostic> {
        let config = Object::of(config)
            .map_err(|problem| Diagnostic::error("the configuration cannot be read", problem))?;
        // The path decides which lab is read, so a plan is impossible without it.
        if config.is_unknown("file") {
            return Err(Diagnostic::error(
                "the path of the lab file is unknown",
                "set \"file\" to a value that does not depend on objects to be created",
            )
            .at_attr("file"));
        }
        let file = config
            .text("file")
            .map_or_else(|| super::directory().join("lab.json"), PathBuf::from);
        let ms = |name: &str| config.get(name).as_number().and_then(Number::to_u64);
        Ok(Settings {
            control: Watched::new(&file),
            file: LabFile::new(file).with_idle_folding(),
            region: config.text("region").unwrap_or("eu-central").to_owned(),
            faults: fault_block::read(&config)?,
            latencies: fault_block::LATENCIES
                .into_iter()
                .filter_map(|(name, on)| Some((on, ms(name)?)))
                .collect(),
        })
    }
}

/// Settings, once configured; shared by the provider and its resources.
pub(super) type Configured = Arc<RwLock<Option<Arc<Settings>>>>;

/// Returns the settings; fails if the provider is not configured.
pub(super) fn settings(configured: &Configured) -> Result<Arc<Settings>, Failure> {
    // The lock is held only to copy the pointer, never during a call.
    let held = configured
        .read()
        .unwrap_or_else(PoisonError::into_inner)
        .clone();
    held.ok_or_else(|| {
        Failure::new(
            "the lab is not configured",
            "the host called a resource before it configured the provider; this is a bug in the host",
        )
    })
}

/// Serves the lab to the host that started this process, until the host ends it. Then folds the
/// journal into the lab file.
///
/// # Errors
/// As [`sdk::serve`].
pub async fn serve() -> Result<(), sdk::ServeError> {
    let lab = Lab::default();
    let configured = lab.configured.clone();
    let served = sdk::serve(lab).await;
    // Without a configuration no lab was used.
    if let Ok(settings) = settings(&configured)
        && let Err(error) = settings.file.fold_journal()
    {
        sdk::log::warn(
            "cannot merge the lab's journal into its file",
            &[("reason", &error)],
        );
    }
    served
}

/// Provider `lab`.
#[derive(Default)]
pub struct Lab {
    configured: Configured,
}

#[async_trait]
impl Provider for Lab {
    fn name(&self) -> &str {
        "lab"
    }

    fn version(&self) -> &str {
        env!("CARGO_PKG_VERSION")
    }

    fn schema(&self) -> Schema {
        Schema::new()
            .describe("A fake cloud, kept in a file.")
            .attr(
                Attr::string("file")
                    .describe("The lab's file; default: `lab.json` in the directory named by FLIGHTDECK_LAB_DIR, else in `.flightdeck`."),
            )
            .attr(Attr::string("region").describe("Default `eu-central`."))
            .attrs(fault_block::latencies())
            .block(fault_block::block(true))
    }

    fn resources(&self) -> Vec<Arc<dyn Resource>> {
        KINDS
            .iter()
            .map(|kind| {
                Arc::new(LabResource::new(kind, self.configured.clone())) as Arc<dyn Resource>
            })
            .collect()
    }

    fn data_sources(&self) -> Vec<Arc<dyn DataSource>> {
        vec![Arc::new(Image)]
    }

    fn ephemeral_resources(&self) -> Vec<Arc<dyn EphemeralResource>> {
        vec![Arc::new(Session::new(self.configured.clone()))]
    }

    async fn configure(&self, _: &Context, config: &Value) -> Diagnostics {
        match Settings::read(config) {
            Ok(settings) => {
                sdk::log::info(
                    "configured",
                    &[
                        ("file", &settings.file.path().display().to_string()),
                        ("region", &settings.region),
                    ],
                );
                // Calls that still run keep the settings that they started with.
                *self
                    .configured
                    .write()
                    .unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(settings));
                Diagnostics::new()
            }
            Err(diagnostic) => diagnostic.into(),
        }
    }
}
