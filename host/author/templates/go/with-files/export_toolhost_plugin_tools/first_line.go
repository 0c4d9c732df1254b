package export_toolhost_plugin_tools

import (
	"errors"
	"fmt"
	"strings"

	files "wit_component/toolhost_plugin_files"
	. "wit_component/toolhost_plugin_tools"
)

// The most bytes that are read of a file.
const most = 4096

var firstLine = tool{
	name:        "first_line",
	description: "Returns the first line of a file of the workspace.",
	inputSchema: `{
  "type": "object",
  "properties": { "path": { "type": "string", "description": "The path: absolute, or relative to the workspace." } },
  "required": ["path"],
  "additionalProperties": false
}`,
	hints: Hints_ReadOnly,
	call:  readFirstLine,
}

func readFirstLine(arguments string) (Reply, error) {
	var given struct {
		Path *string `json:"path"`
	}
	if err := decode(arguments, &given); err != nil {
		return Reply{}, err
	}
	if given.Path == nil {
		return Reply{}, invalid("the argument path is required")
	}
	chunk := files.Read(*given.Path, 0, most)
	if chunk.IsErr() {
		return Reply{}, refusedFile(chunk.Err())
	}
	line, _, _ := strings.Cut(string(chunk.Ok().Data), "\n")
	return textReply(line)
}

// refusedFile makes an error of what the host said about a file.
func refusedFile(err files.Error) error {
	switch err.Tag() {
	case files.Error_Invalid:
		return errors.New(err.Invalid())
	case files.Error_Denied:
		return denied(err.Denied())
	case files.Error_NotFound:
		return errors.New("no such file or directory")
	case files.Error_NotAFile:
		return errors.New("not a file")
	case files.Error_NotADirectory:
		return errors.New("not a directory")
	case files.Error_OutsideWorkspace:
		return errors.New(err.OutsideWorkspace() + " is outside of the workspace")
	case files.Error_TooLarge:
		return fmt.Errorf("larger than %d bytes, the most that is possible", err.TooLarge())
	case files.Error_Changed:
		return errors.New(err.Changed())
	case files.Error_Unavailable:
		return unavailable(err.Unavailable())
	case files.Error_UnknownOutcome:
		return errors.New(err.UnknownOutcome())
	default:
		return errors.New(err.Failed())
	}
}
