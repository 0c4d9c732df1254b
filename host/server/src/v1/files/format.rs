//! Formats of archives, and how a client asks for one.

use axum::http::HeaderMap;
use axum::http::header::ACCEPT;
use serde::Deserialize;
use utoipa::ToSchema;

/// A format of archives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[schema(as = ArchiveFormat)]
pub(super) enum Format {
    #[serde(rename = "tar")]
    Tar,
    #[serde(rename = "tar.gz")]
    Gzip,
    #[serde(rename = "zip")]
    Zip,
}

impl Format {
    const ALL: [Self; 3] = [Self::Tar, Self::Gzip, Self::Zip];

    /// Returns the end of the names of such archives.
    pub(super) fn extension(self) -> &'static str {
        match self {
            Self::Tar => "tar",
            Self::Gzip => "tar.gz",
            Self::Zip => "zip",
        }
    }

    /// Returns the media type of such archives.
    pub(super) fn media_type(self) -> &'static str {
        match self {
            Self::Tar => "application/x-tar",
            Self::Gzip => "application/gzip",
            Self::Zip => "application/zip",
        }
    }

    /// Returns the format that a client asks for by its media type.
    pub(super) fn accepted(headers: &HeaderMap) -> Option<Self> {
        let accepted = headers.get_all(ACCEPT).iter();
        let accepted = accepted.filter_map(|value| value.to_str().ok());
        let mut kinds = accepted
            .flat_map(|value| value.split(','))
            .filter_map(|kind| kind.split(';').next());
        kinds.find_map(|kind| {
            let is_it = |format: &Self| kind.trim().eq_ignore_ascii_case(format.media_type());
            Self::ALL.into_iter().find(is_it)
        })
    }
}
