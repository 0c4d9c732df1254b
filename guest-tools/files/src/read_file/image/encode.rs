//! Writing a picture within a number of bytes.

use image::codecs::jpeg::JpegEncoder;
use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::{DynamicImage, ImageEncoder, ImageFormat, Rgb, RgbImage};

/// The qualities of JPEG that are tried, one after the other.
const QUALITIES: [u8; 4] = [85, 70, 55, 40];

/// Returns the encoded picture, its media type, and the image that it shows: in the best quality that fits, and smaller if none does.
/// Drawings and what has transparent parts stay PNG if they can.
pub(super) fn within(
    mut image: DynamicImage,
    format: ImageFormat,
    bytes: usize,
) -> Option<(Vec<u8>, &'static str, DynamicImage)> {
    let is_drawing = matches!(format, ImageFormat::Png | ImageFormat::Gif);
    loop {
        if (is_drawing || image.color().has_alpha())
            && let Some(data) = png(&image).filter(|data| data.len() <= bytes)
        {
            return Some((data, "image/png", image));
        }
        let flat = opaque(&image);
        let jpegs = QUALITIES
            .into_iter()
            .filter_map(|quality| jpeg(&flat, quality));
        if let Some(data) = jpegs.into_iter().find(|data| data.len() <= bytes) {
            return Some((data, "image/jpeg", DynamicImage::ImageRgb8(flat)));
        }
        if image.width() == 1 && image.height() == 1 {
            return None;
        }
        let half = |edge: u32| (edge / 2).max(1);
        image = image.thumbnail_exact(half(image.width()), half(image.height()));
    }
}

fn png(image: &DynamicImage) -> Option<Vec<u8>> {
    let mut data = Vec::new();
    let encoder =
        PngEncoder::new_with_quality(&mut data, CompressionType::Default, FilterType::Adaptive);
    image.write_with_encoder(encoder).ok()?;
    Some(data)
}

fn jpeg(image: &RgbImage, quality: u8) -> Option<Vec<u8>> {
    let mut data = Vec::new();
    let (width, height) = image.dimensions();
    JpegEncoder::new_with_quality(&mut data, quality)
        .write_image(
            image.as_raw(),
            width,
            height,
            image::ExtendedColorType::Rgb8,
        )
        .ok()?;
    Some(data)
}

/// Puts an image in front of white.
fn opaque(image: &DynamicImage) -> RgbImage {
    let DynamicImage::ImageRgba8(image) = image else {
        return image.to_rgb8();
    };
    RgbImage::from_fn(image.width(), image.height(), |x, y| {
        let [red, green, blue, alpha] = image.get_pixel(x, y).0;
        let mixed = |channel: u8| {
            let (channel, alpha) = (u32::from(channel), u32::from(alpha));
            let mixed = (channel * alpha + 255 * (255 - alpha)) / 255;
            u8::try_from(mixed).unwrap_or(u8::MAX)
        };
        Rgb([mixed(red), mixed(green), mixed(blue)])
    })
}
