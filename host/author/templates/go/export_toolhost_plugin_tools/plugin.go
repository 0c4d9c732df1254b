// {{name}}: a plugin for Toolhost.
package export_toolhost_plugin_tools

import (
	"strings"

	. "wit_component/toolhost_plugin_tools"
)

// The tools of the plugin.
var tools = []tool{
	wordCount,
{{#processes}}
	diskUsage,
{{/processes}}
{{#files}}
	firstLine,
{{/files}}
{{#http}}
	pageTitle,
{{/http}}
}

var wordCount = tool{
	name:        "{{name}}",
	description: "Counts the words of a text.",
	inputSchema: `{
  "type": "object",
  "properties": { "text": { "type": "string", "description": "The text." } },
  "required": ["text"],
  "additionalProperties": false
}`,
	hints: HintsReadOnly,
	call:  countWords,
}

// What the model reads.
type words struct {
	Words int `json:"words"`
}

func countWords(arguments string) (Reply, error) {
	var given struct {
		Text *string `json:"text"`
	}
	if err := decode(arguments, &given); err != nil {
		return Reply{}, err
	}
	if given.Text == nil {
		return Reply{}, invalid("the argument text is required")
	}
	return jsonReply(words{len(strings.Fields(*given.Text))})
}
