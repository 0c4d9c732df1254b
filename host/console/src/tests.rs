//! The page as it is served.

use axum::body::Body;
use axum::http::{Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use tower::ServiceExt as _;

use super::*;

/// The most bytes that all files may have, compressed.
const MOST: usize = 150 << 10;

async fn ask(path: &str, encoding: &str) -> Response<Body> {
    let request = Request::get(path).header(ACCEPT_ENCODING, encoding);
    let request = request.body(Body::empty()).unwrap();
    routes().oneshot(request).await.unwrap()
}

async fn text(response: Response<Body>) -> String {
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn the_page_is_small() {
    let all: usize = File::all().map(|file| file.compressed.len()).sum();
    assert!(all < MOST, "{all} bytes, compressed");
    assert!(File::all().count() > 20);
}

#[tokio::test]
async fn the_page_and_its_files_are_served_with_a_strict_policy() {
    let page = ask("/console/", "identity").await;
    assert_eq!(page.headers()[CACHE_CONTROL], ASK_AGAIN);
    let page = text(page).await;
    let addresses = page.split('"').filter(|part| part.starts_with("assets/"));
    let addresses: Vec<_> = addresses.map(|part| format!("/console/{part}")).collect();
    // Each file is named on the page, but for the page and the licences.
    let named = File::all().filter(|file| file.name != INDEX && !file.name.contains("LICENSE"));
    assert_eq!(addresses.len(), named.count());
    for address in addresses {
        let answer = ask(&address, "gzip, br").await;
        assert_eq!(answer.status(), StatusCode::OK, "{address}");
        let headers = answer.headers();
        assert_eq!(headers[CONTENT_SECURITY_POLICY], POLICY);
        assert_eq!(headers[X_CONTENT_TYPE_OPTIONS], "nosniff");
        assert_eq!(headers[REFERRER_POLICY], "no-referrer");
        assert_eq!(headers[CACHE_CONTROL], FOR_EVER);
        assert_eq!(headers[CONTENT_ENCODING], "gzip");
        let kind = headers[CONTENT_TYPE].to_str().unwrap();
        assert!(!kind.starts_with("text/plain"), "{address} is {kind}");
    }
}

#[tokio::test]
async fn content_is_compressed_only_for_clients_that_take_it() {
    let script = format!("/console/assets/{VERSION}/main.js");
    for (accepted, compressed) in [
        ("gzip", true),
        ("br, gzip;q=0.5", true),
        ("*", true),
        ("gzip;q=0", false),
        ("br", false),
        ("", false),
    ] {
        let answer = ask(&script, accepted).await;
        let is_compressed = answer.headers().contains_key(CONTENT_ENCODING);
        assert_eq!(is_compressed, compressed, "{accepted:?}");
    }
    let plain = text(ask(&script, "identity").await).await;
    assert!(plain.contains("import"), "{plain}");
}

#[tokio::test]
async fn other_versions_and_files_are_not_there() {
    for path in [
        "/console/assets/0000000000000000/main.js".to_owned(),
        format!("/console/assets/{VERSION}/index.html"),
        format!("/console/assets/{VERSION}/no.js"),
        format!("/console/assets/{VERSION}/../../Cargo.toml"),
        format!("/console/assets/{VERSION}/%2e%2e%2fCargo.toml"),
    ] {
        assert_eq!(
            ask(&path, "").await.status(),
            StatusCode::NOT_FOUND,
            "{path}"
        );
    }
}

#[tokio::test]
async fn nothing_is_inline_or_from_elsewhere() {
    let page = text(ask("/console/", "").await).await;
    for inline in ["<style", " style=", " onload=", " onclick=", "javascript:"] {
        assert!(!page.contains(inline), "{inline} is on the page");
    }
    for tag in page.split("<script").skip(1) {
        let (attributes, content) = tag.split_once('>').unwrap();
        assert!(
            attributes.contains("src=\"assets/") && content.starts_with("</script>"),
            "{tag}"
        );
    }
    for file in File::all() {
        let content = String::from_utf8(file.content().unwrap()).unwrap();
        let own = !file.name.starts_with("vendor/") && file.name != "icon.svg";
        for foreign in [
            "https://",
            "http://",
            "innerHTML",
            "dangerouslySet",
            "eval(",
            "insertAdjacentHTML",
            " style=",
        ] {
            assert!(
                !own || !content.contains(foreign),
                "{} has {foreign}",
                file.name
            );
        }
    }
}
