// The title of a page of the web.

#include "http.h"

#include <strings.h>

// Returns where a text begins in another one, in letters of any case; NULL: nowhere.
static char *find(char *text, const char *part) {
  for (; *text; text++)
    if (strncasecmp(text, part, strlen(part)) == 0) return text;
  return NULL;
}

// Returns the text between the marks of the title, without the space around it; NULL: there is no title.
static char *title_of(char *page) {
  char *title = find(page, "<title");
  if (title) title = strchr(title, '>');
  if (!title) return NULL;
  title += 1 + strspn(title + 1, " \t\r\n");
  char *end = find(title, "</title>");
  if (!end) return NULL;
  while (end > title && isspace((unsigned char)end[-1])) end--;
  *end = 0;
  return title;
}

static bool call(const char *arguments, reply_t *reply, failure_t *failure) {
  const char *url = only_argument(arguments, "url", failure);
  if (!url) return false;
  if (strncmp(url, "https://", 8) != 0) return invalid(failure, "url must begin with https://");
  const header_t headers[] = {{"accept", "text/html"}};
  const request_t request = {
      .method = "GET", .url = url, .headers = headers, .header_count = 1, .timeout_ms = 10000, .max_response = 1 << 20};
  response_t response;
  if (!http_send(&request, &response, failure)) return false;
  if (response.status != 200) return failed(failure, format("%s answers %d", url, response.status));
  char *title = title_of(response.body);
  return reply_text(reply, title ? title : "(no title)");
}

const tool_t PAGE_TITLE = {
    .name = "page_title",
    .description = "Fetches a page and returns its title.",
    .input_schema =
        "{\"type\": \"object\","
        " \"properties\": {\"url\": {\"type\": \"string\","
        " \"description\": \"The address of the page, with https://.\"}},"
        " \"required\": [\"url\"], \"additionalProperties\": false}",
    .hints = READ_ONLY,
    .call = call,
};
