//! The title of a page of the web.

use std::time::Duration;

use toolhost_sdk::http::{Host, Http, Request};
use toolhost_sdk::prelude::*;

/// Fetches a page and returns its title.
#[tool(read_only)]
pub(crate) fn page_title(
    /// The address of the page, with https://.
    url: String,
) -> Result<Reply, ToolError> {
    fetch(&Host, &url)
}

/// Fetches the page. Tests give it a fake that sends no request.
fn fetch(http: &dyn Http, url: &str) -> Result<Reply, ToolError> {
    if !url.starts_with("https://") {
        let text = "url must begin with https://";
        return Err(ToolError::InvalidArguments(text.to_owned()));
    }
    let mut request = Request::get(url);
    request.timeout = Some(Duration::from_secs(10));
    let response = http.send(&request)?;
    if response.status != 200 {
        let status = response.status;
        return Err(ToolError::Failed(format!("{url} answers {status}")));
    }
    let text = response.text();
    Ok(Reply::text(title(&text).unwrap_or("(no title)")))
}

/// Returns the text between the marks of the title.
fn title(page: &str) -> Option<&str> {
    // Only the letters of ASCII change, so all places stay the same.
    let lower = page.to_ascii_lowercase();
    let mark = lower.find("<title")?;
    let begin = mark + lower[mark..].find('>')? + 1;
    let end = begin + lower[begin..].find("</title>")?;
    Some(page[begin..end].trim())
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolhost_sdk::testing::FakeHttp;

    #[test]
    fn the_title_is_found() -> Result<(), ToolError> {
        let page = "<html><TITLE lang=en> A page\n</Title></html>";
        let http = FakeHttp::new().responds("GET", "https://example.com", 200, page);
        let reply = fetch(&http, "https://example.com")?;
        assert_eq!(reply, Reply::text("A page"));
        Ok(())
    }
}
