// The size of a directory, which a command measures.

#include "refused_process.h"
#include "tools.h"

// The longest that the command may take.
static const uint64_t MOST_MS = 30000;

static bool call(const char *arguments, reply_t *reply, failure_t *failure) {
  const char *path = only_argument(arguments, "path", failure);
  if (!path) return false;
  // A variable, and not a part of the command: no path can be more than a path.
  plugin_tuple2_string_string_t target;
  plugin_string_set(&target.f0, "TARGET");
  plugin_string_set(&target.f1, path);
  toolhost_plugin_processes_start_options_t options = {.env = {&target, 1}};
  plugin_string_set(&options.command, "exec du -sh -- \"$TARGET\"");

  toolhost_plugin_processes_own_process_t started;
  toolhost_plugin_processes_error_t error;
  if (!toolhost_plugin_processes_start(&options, &started, &error)) return refused_process(failure, &error);
  toolhost_plugin_processes_borrow_process_t process = toolhost_plugin_processes_borrow_process(started);
  toolhost_plugin_processes_wait_options_t wait = {.timeout_ms = MOST_MS};
  toolhost_plugin_processes_waited_t waited;
  if (!toolhost_plugin_processes_method_process_wait(process, &wait, &waited, &error))
    return refused_process(failure, &error);
  toolhost_plugin_processes_snapshot_t seen;
  if (!toolhost_plugin_processes_method_process_snapshot(process, &seen, &error))
    return refused_process(failure, &error);

  char *output = text_of(seen.head.ptr, seen.head.len);
  const toolhost_plugin_processes_state_t *state = &seen.state;
  bool has_exited = state->tag == TOOLHOST_PLUGIN_PROCESSES_STATE_EXITED;
  if (!has_exited || !state->val.exited.code.is_some || state->val.exited.code.val != 0)
    return failed(failure, format("du failed: %s", output));
  return reply_text(reply, strtok(output, "\t"));
}

const tool_t DISK_USAGE = {
    .name = "disk_usage",
    .description = "Measures how much a file or directory of the workspace takes on disk.",
    .input_schema =
        "{\"type\": \"object\","
        " \"properties\": {\"path\": {\"type\": \"string\","
        " \"description\": \"The path: absolute, or relative to the workspace.\"}},"
        " \"required\": [\"path\"], \"additionalProperties\": false}",
    .hints = READ_ONLY,
    .call = call,
};
