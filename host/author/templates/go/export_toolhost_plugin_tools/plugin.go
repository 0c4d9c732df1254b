// {{name}}: a plugin for Toolhost.
package export_toolhost_plugin_tools

import (
	"bytes"
	"encoding/json"
	"strings"

	. "wit_component/toolhost_plugin_tools"

	types "go.bytecodealliance.org/pkg/wit/types"
)

// What the model says.
type arguments struct {
	Text *string `json:"text"`
}

// What the model reads.
type words struct {
	Words int `json:"words"`
}

const inputSchema = `{
  "type": "object",
  "properties": { "text": { "type": "string", "description": "The text." } },
  "required": ["text"],
  "additionalProperties": false
}`

// ListTools describes the tools.
func ListTools() types.Result[[]Tool, string] {
	return types.Ok[[]Tool, string]([]Tool{{
		Name:          "{{name}}",
		Title:         types.None[string](),
		Description:   "Counts the words of a text.",
		InputSchema:   inputSchema,
		OutputSchema:  types.None[string](),
		Hints:         Hints_ReadOnly,
		MaxDurationMs: types.None[uint64](),
	}})
}

// CallTool runs one call.
func CallTool(call Call) types.Result[Reply, ToolError] {
	if call.Tool != "{{name}}" {
		return types.Err[Reply, ToolError](MakeToolErrorUnknownTool(call.Tool))
	}
	var given arguments
	decoder := json.NewDecoder(bytes.NewReader([]byte(call.Arguments)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&given); err != nil {
		return invalid(strings.TrimPrefix(err.Error(), "json: "))
	}
	if given.Text == nil {
		return invalid("the argument text is required")
	}
	return reply(words{len(strings.Fields(*given.Text))})
}

// reply makes a reply of a value.
func reply(value any) types.Result[Reply, ToolError] {
	text, err := json.Marshal(value)
	if err != nil {
		return types.Err[Reply, ToolError](MakeToolErrorFailed(err.Error()))
	}
	content := []Content{MakeContentJson(string(text))}
	return types.Ok[Reply, ToolError](Reply{Content: content})
}

// invalid makes an error that tells the model what is wrong with its arguments.
func invalid(message string) types.Result[Reply, ToolError] {
	return types.Err[Reply, ToolError](MakeToolErrorInvalidArguments(message))
}
