//! Azure clouds and their service addresses.

use super::super::values::Values;
use super::error::AzureError;

/// An Azure cloud.
pub(super) enum Cloud {
    Public,
    Government,
    China,
}

impl Cloud {
    pub(super) fn of(values: &Values<'_>) -> Result<Self, AzureError> {
        // Endpoints of a private cloud would have to be fetched from this host.
        if values
            .text("metadata_host", &["ARM_METADATA_HOST"])
            .is_some()
        {
            return Err(AzureError::MetadataHost);
        }
        match values.text("environment", &["ARM_ENVIRONMENT"]).as_deref() {
            None | Some("public") => Ok(Cloud::Public),
            Some("usgovernment") => Ok(Cloud::Government),
            Some("china") => Ok(Cloud::China),
            Some(other) => Err(AzureError::Environment(other.to_owned())),
        }
    }

    /// Address of the management API.
    pub(super) fn management(&self) -> &'static str {
        match self {
            Self::Public => "https://management.azure.com",
            Self::Government => "https://management.usgovcloudapi.net",
            Self::China => "https://management.chinacloudapi.cn",
        }
    }

    /// Address of the sign-in service.
    pub(super) fn login(&self) -> &'static str {
        match self {
            Self::Public => "https://login.microsoftonline.com",
            Self::Government => "https://login.microsoftonline.us",
            Self::China => "https://login.chinacloudapi.cn",
        }
    }

    /// Domain suffix of storage addresses.
    pub(super) fn storage_suffix(&self) -> &'static str {
        match self {
            Self::Public => "core.windows.net",
            Self::Government => "core.usgovcloudapi.net",
            Self::China => "core.chinacloudapi.cn",
        }
    }
}
