package export_toolhost_plugin_tools

import (
	"errors"
	"strings"

	processes "wit_component/toolhost_plugin_processes"
	. "wit_component/toolhost_plugin_tools"

	types "go.bytecodealliance.org/pkg/wit/types"
)

var diskUsage = tool{
	name:        "disk_usage",
	description: "Measures how much a file or directory of the workspace takes on disk.",
	inputSchema: `{
  "type": "object",
  "properties": { "path": { "type": "string", "description": "The path: absolute, or relative to the workspace." } },
  "required": ["path"],
  "additionalProperties": false
}`,
	hints: HintsReadOnly,
	call:  measure,
}

func measure(arguments string) (Reply, error) {
	var given struct {
		Path *string `json:"path"`
	}
	if err := decode(arguments, &given); err != nil {
		return Reply{}, err
	}
	if given.Path == nil {
		return Reply{}, invalid("the argument path is required")
	}
	started := processes.Start(processes.StartOptions{
		// A variable, and not a part of the command: no path can be more than a path.
		Command: `exec du -sh -- "$TARGET"`,
		Env:     []types.Tuple2[string, string]{{F0: "TARGET", F1: *given.Path}},
	})
	if started.IsErr() {
		return Reply{}, refusedProcess(started.Err())
	}
	process := started.Ok()
	waited := process.Wait(processes.WaitOptions{TimeoutMs: 30_000})
	if waited.IsErr() {
		return Reply{}, refusedProcess(waited.Err())
	}
	snapshot := process.Snapshot()
	if snapshot.IsErr() {
		return Reply{}, refusedProcess(snapshot.Err())
	}
	output := string(snapshot.Ok().Head)
	state := snapshot.Ok().State
	if state.Tag() != processes.StateExited || state.Exited().Code.SomeOr(-1) != 0 {
		return Reply{}, errors.New("du failed: " + strings.TrimSpace(output))
	}
	size, _, _ := strings.Cut(output, "\t")
	return textReply(size)
}

// refusedProcess makes an error of what the host said about processes.
func refusedProcess(err processes.Error) error {
	switch err.Tag() {
	case processes.ErrorDenied:
		return denied(err.Denied())
	case processes.ErrorNotFound:
		return errors.New("process not found")
	case processes.ErrorInvalid:
		return errors.New(err.Invalid())
	case processes.ErrorWorkdir:
		return errors.New(err.Workdir())
	case processes.ErrorLimit:
		return errors.New(err.Limit())
	case processes.ErrorUnavailable:
		return unavailable(err.Unavailable())
	case processes.ErrorUnknownOutcome:
		return errors.New(err.UnknownOutcome())
	default:
		return errors.New(err.Failed())
	}
}
