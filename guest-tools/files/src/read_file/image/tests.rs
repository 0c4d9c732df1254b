//! Pictures that are made here.

use image::codecs::gif::GifEncoder;
use image::codecs::jpeg::JpegEncoder;
use image::{Frame, ImageEncoder, Rgb, RgbImage, Rgba, RgbaImage};

use super::*;

pub(in crate::read_file) fn encoded(image: &DynamicImage, format: ImageFormat) -> Vec<u8> {
    let mut data = Cursor::new(Vec::new());
    image.write_to(&mut data, format).unwrap();
    data.into_inner()
}

/// A drawing that compresses well: the left half is red, the right one blue.
pub(in crate::read_file) fn drawing(width: u32, height: u32) -> DynamicImage {
    DynamicImage::ImageRgb8(RgbImage::from_fn(width, height, |x, _| {
        match x * 2 < width {
            true => Rgb([255, 0, 0]),
            false => Rgb([0, 0, 255]),
        }
    }))
}

/// A photo, that is, a picture that does not compress well.
fn noise(width: u32, height: u32) -> DynamicImage {
    let mut state = 1_u32;
    DynamicImage::ImageRgb8(RgbImage::from_fn(width, height, |_, _| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let [one, two, three, _] = state.to_be_bytes();
        Rgb([one, two, three])
    }))
}

/// A small PNG.
pub(in crate::read_file) fn picture() -> Vec<u8> {
    encoded(&drawing(4, 4), ImageFormat::Png)
}

fn show(file: Vec<u8>, format: ImageFormat) -> Result<Picture, String> {
    shown(file, format, &Bounds::default())
}

fn sizes(facts: &Facts) -> (u32, u32, Option<(u32, u32)>) {
    let shown = facts.shown_width.zip(facts.shown_height);
    (facts.width, facts.height, shown)
}

/// Returns the decoded picture.
fn pixels_of(picture: &Picture) -> DynamicImage {
    image::load_from_memory(&picture.data).unwrap()
}

#[test]
fn what_is_small_enough_stays_as_it_is() {
    for format in [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::WebP] {
        let file = encoded(&drawing(40, 30), format);
        let picture = show(file.clone(), format).unwrap();
        assert_eq!(picture.data, file, "{format:?}");
        assert_eq!(picture.media_type, format.to_mime_type());
        assert_eq!(sizes(&picture.facts), (40, 30, None));
        assert_eq!(picture.facts.shown_as, None);
    }
}

#[test]
fn what_is_large_is_scaled() {
    let photo = show(
        encoded(&noise(1600, 1200), ImageFormat::Jpeg),
        ImageFormat::Jpeg,
    )
    .unwrap();
    assert_eq!(sizes(&photo.facts), (1600, 1200, Some((1238, 928))));
    assert!(photo.media_type == "image/jpeg" && photo.data.len() <= 768 << 10);
    let screenshot = show(
        encoded(&drawing(3000, 300), ImageFormat::Png),
        ImageFormat::Png,
    )
    .unwrap();
    assert_eq!(sizes(&screenshot.facts), (3000, 300, Some((1568, 156))));
    let picture = pixels_of(&screenshot);
    assert_eq!((picture.width(), picture.height()), (1568, 156));
    assert_eq!(picture.to_rgb8().get_pixel(10, 10).0, [255, 0, 0]);
    assert_eq!(screenshot.media_type, "image/png");
}

#[test]
fn what_has_many_bytes_becomes_a_jpeg_and_then_smaller() {
    let file = encoded(&noise(600, 600), ImageFormat::Png);
    assert!(file.len() > 768 << 10);
    let picture = show(file.clone(), ImageFormat::Png).unwrap();
    assert_eq!(picture.media_type, "image/jpeg");
    assert_eq!(picture.facts.shown_as, Some("image/jpeg"));
    assert!(picture.data.len() <= 768 << 10);
    let bounds = Bounds::default().with_bytes(5_000);
    let small = shown(file.clone(), ImageFormat::Png, &bounds).unwrap();
    assert!(small.data.len() <= 5_000);
    let (width, _, shown_size) = sizes(&small.facts);
    assert!(width == 600 && shown_size.unwrap().0 < 600);
    let none = shown(file, ImageFormat::Png, &bounds.with_bytes(10)).unwrap_err();
    assert!(none.contains("image_max_bytes"), "{none}");
}

#[test]
fn transparent_parts_stay() {
    let clear = RgbaImage::from_pixel(3000, 100, Rgba([0, 0, 0, 0]));
    let file = encoded(&DynamicImage::ImageRgba8(clear), ImageFormat::Png);
    let picture = show(file, ImageFormat::Png).unwrap();
    assert_eq!(picture.media_type, "image/png");
    assert_eq!(pixels_of(&picture).to_rgba8().get_pixel(5, 5).0[3], 0);
}

#[test]
fn deep_colours_and_grey_are_shown() {
    let deep = DynamicImage::ImageRgb16(drawing(2000, 20).into_rgb16());
    let grey = DynamicImage::ImageLuma8(drawing(2000, 20).into_luma8());
    for image in [deep, grey] {
        let picture = show(encoded(&image, ImageFormat::Png), ImageFormat::Png).unwrap();
        assert_eq!(sizes(&picture.facts), (2000, 20, Some((1568, 15))));
    }
}

/// Puts a rotation into a JPEG file, as cameras do.
fn turned(jpeg: &[u8], orientation: u8) -> Vec<u8> {
    let tiff = [
        b"Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0".as_slice(),
        &[orientation, 0, 0, 0, 0, 0, 0],
    ]
    .concat();
    let length = u16::try_from(tiff.len() + 2).unwrap().to_be_bytes();
    [&jpeg[..2], &[0xff, 0xe1], &length, &tiff, &jpeg[2..]].concat()
}

#[test]
fn photos_are_upright() {
    let jpeg = encoded(&drawing(40, 20), ImageFormat::Jpeg);
    // The left half is red. Turned to the right, that is the upper half.
    let picture = show(turned(&jpeg, 6), ImageFormat::Jpeg).unwrap();
    assert_eq!(sizes(&picture.facts), (20, 40, None));
    let upright = pixels_of(&picture).to_rgb8();
    assert_eq!(upright.dimensions(), (20, 40));
    let (top, bottom) = (upright.get_pixel(10, 5).0, upright.get_pixel(10, 35).0);
    assert!(top[0] > 200 && bottom[2] > 200, "{top:?} {bottom:?}");
    let large = encoded(&drawing(2000, 1000), ImageFormat::Jpeg);
    let picture = show(turned(&large, 8), ImageFormat::Jpeg).unwrap();
    assert_eq!(sizes(&picture.facts), (1000, 2000, Some((758, 1516))));
    let same = turned(&jpeg, 1);
    assert_eq!(show(same.clone(), ImageFormat::Jpeg).unwrap().data, same);
}

#[test]
fn of_an_animation_the_first_frame_is_shown() {
    let mut data = Vec::new();
    let mut encoder = GifEncoder::new(&mut data);
    for colour in [[255, 0, 0, 255], [0, 255, 0, 255]] {
        let frame = RgbaImage::from_pixel(8, 8, Rgba(colour));
        encoder.encode_frame(Frame::new(frame)).unwrap();
    }
    drop(encoder);
    let picture = show(data, ImageFormat::Gif).unwrap();
    assert_eq!(picture.media_type, "image/png");
    assert_eq!(picture.facts.shown_as, Some("image/png"));
    let [red, green, ..] = pixels_of(&picture).to_rgba8().get_pixel(3, 3).0;
    assert!(red > 200 && green < 50);
}

/// Makes a PNG say that it is of another size.
pub(in crate::read_file) fn bomb(width: u32, height: u32) -> Vec<u8> {
    let mut file = encoded(&drawing(1, 1), ImageFormat::Png);
    file[16..20].copy_from_slice(&width.to_be_bytes());
    file[20..24].copy_from_slice(&height.to_be_bytes());
    let mut check = flate2::Crc::new();
    check.update(&file[12..29]);
    file[29..33].copy_from_slice(&check.sum().to_be_bytes());
    file
}

#[test]
fn what_would_take_too_much_memory_is_refused() {
    for (width, height) in [(60_000, 60_000), (20_000, 2_000), (1 << 31, 1)] {
        let why = show(bomb(width, height), ImageFormat::Png).unwrap_err();
        assert!(why.contains("96 MiB"), "{width} x {height}: {why}");
    }
    // The frame of a JPEG is at a known place: behind the tables.
    let mut jpeg = encoded(&drawing(8, 8), ImageFormat::Jpeg);
    let frame = jpeg.windows(2).position(|two| two == [0xff, 0xc0]).unwrap();
    jpeg[frame + 5..frame + 9].copy_from_slice(&[0xff, 0xff, 0xff, 0xff]);
    let why = show(jpeg, ImageFormat::Jpeg).unwrap_err();
    assert!(why.contains("96 MiB"), "{why}");
}

#[test]
fn what_is_damaged_is_said_to_be() {
    let png = encoded(&drawing(40, 30), ImageFormat::Png);
    for (file, format) in [
        (png[..png.len() / 2].to_vec(), ImageFormat::Png),
        (b"\x89PNG\r\n\x1a\n".to_vec(), ImageFormat::Png),
        (b"\xff\xd8\xff".to_vec(), ImageFormat::Jpeg),
        (b"GIF89a".to_vec(), ImageFormat::Gif),
        (b"RIFF\0\0\0\0WEBPVP8 ".to_vec(), ImageFormat::WebP),
    ] {
        let why = show(file, format).unwrap_err();
        assert!(!why.is_empty(), "{format:?}");
    }
    // The widest JPEG.
    let wide = RgbImage::new(65_535, 1);
    let mut file = Vec::new();
    JpegEncoder::new(&mut file)
        .write_image(wide.as_raw(), 65_535, 1, image::ExtendedColorType::Rgb8)
        .unwrap();
    let picture = show(file, ImageFormat::Jpeg).unwrap();
    assert_eq!(sizes(&picture.facts), (65_535, 1, Some((1568, 1))));
}

/// A drawing in shades of gray has one byte for each pixel in the file, and three when it is shown.
#[test]
fn pixels_count_as_they_are_shown() {
    let why = "its pixels would take more than 96 MiB";
    let gray = DynamicImage::new_luma8(6_000, 6_000);
    let refused = show(encoded(&gray, ImageFormat::Png), ImageFormat::Png).unwrap_err();
    assert_eq!(refused, why);
    let transparent = DynamicImage::new_luma_a8(5_100, 5_100);
    let refused = show(encoded(&transparent, ImageFormat::Png), ImageFormat::Png).unwrap_err();
    assert_eq!(refused, why);
}

/// The decoder keeps two bytes for each sample of a progressive file.
#[test]
fn coefficients_count_as_well() {
    let frame = |marker: u8, edge: u16, factors: u8| {
        let [high, low] = edge.to_be_bytes();
        let comment = [0xff, 0xfe, 0, 4, 0xff, 0xc2];
        let frame = [0xff, marker, 0, 17, 8, high, low, high, low, 3];
        let components = [1, factors, 0, 2, 0x11, 0, 3, 0x11, 0];
        let scan = [0xff, 0xda, 0, 12, 3, 1, 0, 2, 0, 3, 0, 0, 63, 0];
        [&[0xff, 0xd8][..], &comment, &frame, &components, &scan].concat()
    };
    assert_eq!(progressive::coefficients(&frame(0xc2, 100, 0x11)), 60_000);
    assert_eq!(progressive::coefficients(&frame(0xc2, 100, 0x22)), 30_000);
    assert_eq!(progressive::coefficients(&frame(0xc0, 100, 0x11)), 0);
    let refused = |file| show(file, ImageFormat::Jpeg).unwrap_err();
    let large = refused(frame(0xc2, 5_000, 0x11));
    assert_eq!(large, "its pixels would take more than 96 MiB");
    let damaged = refused(frame(0xc2, 5_000, 0x22));
    assert!(damaged.contains("damaged"), "{damaged}");
    // Wherever it ends.
    let whole = frame(0xc2, 100, 0x11);
    for end in 0..whole.len() {
        assert!(progressive::coefficients(&whole[..end]) <= 60_000);
    }
}
