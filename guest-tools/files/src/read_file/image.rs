//! Pictures, in a form that models take: small enough, upright, and one frame.

mod bounds;
mod encode;
mod progressive;

use std::io::Cursor;

use image::codecs::{gif::GifDecoder, jpeg::JpegDecoder, png::PngDecoder, webp::WebPDecoder};
use image::error::LimitErrorKind;
use image::metadata::Orientation;
use image::{DynamicImage, ImageDecoder, ImageError, ImageFormat, ImageResult, Limits};
use schemars::JsonSchema;
use serde::Serialize;

pub(super) use bounds::Bounds;

/// The largest file, in bytes.
pub(super) const MAX_FILE: u64 = 32 << 20;

/// The most bytes that the pixels of a picture may take, both as the file has them and with 8 bits for each channel: 32 million pixels of a
/// photo, 24 million with transparency.
const MAX_DECODED: u64 = 96 << 20;

/// A picture that a model is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Picture {
    pub(super) media_type: &'static str,
    pub(super) data: Vec<u8>,
    pub(super) facts: Facts,
}

/// The sizes of a picture. Those of the file are upright: after the rotation that the file asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct Facts {
    /// The width of the image in the file, in pixels.
    width: u32,
    /// Its height.
    height: u32,
    /// The width of the image that is shown, if it is smaller.
    #[serde(skip_serializing_if = "Option::is_none")]
    shown_width: Option<u32>,
    /// Its height.
    #[serde(skip_serializing_if = "Option::is_none")]
    shown_height: Option<u32>,
    /// The type of the image that is shown, if it is another one than that of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    shown_as: Option<&'static str>,
}

/// Returns a picture within these bounds. If the file is within them, its bytes are the picture.
///
/// # Errors
///
/// A sentence that says why it cannot be shown.
pub(super) fn shown(
    file: Vec<u8>,
    format: ImageFormat,
    bounds: &Bounds,
) -> Result<Picture, String> {
    let (image, orientation, is_animated) = decode(&file, format).map_err(reason)?;
    let turns = orientation_turns(orientation);
    let (width, height) = match turns {
        true => (image.height(), image.width()),
        false => (image.width(), image.height()),
    };
    let mut facts = Facts {
        width,
        height,
        ..Facts::default()
    };
    let (shown_width, shown_height) = bounds.scaled(width, height);
    let is_scaled = (shown_width, shown_height) != (width, height);
    let is_upright = orientation == Orientation::NoTransforms;
    // Not every provider takes GIF.
    let is_taken = format != ImageFormat::Gif && !is_animated && file.len() <= bounds.bytes;
    if !is_scaled && is_upright && is_taken {
        return Ok(Picture {
            media_type: format.to_mime_type(),
            data: file,
            facts,
        });
    }
    drop(file);
    let (to_width, to_height) = match turns {
        true => (shown_height, shown_width),
        false => (shown_width, shown_height),
    };
    let mut image = match is_scaled {
        true => scaled(&image, to_width, to_height),
        false => image,
    };
    image.apply_orientation(orientation);
    let (encoded, media_type, image) =
        encode::within(image, format, bounds.bytes).ok_or_else(|| {
            format!(
                "it does not fit into {} bytes, which image_max_bytes of the settings allows",
                bounds.bytes
            )
        })?;
    if (image.width(), image.height()) != (width, height) {
        (facts.shown_width, facts.shown_height) = (Some(image.width()), Some(image.height()));
    }
    facts.shown_as = (media_type != format.to_mime_type()).then_some(media_type);
    Ok(Picture {
        media_type,
        data: encoded,
        facts,
    })
}

/// Returns the image with 8 bits for each channel, how it is turned, and whether it has several frames, of which this is the first.
fn decode(file: &[u8], format: ImageFormat) -> ImageResult<(DynamicImage, Orientation, bool)> {
    let mut limits = Limits::default();
    limits.max_alloc = Some(MAX_DECODED);
    let read = Cursor::new(file);
    match format {
        ImageFormat::Png => {
            let decoder = PngDecoder::with_limits(read, limits.clone())?;
            let is_animated = decoder.is_apng()?;
            pixels(decoder, limits, is_animated)
        }
        ImageFormat::Gif => pixels(GifDecoder::new(read)?, limits, true),
        ImageFormat::WebP => {
            let decoder = WebPDecoder::new(read)?;
            let is_animated = decoder.has_animation();
            pixels(decoder, limits, is_animated)
        }
        _ => {
            limits.clone().reserve(progressive::coefficients(file))?;
            pixels(JpegDecoder::new(read)?, limits, false)
        }
    }
}

fn pixels(
    mut decoder: impl ImageDecoder,
    mut limits: Limits,
    is_animated: bool,
) -> ImageResult<(DynamicImage, Orientation, bool)> {
    // The pixels are what the file says they are before any of them is there. Those with 8 bits for each channel may be a copy.
    let (width, height) = decoder.dimensions();
    let channels = match decoder.color_type().has_alpha() {
        true => 4,
        false => 3,
    };
    let converted = u64::from(width) * u64::from(height) * channels;
    limits.clone().reserve(converted)?;
    limits.reserve(decoder.total_bytes())?;
    decoder.set_limits(limits)?;
    let orientation = decoder.orientation()?;
    let image = DynamicImage::from_decoder(decoder)?;
    let image = match image.color().has_alpha() {
        true => DynamicImage::ImageRgba8(image.into_rgba8()),
        false => DynamicImage::ImageRgb8(image.into_rgb8()),
    };
    Ok((image, orientation, is_animated))
}

/// Scales an image down.
fn scaled(image: &DynamicImage, width: u32, height: u32) -> DynamicImage {
    image.thumbnail_exact(width, height)
}

/// Returns whether width and height change places.
fn orientation_turns(orientation: Orientation) -> bool {
    use Orientation::{Rotate90, Rotate90FlipH, Rotate270, Rotate270FlipH};
    matches!(
        orientation,
        Rotate90 | Rotate270 | Rotate90FlipH | Rotate270FlipH
    )
}

fn reason(error: ImageError) -> String {
    match error {
        ImageError::Limits(error) => match error.kind() {
            LimitErrorKind::InsufficientMemory => {
                format!("its pixels would take more than {} MiB", MAX_DECODED >> 20)
            }
            _ => format!("it is too large: {error}"),
        },
        ImageError::Unsupported(error) => format!("this kind of it is not known: {error}"),
        error => format!("it is damaged: {error}"),
    }
}

#[cfg(test)]
pub(super) mod tests;
