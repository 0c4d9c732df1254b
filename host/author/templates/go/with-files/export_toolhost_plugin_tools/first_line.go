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
	hints: HintsReadOnly,
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
	case files.ErrorInvalid:
		return errors.New(err.Invalid())
	case files.ErrorDenied:
		return denied(err.Denied())
	case files.ErrorNotFound:
		return errors.New("no such file or directory")
	case files.ErrorNotAFile:
		return errors.New("not a file")
	case files.ErrorNotADirectory:
		return errors.New("not a directory")
	case files.ErrorOutsideWorkspace:
		return errors.New(err.OutsideWorkspace() + " is outside of the workspace")
	case files.ErrorTooLarge:
		return fmt.Errorf("larger than %d bytes, the most that is possible", err.TooLarge())
	case files.ErrorChanged:
		return errors.New(err.Changed())
	case files.ErrorUnavailable:
		return unavailable(err.Unavailable())
	case files.ErrorUnknownOutcome:
		return errors.New(err.UnknownOutcome())
	default:
		return errors.New(err.Failed())
	}
}
