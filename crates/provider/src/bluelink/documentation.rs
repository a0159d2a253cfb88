//! Documentation texts of types: label, summary, description and examples. The adapter reads them
//! on demand, once per process.

use super::adapter::BluelinkProvider;
use super::replies::Reply;
use super::wire::Fault;
use crate::{ProviderSchema, TypeText, TypeTexts};
use calls::{Method, ProviderError};
use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use proto::bluelink::providerserverv1::{
    DataSourceRequest, DataSourceType, DataSourceTypeResponse, ResourceRequest,
};
use proto::bluelink::sharedtypesv1::{
    Examples, ExamplesResponse, ResourceType, ResourceTypeResponse, TypeDescription,
    TypeDescriptionResponse,
};
use std::sync::Arc;

/// Maximum number of types queried concurrently.
const MAX_CONCURRENT_TYPES: usize = 16;

impl BluelinkProvider {
    /// Returns the schema with documentation texts.
    pub(super) async fn with_texts(&self) -> Result<Arc<ProviderSchema>, ProviderError> {
        let made = || async {
            Ok(Arc::new(ProviderSchema {
                resource_texts: self.resource_texts().await?,
                data_texts: self.data_texts().await?,
                ..ProviderSchema::clone(&self.schema)
            }))
        };
        // Stored only on success, so a failed request can be repeated.
        self.documented.get_or_try_init(made).await.cloned()
    }

    async fn resource_texts(&self) -> Result<TypeTexts, ProviderError> {
        let types = self.definitions.iter();
        let types: Vec<_> = types.map(|(n, of)| (n.clone(), of.wire.clone())).collect();
        let all = stream::iter(types.into_iter().map(|(n, wire)| self.of_resource(n, wire)));
        all.buffered(MAX_CONCURRENT_TYPES).try_collect().await
    }

    async fn data_texts(&self) -> Result<TypeTexts, ProviderError> {
        let types = self.data.iter();
        let types: Vec<_> = types.map(|(n, of)| (n.clone(), of.wire.clone())).collect();
        let all = stream::iter(types.into_iter().map(|(n, wire)| self.of_data(n, wire)));
        all.buffered(MAX_CONCURRENT_TYPES).try_collect().await
    }

    async fn of_resource(
        &self,
        name: String,
        wire: String,
    ) -> Result<(String, TypeText), ProviderError> {
        let request = ResourceRequest {
            resource_type: Some(ResourceType { r#type: wire }),
            host_id: self.wire.host_id.clone(),
            context: Some(Default::default()),
        };
        let path = "/providerserverv1.Provider/GetResourceType";
        let label = self.text::<ResourceTypeResponse>(path, request.clone());
        let label = label.await?.label;
        let path = "/providerserverv1.Provider/GetResourceTypeDescription";
        let description = self.text::<TypeDescriptionResponse>(path, request.clone());
        let description = description.await?;
        let path = "/providerserverv1.Provider/GetResourceExamples";
        let examples = self.text::<ExamplesResponse>(path, request).await?;
        Ok((name, text_of(label, description, examples)))
    }

    async fn of_data(
        &self,
        name: String,
        wire: String,
    ) -> Result<(String, TypeText), ProviderError> {
        let request = DataSourceRequest {
            data_source_type: Some(DataSourceType { r#type: wire }),
            host_id: self.wire.host_id.clone(),
            context: Some(Default::default()),
        };
        let path = "/providerserverv1.Provider/GetDataSourceType";
        let label = self.text::<DataSourceTypeResponse>(path, request.clone());
        let label = label.await?.label;
        let path = "/providerserverv1.Provider/GetDataSourceTypeDescription";
        let description = self.text::<TypeDescriptionResponse>(path, request.clone());
        let description = description.await?;
        let path = "/providerserverv1.Provider/GetDataSourceExamples";
        let examples = self.text::<ExamplesResponse>(path, request).await?;
        Ok((name, text_of(label, description, examples)))
    }

    /// Reads one text. Empty if the plugin lacks the call or returns an error, because texts are
    /// optional.
    async fn text<A: Reply>(
        &self,
        path: &'static str,
        request: impl prost::Message + 'static,
    ) -> Result<A::Good, ProviderError>
    where
        A::Good: Default,
    {
        match self.wire.ask::<A>(Method::Schema, path, request).await {
            Ok(good) => Ok(good),
            Err(Fault::Reported(_) | Fault::Call(ProviderError::Unsupported { .. })) => {
                Ok(A::Good::default())
            }
            Err(Fault::Call(error)) => Err(error),
        }
    }
}

fn text_of(label: String, said: TypeDescription, examples: Examples) -> TypeText {
    let first = |texts: [String; 2]| texts.into_iter().find(|text| !text.is_empty());
    TypeText {
        label,
        // Terminals show plain text better; Markdown is the fallback.
        summary: first([said.plain_text_summary, said.markdown_summary]).unwrap_or_default(),
        description: first([said.plain_text_description, said.markdown_description])
            .unwrap_or_default(),
        examples: match examples.examples.is_empty() {
            true => examples.formatted_examples,
            false => examples.examples,
        },
    }
}
