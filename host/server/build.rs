//! Takes the files that `/docs` loads out of the archive of Swagger UI, and compresses each.

use std::io::{Cursor, Error, Result, copy};
use std::path::PathBuf;
use std::{env, fs};

use flate2::Compression;
use flate2::write::GzEncoder;
use utoipa_swagger_ui_vendored::SWAGGER_UI_VENDORED;
use zip::ZipArchive;

/// The files, as `src/openapi/page.rs` embeds them. The archive has twice as much.
const FILES: [&str; 3] = [
    "swagger-ui.css",
    "swagger-ui-bundle.js",
    "favicon-32x32.png",
];

fn main() -> Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    let out = env::var_os("OUT_DIR").ok_or_else(|| Error::other("OUT_DIR is not set"))?;
    let out = PathBuf::from(out);
    let mut archive = ZipArchive::new(Cursor::new(SWAGGER_UI_VENDORED))?;
    for at in 0..archive.len() {
        let mut file = archive.by_index(at)?;
        let path = file.name()?.into_owned();
        let wanted = FILES
            .into_iter()
            .find(|name| path.ends_with(&format!("/dist/{name}")));
        if let Some(name) = wanted {
            let compressed = fs::File::create(out.join(format!("{name}.gz")))?;
            let mut encoder = GzEncoder::new(compressed, Compression::best());
            copy(&mut file, &mut encoder)?;
            encoder.finish()?;
        }
    }
    Ok(())
}
