//! How large a picture may be that a model is shown.

use toolhost_sdk::settings;

/// Bounds of a picture. The settings of the plugin have these names with `image_max_` in front.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::read_file) struct Bounds {
    /// The most pixels of the longer edge.
    pub(super) edge: u32,
    /// The most pixels in all.
    pub(super) pixels: u64,
    /// The most bytes of the encoded picture.
    pub(super) bytes: usize,
}

impl Default for Bounds {
    /// Returns the sizes beyond which providers scale an image themselves, so that coordinates which a model reads off it are those of the
    /// picture; and bytes that fit into the reply of a tool.
    fn default() -> Self {
        Self {
            edge: 1_568,
            pixels: 1_150_000,
            bytes: 768 << 10,
        }
    }
}

impl Bounds {
    /// Returns the bounds that the operator set. The host has checked the numbers.
    pub(in crate::read_file) fn of_settings() -> Self {
        fn number<T: std::str::FromStr>(name: &str, default: T) -> T {
            let text = settings::get(name);
            text.and_then(|text| text.parse().ok()).unwrap_or(default)
        }
        let Self {
            edge,
            pixels,
            bytes,
        } = Self::default();
        Self {
            edge: number("image_max_edge", edge),
            pixels: number("image_max_pixels", pixels),
            bytes: number("image_max_bytes", bytes),
        }
    }

    /// Returns the bounds of a picture that has this many bytes left.
    pub(in crate::read_file) fn with_bytes(&self, bytes: usize) -> Self {
        Self {
            bytes: bytes.min(self.bytes),
            ..self.clone()
        }
    }

    pub(in crate::read_file) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the largest size within the bounds that has the same shape, and is not larger than this one.
    pub(super) fn scaled(&self, width: u32, height: u32) -> (u32, u32) {
        let area = f64::from(width) * f64::from(height);
        #[expect(
            clippy::cast_precision_loss,
            reason = "a number of pixels is far below 2^53"
        )]
        let by_area = (self.pixels as f64 / area.max(1.0)).sqrt();
        let by_edge = f64::from(self.edge) / f64::from(width.max(height).max(1));
        let scale = by_area.min(by_edge);
        if scale >= 1.0 {
            return (width, height);
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is between 1 and the edge that there is"
        )]
        // A side that is too long by a rounding error alone keeps its length.
        let edge = |edge: u32| (f64::from(edge) * scale + 1e-6).floor().max(1.0) as u32;
        (edge(width), edge(height))
    }
}
