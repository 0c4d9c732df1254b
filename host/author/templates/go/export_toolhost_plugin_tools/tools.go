// What every plugin does with its tools.

package export_toolhost_plugin_tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	. "wit_component/toolhost_plugin_tools"

	types "go.bytecodealliance.org/pkg/wit/types"
)

// A tool.
type tool struct {
	name string
	// What the tool does and when to use it, written for the model.
	description string
	// The JSON Schema of the arguments.
	inputSchema string
	hints       Hints
	// Runs a call with the text of its arguments. The model reads the text of an error.
	call func(arguments string) (Reply, error)
}

// ListTools describes the tools.
func ListTools() types.Result[[]Tool, string] {
	var list []Tool
	for _, tool := range tools {
		list = append(list, Tool{
			Name:        tool.name,
			Description: tool.description,
			InputSchema: tool.inputSchema,
			Hints:       tool.hints,
		})
	}
	return types.Ok[[]Tool, string](list)
}

// CallTool runs one call.
func CallTool(call Call) types.Result[Reply, ToolError] {
	for _, tool := range tools {
		if tool.name != call.Tool {
			continue
		}
		reply, err := tool.call(call.Arguments)
		if err != nil {
			return types.Err[Reply, ToolError](toolError(err))
		}
		return types.Ok[Reply, ToolError](reply)
	}
	return types.Err[Reply, ToolError](MakeToolErrorUnknownTool(call.Tool))
}

// decode reads the arguments of a call into a struct.
func decode(arguments string, into any) error {
	decoder := json.NewDecoder(bytes.NewReader([]byte(arguments)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return invalid(strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

// textReply makes a reply of a text.
func textReply(text string) (Reply, error) {
	return Reply{Content: []Content{MakeContentText(utf8(text))}}, nil
}

// jsonReply makes a reply of a value.
func jsonReply(value any) (Reply, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return Reply{}, fmt.Errorf("the reply cannot be written as JSON: %w", err)
	}
	return Reply{Content: []Content{MakeContentJson(string(text))}}, nil
}

// A failure of a kind that the contract names. Any other error is one of the kind failed.
type failure struct {
	text string
	made func(text string) ToolError
}

func (err failure) Error() string { return err.text }

// invalid says what is wrong with the arguments.
func invalid(text string) error { return failure{text, MakeToolErrorInvalidArguments} }

// denied says what the plugin was not granted.
func denied(text string) error { return failure{text, MakeToolErrorDenied} }

// unavailable says what cannot be reached now.
func unavailable(text string) error { return failure{text, MakeToolErrorUnavailable} }

func toolError(err error) ToolError {
	made := MakeToolErrorFailed
	var known failure
	if errors.As(err, &known) {
		made = known.made
	}
	return made(utf8(err.Error()))
}

// utf8 replaces what is not UTF-8, which the host would refuse.
func utf8(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }
