// The first line of a file.

#include "refused_file.h"
#include "tools.h"

// The most bytes that are read of a file.
static const uint32_t MOST = 4096;

static bool call(const char *arguments, reply_t *reply, failure_t *failure) {
  const char *path = only_argument(arguments, "path", failure);
  if (!path) return false;
  plugin_string_t name;
  plugin_string_set(&name, path);
  toolhost_plugin_files_chunk_t chunk;
  toolhost_plugin_files_error_t error;
  if (!toolhost_plugin_files_read(&name, 0, MOST, &chunk, &error)) return refused_file(failure, &error);
  char *text = text_of(chunk.data.ptr, chunk.data.len);
  text[strcspn(text, "\n")] = 0;
  return reply_text(reply, text);
}

const tool_t FIRST_LINE = {
    .name = "first_line",
    .description = "Returns the first line of a file of the workspace.",
    .input_schema =
        "{\"type\": \"object\","
        " \"properties\": {\"path\": {\"type\": \"string\","
        " \"description\": \"The path: absolute, or relative to the workspace.\"}},"
        " \"required\": [\"path\"], \"additionalProperties\": false}",
    .hints = READ_ONLY,
    .call = call,
};
