//! The tool `fetch_title`.

use toolhost_sdk::http::{Host, Http, Request};
use toolhost_sdk::prelude::*;

/// Finds the title of a web page.
#[tool(read_only, max_duration = "30s")]
fn fetch_title(
    /// The address of the page: https://…
    url: String,
) -> Result<Reply, ToolError> {
    title(&Host, &url)
}

export_tools!(fetch_title);

/// Does the work, with a network that tests replace.
fn title(http: &dyn Http, url: &str) -> Result<Reply, ToolError> {
    let response = http.send(&Request::get(url).header("accept", "text/html"))?;
    if response.status != 200 {
        return Ok(Reply::error(format!(
            "{url} answers with status {}",
            response.status
        )));
    }
    let page = response.text();
    let title = page
        .split_once("<title>")
        .and_then(|(_, rest)| rest.split_once("</title>"));
    match title {
        Some((title, _)) => Reply::object([("title", title.trim())]),
        None => Ok(Reply::error(format!("{url} has no title"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolhost_sdk::testing::FakeHttp;

    const URL: &str = "https://example.com/";

    #[test]
    fn a_page_has_a_title() {
        let http = FakeHttp::new().responds("GET", URL, 200, "<title> Example\n</title>");
        assert_eq!(title(&http, URL), Reply::object([("title", "Example")]));
    }

    #[test]
    fn a_page_that_is_not_there_is_reported() {
        let http = FakeHttp::new().responds("GET", URL, 404, "");
        let expected = Reply::error("https://example.com/ answers with status 404");
        assert_eq!(title(&http, URL), Ok(expected));
        let http = FakeHttp::new().responds("GET", URL, 200, "plain");
        assert_eq!(
            title(&http, URL),
            Ok(Reply::error("https://example.com/ has no title"))
        );
    }
}
