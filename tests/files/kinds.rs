//! What is not text, through the component with the limits that it has by default: images, documents, archives and encodings.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use image::codecs::jpeg::JpegEncoder;
use image::{DynamicImage, ExtendedColorType, ImageEncoder as _, ImageFormat, Rgb, RgbImage};
use toolhost_call::tool::ErrorKind;

use super::*;
use crate::harness::{Server, elsewhere};

/// A picture with soft colours and some noise, as photos have.
fn photo(width: u32, height: u32) -> RgbImage {
    let mut state = 7_u32;
    RgbImage::from_fn(width, height, |x, y| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let noise = u8::try_from(state >> 28).unwrap();
        let [red, green] =
            [x * 200 / width, y * 200 / height].map(|part| u8::try_from(part).unwrap());
        Rgb([red + noise, green + noise, 90 + noise])
    })
}

fn jpeg(image: &RgbImage) -> Vec<u8> {
    let mut data = Vec::new();
    let (width, height) = image.dimensions();
    JpegEncoder::new_with_quality(&mut data, 90)
        .write_image(image.as_raw(), width, height, ExtendedColorType::Rgb8)
        .unwrap();
    data
}

fn png(image: RgbImage) -> Vec<u8> {
    let mut data = std::io::Cursor::new(Vec::new());
    DynamicImage::ImageRgb8(image)
        .write_to(&mut data, ImageFormat::Png)
        .unwrap();
    data.into_inner()
}

impl Setup {
    /// Reads a file with one image, which is decoded again.
    async fn image(&self, path: &str) -> (Value, String, RgbImage) {
        let arguments = json!({ "path": path });
        let (page, images) = self
            .try_call_with_images("read_file", arguments)
            .await
            .unwrap();
        let [(media_type, data)] = &images[..] else {
            panic!("{} images: {page}", images.len());
        };
        let image = image::load_from_memory(data).unwrap().into_rgb8();
        (page, media_type.clone(), image)
    }
}

#[tokio::test]
async fn a_photo_of_a_phone_is_scaled() {
    let setup = Setup::new().await;
    setup.make("photo.txt", jpeg(&photo(4000, 3000)));
    let (page, media_type, shown) = setup.image("photo.txt").await;
    assert_eq!(
        (&page["kind"], &page["media_type"]),
        (&json!("image"), &json!("image/jpeg"))
    );
    assert_eq!(
        page["image"],
        json!({ "width": 4000, "height": 3000, "shown_width": 1238, "shown_height": 928 })
    );
    assert_eq!(
        (media_type.as_str(), shown.dimensions()),
        ("image/jpeg", (1238, 928))
    );
    let corner = shown.get_pixel(1200, 900).0;
    assert!(corner[0] > 150 && corner[1] > 150, "{corner:?}");
    setup.host.shutdown().await;
}

#[tokio::test]
async fn small_images_arrive_as_they_are() {
    let setup = Setup::new().await;
    let file = png(photo(60, 40));
    setup.make("small", &file);
    let arguments = json!({ "path": "small" });
    let (page, images) = setup
        .try_call_with_images("read_file", arguments)
        .await
        .unwrap();
    assert_eq!(images, [("image/png".to_owned(), file)]);
    assert_eq!(page["image"], json!({ "width": 60, "height": 40 }));
    setup.host.shutdown().await;
}

/// Files that try to take all memory or time. The plugin is there for the next call each time.
#[tokio::test]
async fn hostile_files_end_at_limits() {
    let setup = Setup::new().await;
    // An image that says that it has 60,000 × 60,000 pixels.
    let mut bomb = png(photo(1, 1));
    bomb[16..24].copy_from_slice(&[0, 0, 0xea, 0x60, 0, 0, 0xea, 0x60]);
    let mut check = flate2::Crc::new();
    check.update(&bomb[12..29]);
    bomb[29..33].copy_from_slice(&check.sum().to_be_bytes());
    setup.make("image", bomb);
    let page = setup.read("image").await.unwrap();
    assert_eq!(page["kind"], "binary");
    assert!(page["note"].as_str().unwrap().contains("96 MiB"), "{page}");

    // A tar archive of 600 MB of zeros.
    let mut header = [0; 512];
    header[..5].copy_from_slice(b"zeros");
    header[124..135].copy_from_slice(b"77777777777");
    header[257..263].copy_from_slice(b"ustar ");
    header[148..156].fill(b' ');
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(&header).unwrap();
    let zeros = vec![0; 1 << 20];
    for _ in 0..600 {
        packed.write_all(&zeros).unwrap();
    }
    setup.make("archive", packed.finish().unwrap());
    let page = setup.read("archive").await.unwrap();
    assert_eq!(
        (&page["kind"], &page["more_entries"]),
        (&json!("archive"), &json!(true))
    );
    assert!(
        page["content"].as_str().unwrap().ends_with("  zeros"),
        "{page}"
    );
    assert!(page["note"].as_str().unwrap().contains("256 MiB"), "{page}");

    // A document whose page unpacks to more than the memory of the plugin.
    let mut packed = flate2::write::ZlibEncoder::new(Vec::new(), Compression::fast());
    for _ in 0..600 {
        packed.write_all(&zeros).unwrap();
    }
    let content = packed.finish().unwrap();
    let head = format!(
        "%PDF-1.7\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n\
         2 0 obj\n<< /Type /Pages /Count 1000000000 /Kids [3 0 R 2 0 R] >>\nendobj\n\
         3 0 obj\n<< /Type /Page /Parent 2 0 R /Contents 4 0 R >>\nendobj\n\
         4 0 obj\n<< /Filter /FlateDecode /Length {} >>\nstream\n",
        content.len()
    );
    setup.make(
        "document",
        [head.as_bytes(), &content, b"\nendstream\nendobj\n"].concat(),
    );
    let outcome = setup
        .outcome("read_file", json!({ "path": "document" }))
        .await;
    let error = outcome.result.as_ref().unwrap_err();
    assert_eq!(error.kind, ErrorKind::Limit, "{error}");

    // Each of them is one call's own.
    setup.make("text", "still here");
    for _ in 0..3 {
        let page = setup.read("text").await.unwrap();
        assert_eq!(page["content"], "1\tstill here");
    }
    setup.host.shutdown().await;
}

#[tokio::test]
async fn what_is_read_is_edited_in_its_encoding() {
    let setup = Setup::new().await;
    let utf16: Vec<u8> = "\u{feff}one\r\ntw\u{f6}\r\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let edited: Vec<u8> = "\u{feff}one\r\nzw\u{f6}lf\r\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let files = [
        ("utf16", utf16, "tw\u{f6}", "zw\u{f6}lf", edited),
        (
            "latin",
            b"caf\xe9 cr\xe8me\n".to_vec(),
            "caf\u{e9}",
            "th\u{e9}",
            b"th\xe9 cr\xe8me\n".to_vec(),
        ),
    ];
    for (name, before, old, new, after) in files {
        setup.make(name, before);
        let page = setup.read(name).await.unwrap();
        assert!(page["content"].as_str().unwrap().contains(old), "{page}");
        assert!(page["encoding"].is_string(), "{page}");
        setup.edit(name, old, new).await.unwrap();
        assert_eq!(setup.content(name), after, "{name}");
    }
    // No edit makes something else of a file that is no text.
    setup.make("image", png(photo(9, 9)));
    let refused = setup.edit("image", "PNG", "GIF").await.unwrap_err();
    assert!(
        refused.contains("binary") || refused.contains("image/png"),
        "{refused}"
    );
    setup.host.shutdown().await;
}

#[tokio::test]
async fn an_agent_has_the_files() {
    let root = tempfile::tempdir().unwrap();
    let local = elsewhere::local(root.path()).await;
    let agent = Server::agent(elsewhere::offer(local)).await;
    let workspace = elsewhere::remote(&agent.url).await.unwrap();
    let setup = Setup::with(|builder| builder.workspace(workspace.clone())).await;
    // More than one read of the agent has at most.
    let photo = png(photo(2000, 1500));
    assert!(photo.len() > 4 << 20);
    std::fs::write(root.path().join("photo"), photo).unwrap();
    let (page, _, shown) = setup.image("photo").await;
    assert_eq!(
        (&page["image"]["width"], shown.dimensions()),
        (&json!(2000), (1238, 928))
    );
    std::fs::write(root.path().join("late.gz"), b"\x1f\x8b\x08").unwrap();
    let page = setup.read("late.gz").await.unwrap();
    assert!(page["note"].as_str().unwrap().contains("damaged"), "{page}");
    setup.host.shutdown().await;
}
