// {{name}}: a plugin for Toolhost.

#include "gen/plugin.h"
#include "json.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const char NAME[] = "{{name}}";

static const char INPUT_SCHEMA[] =
    "{\"type\": \"object\","
    " \"properties\": {\"text\": {\"type\": \"string\", \"description\": \"The text.\"}},"
    " \"required\": [\"text\"], \"additionalProperties\": false}";

// Describes the tools. The host frees all texts, so each is a copy.
bool exports_toolhost_plugin_tools_list_tools(
    exports_toolhost_plugin_tools_list_tool_t *tools, plugin_string_t *error) {
  (void)error;
  exports_toolhost_plugin_tools_tool_t *tool = calloc(1, sizeof *tool);
  if (!tool) abort();
  plugin_string_dup(&tool->name, NAME);
  plugin_string_dup(&tool->description, "Counts the words of a text.");
  plugin_string_dup(&tool->input_schema, INPUT_SCHEMA);
  tool->hints = EXPORTS_TOOLHOST_PLUGIN_TOOLS_HINTS_READ_ONLY;
  tools->ptr = tool;
  tools->len = 1;
  return true;
}

// Tells the model what is wrong with its arguments.
static bool invalid(exports_toolhost_plugin_tools_tool_error_t *error, const char *message) {
  error->tag = EXPORTS_TOOLHOST_PLUGIN_TOOLS_TOOL_ERROR_INVALID_ARGUMENTS;
  plugin_string_dup(&error->val.invalid_arguments, message);
  return false;
}

static size_t count_words(const char *text) {
  size_t words = 0;
  bool within = false;
  for (; *text; text++) {
    bool space = isspace((unsigned char)*text);
    if (!space && !within) words++;
    within = !space;
  }
  return words;
}

// Runs one call.
bool exports_toolhost_plugin_tools_call_tool(
    exports_toolhost_plugin_tools_call_t *call, exports_toolhost_plugin_tools_reply_t *reply,
    exports_toolhost_plugin_tools_tool_error_t *error) {
  if (call->tool.len != strlen(NAME) || memcmp(call->tool.ptr, NAME, call->tool.len) != 0) {
    error->tag = EXPORTS_TOOLHOST_PLUGIN_TOOLS_TOOL_ERROR_UNKNOWN_TOOL;
    plugin_string_dup_n(&error->val.unknown_tool, (char *)call->tool.ptr, call->tool.len);
    return false;
  }
  char *arguments = strndup((char *)call->arguments.ptr, call->arguments.len);
  char *text = NULL;
  json_t json = json_object(arguments);
  while (json_next(&json)) {
    if (strcmp(json.key, "text") != 0) return invalid(error, "the only argument is text");
    text = json_string(&json);
    if (!text) return invalid(error, "the argument text must be a string");
  }
  if (!text) return invalid(error, "the argument text is required");

  char result[64];
  snprintf(result, sizeof result, "{\"words\": %zu}", count_words(text));
  exports_toolhost_plugin_tools_content_t *part = calloc(1, sizeof *part);
  if (!part) abort();
  part->tag = EXPORTS_TOOLHOST_PLUGIN_TOOLS_CONTENT_JSON;
  plugin_string_dup(&part->val.json, result);
  memset(reply, 0, sizeof *reply);
  reply->content.ptr = part;
  reply->content.len = 1;
  return true;
}
