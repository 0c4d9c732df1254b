package export_toolhost_plugin_tools

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	. "wit_component/toolhost_plugin_tools"
)

var pageTitle = tool{
	name:        "page_title",
	description: "Fetches a page and returns its title.",
	inputSchema: `{
  "type": "object",
  "properties": { "url": { "type": "string", "description": "The address of the page, with https://." } },
  "required": ["url"],
  "additionalProperties": false
}`,
	hints: HintsReadOnly,
	call:  fetchTitle,
}

func fetchTitle(arguments string) (Reply, error) {
	var given struct {
		URL *string `json:"url"`
	}
	if err := decode(arguments, &given); err != nil {
		return Reply{}, err
	}
	if given.URL == nil || !strings.HasPrefix(*given.URL, "https://") {
		return Reply{}, invalid("the argument url is required, and must begin with https://")
	}
	got, err := send(request{
		method:  "GET",
		url:     *given.URL,
		headers: map[string]string{"accept": "text/html"},
		timeout: 10 * time.Second,
	})
	if err != nil {
		return Reply{}, err
	}
	if got.status != 200 {
		return Reply{}, fmt.Errorf("%s answers %d", *given.URL, got.status)
	}
	// Not compiled at the start: every call has an instance of its own, and few calls need it.
	title := regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title>`).FindSubmatch(got.body)
	if title == nil {
		return textReply("(no title)")
	}
	return textReply(strings.TrimSpace(string(title[1])))
}
