// The tools of the table in Go: what every language must do alike. They stand in the place of the tool of the template.
package export_toolhost_plugin_tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	caller "wit_component/toolhost_plugin_context"
	files "wit_component/toolhost_plugin_files"
	"wit_component/toolhost_plugin_log"
	processes "wit_component/toolhost_plugin_processes"
	"wit_component/toolhost_plugin_progress"
	"wit_component/toolhost_plugin_settings"
	. "wit_component/toolhost_plugin_tools"

	types "go.bytecodealliance.org/pkg/wit/types"
)

const none = `{ "type": "object", "additionalProperties": false }`

// schema makes the schema of an object with these required properties.
func schema(properties string, required ...string) string {
	list, _ := json.Marshal(required)
	return fmt.Sprintf(`{ "type": "object", "properties": %s, "required": %s, "additionalProperties": false }`, properties, list)
}

var tools = []tool{
	{"echo", "Repeats a text.", schema(`{
		"text": { "type": "string", "description": "The text." },
		"times": { "type": "integer", "description": "How often.", "minimum": 1, "maximum": 3, "default": 1 },
		"note": { "type": "string" }
	}`, "text"), HintsReadOnly | HintsNonDestructive | HintsIdempotent, echo},
	{"big", "Replies with a text of this many KiB.", schema(`{ "kib": { "type": "integer" } }`, "kib"), HintsReadOnly, big},
	{"parts", "Replies with parts of every kind.", none, HintsReadOnly, parts},
	{"fail", "Fails in one of several ways.", schema(`{ "how": { "type": "string" } }`, "how"), HintsReadOnly, fail},
	{"tell", "Writes to the log, and reports progress.", none, HintsReadOnly, tell},
	{"surroundings", "Says what the call sees of its host.", none, HintsReadOnly, surroundings},
	{"spin", "Computes without end.", none, HintsReadOnly, spin},
	{"hoard", "Takes memory without end.", none, HintsReadOnly, hoard},
	{"shell", "Runs a command to its end.", schema(`{
		"command": { "type": "string" },
		"env": { "type": "object", "additionalProperties": { "type": "string" } },
		"stdin": { "type": "string" },
		"timeout": { "type": "number" }
	}`, "command"), 0, shell},
	{"background", "Starts a command, and looks at it in all ways.", schema(`{ "command": { "type": "string" } }`, "command"), 0, background},
	{"store", "Writes a file, and reads it again.", schema(`{ "path": { "type": "string" }, "text": { "type": "string" } }`, "path", "text"), 0, store},
	{"get", "Gets what is at an address.", schema(`{ "url": { "type": "string" } }`, "url"), HintsReadOnly, get},
}

func echo(arguments string) (Reply, error) {
	given := struct {
		Text  *string `json:"text"`
		Times int     `json:"times"`
		Note  string  `json:"note"`
	}{Times: 1}
	if err := decode(arguments, &given); err != nil {
		return Reply{}, err
	}
	if given.Text == nil {
		return Reply{}, invalid("the argument text is required")
	}
	if given.Times < 1 || given.Times > 3 {
		return Reply{}, invalid("times is from 1 to 3")
	}
	return textReply(strings.Repeat(*given.Text, given.Times) + given.Note)
}

func big(arguments string) (Reply, error) {
	var given struct {
		KiB int `json:"kib"`
	}
	if err := decode(arguments, &given); err != nil {
		return Reply{}, err
	}
	return textReply(strings.Repeat("x", given.KiB<<10))
}

func parts(string) (Reply, error) {
	return Reply{Content: []Content{
		MakeContentText("é"),
		MakeContentJson(`{"ü":[1,null]}`),
		MakeContentImage(Blob{MediaType: "image/png", Data: []byte{0, 255}}),
		MakeContentDocument(Document{Uri: "docs:a", MediaType: types.Some("text/plain"), Data: types.Some([]byte("d"))}),
		MakeContentDocument(Document{Uri: "docs:b"}),
	}}, nil
}

func fail(arguments string) (Reply, error) {
	var given struct {
		How string `json:"how"`
	}
	if err := decode(arguments, &given); err != nil {
		return Reply{}, err
	}
	switch given.How {
	case "invalid":
		return Reply{}, invalid("é invalid")
	case "denied":
		return Reply{}, denied("é denied")
	case "unavailable":
		return Reply{}, unavailable("é unavailable")
	case "failed":
		return Reply{}, errors.New("é failed")
	case "reply":
		reply, err := textReply("é reply")
		reply.IsError = true
		return reply, err
	case "broken":
		panic("é broken")
	default:
		return Reply{}, invalid("how is none of the ways")
	}
}

func tell(string) (Reply, error) {
	for _, level := range []toolhost_plugin_log.Level{
		toolhost_plugin_log.LevelDebug, toolhost_plugin_log.LevelInfo, toolhost_plugin_log.LevelWarn, toolhost_plugin_log.LevelError,
	} {
		toolhost_plugin_log.Log(level, "told é")
	}
	fmt.Println("printed é")
	toolhost_plugin_progress.Report(0, types.Some(2.0), types.None[string]())
	toolhost_plugin_progress.Report(1, types.Some(2.0), types.Some("half é"))
	toolhost_plugin_progress.Report(2, types.Some(2.0), types.None[string]())
	return textReply("told")
}

func surroundings(string) (Reply, error) {
	remaining := time.Duration(caller.RemainingMs()) * time.Millisecond
	secret := toolhost_plugin_settings.Secret("key")
	shown := ""
	if secret.IsErr() {
		shown = secret.Err()
	}
	return jsonReply(map[string]any{
		"chat":      caller.Chat(),
		"root":      caller.WorkspaceRoot(),
		"has_time":  0 < remaining && remaining <= time.Hour,
		"cancelled": caller.Cancelled(),
		"locale":    caller.Attribute("locale").SomeOr(""),
		"setting":   toolhost_plugin_settings.Get("setting").SomeOr(""),
		"other":     toolhost_plugin_settings.Get("other").SomeOr("default"),
		"secret":    shown,
	})
}

func spin(string) (Reply, error) {
	for {
	}
}

func hoard(string) (Reply, error) {
	var hoarded [][]byte
	for {
		hoarded = append(hoarded, make([]byte, 100_000))
	}
}

func shell(arguments string) (Reply, error) {
	given := struct {
		Command string            `json:"command"`
		Env     map[string]string `json:"env"`
		Stdin   *string           `json:"stdin"`
		Timeout float64           `json:"timeout"`
	}{Timeout: 60}
	if err := decode(arguments, &given); err != nil {
		return Reply{}, err
	}
	options := processes.StartOptions{Command: given.Command}
	for name, value := range given.Env {
		options.Env = append(options.Env, types.Tuple2[string, string]{F0: name, F1: value})
	}
	if given.Stdin != nil {
		options.Stdin = processes.MakeStdinBytes([]byte(*given.Stdin))
	}
	started := processes.Start(options)
	if started.IsErr() {
		return Reply{}, refusedProcess(started.Err())
	}
	process := started.Ok()
	waited := process.Wait(processes.WaitOptions{TimeoutMs: uint64(given.Timeout * 1000)})
	if waited.IsErr() {
		return Reply{}, refusedProcess(waited.Err())
	}
	if wake := waited.Ok().Wake; wake != processes.WakeEnded {
		process.Signal(processes.SignalTerminate, types.None[uint64]())
		if wake == processes.WakeCancelled {
			return Reply{}, errors.New("the command was ended: the call was cancelled")
		}
		return Reply{}, fmt.Errorf("the command was ended: it took more than %v s", given.Timeout)
	}
	snapshot := process.Snapshot()
	if snapshot.IsErr() {
		return Reply{}, refusedProcess(snapshot.Err())
	}
	seen := snapshot.Ok()
	text := string(seen.Head) + string(seen.Tail)
	if gap := int(seen.Total) - len(seen.Head) - len(seen.Tail); gap > 0 {
		text = fmt.Sprintf("%s\n[%d bytes left out]\n%s", seen.Head, gap, seen.Tail)
	}
	status := seen.State.Exited()
	reply := map[string]any{"code": nil, "signal": nil, "text": text, "total": seen.Total}
	if status.Code.IsSome() {
		reply["code"] = status.Code.Some()
	}
	if status.Signal.IsSome() {
		reply["signal"] = status.Signal.Some()
	}
	return jsonReply(reply)
}

func background(arguments string) (Reply, error) {
	var given struct {
		Command string `json:"command"`
	}
	if err := decode(arguments, &given); err != nil {
		return Reply{}, err
	}
	started := processes.Start(processes.StartOptions{Command: given.Command, Background: true})
	if started.IsErr() {
		return Reply{}, refusedProcess(started.Err())
	}
	process := started.Ok()
	matched := process.Wait(processes.WaitOptions{TimeoutMs: 60_000, Until: types.Some("ready")}).Ok()
	chunk := process.Read(0, uint32(matched.MatchEnd.SomeOr(0))).Ok()
	var listed []string
	for _, info := range processes.ListProcesses(true, 100).Ok().F0 {
		listed = append(listed, info.Command)
	}
	before := process.Signal(processes.SignalKill, types.None[uint64]()).Ok()
	again := processes.Open(process.Id()).Ok()
	again.Wait(processes.WaitOptions{TimeoutMs: 60_000})
	status := again.Info().Ok().State.Exited()
	word := func(holds bool, word string) string {
		if holds {
			return word
		}
		return "not " + word
	}
	return jsonReply(map[string]any{
		"wake":   word(matched.Wake == processes.WakeMatched, "matched"),
		"read":   string(chunk.Data),
		"listed": listed,
		"before": word(before.Tag() == processes.StateRunning, "running"),
		"after":  status.Signal.SomeOr(""),
		"cause":  word(status.Cause == processes.CauseSignalled, "signalled"),
	})
}

func write(path, text string, when files.Precondition) (files.Metadata, error) {
	written := files.WriteAll([]files.Write{{Path: path, Data: []byte(text), When: when}})
	if written.IsErr() {
		return files.Metadata{}, refusedFile(written.Err().F1)
	}
	return written.Ok()[0], nil
}

func store(arguments string) (Reply, error) {
	var given struct {
		Path string `json:"path"`
		Text string `json:"text"`
	}
	if err := decode(arguments, &given); err != nil {
		return Reply{}, err
	}
	written, err := write(given.Path, given.Text, files.MakePreconditionAbsent())
	if err != nil {
		return Reply{}, err
	}
	again, err := write(given.Path, given.Text+"\n", files.MakePreconditionVersion(written.Version))
	if err != nil {
		return Reply{}, err
	}
	var names []string
	for _, entry := range files.ReadDirectory(".", types.None[string](), 100).Ok().F0 {
		names = append(names, entry.Name)
	}
	kind := "other"
	if files.MetadataOf(given.Path).Ok().Kind == files.KindFile {
		kind = "file"
	}
	return jsonReply(map[string]any{
		"size":   again.Size,
		"text":   string(files.Read(given.Path, 0, 4096).Ok().Data),
		"lines":  files.SkipLines(given.Path, 0, 99).Ok().Lines,
		"kind":   kind,
		"names":  names,
		"exists": files.MetadataOf("nowhere").IsOk(),
	})
}

func get(arguments string) (Reply, error) {
	var given struct {
		URL string `json:"url"`
	}
	if err := decode(arguments, &given); err != nil {
		return Reply{}, err
	}
	got, err := send(request{
		method:  "POST",
		url:     given.URL,
		headers: map[string]string{"X-Asked": "yes", "content-type": "application/json"},
		body:    []byte(`{"k":"é"}`),
	})
	if err != nil {
		return Reply{}, err
	}
	return jsonReply(map[string]any{"status": got.status, "type": got.headers["content-type"], "text": string(got.body)})
}
