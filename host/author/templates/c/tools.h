// Tools, their replies and their failures, on top of the generated bindings.
//
// Nothing is freed: a call has an instance of its own, whose memory ends with it.

#pragma once

#include "gen/plugin.h"
#include "json.h"

typedef exports_toolhost_plugin_tools_reply_t reply_t;
typedef exports_toolhost_plugin_tools_tool_error_t failure_t;

// The hint of a tool that changes nothing outside of itself.
#define READ_ONLY EXPORTS_TOOLHOST_PLUGIN_TOOLS_HINTS_READ_ONLY

// A tool.
typedef struct {
  const char *name;
  // What the tool does and when to use it, written for the model.
  const char *description;
  // The JSON Schema of the arguments.
  const char *input_schema;
  exports_toolhost_plugin_tools_hints_t hints;
  // Runs a call with the text of its arguments. Returns whether there is a reply; if not, the failure says why.
  bool (*call)(const char *arguments, reply_t *reply, failure_t *failure);
} tool_t;

// All tools of the plugin, and NULL behind the last one.
extern const tool_t *const TOOLS[];

// Each adds a part to a reply, and returns true. Bytes that are not UTF-8 become U+FFFD.
bool reply_text(reply_t *reply, const char *text);
bool reply_json(reply_t *reply, const char *json);

// Each makes a failure, which the model reads, and returns false.
bool invalid(failure_t *failure, const char *message);
bool denied(failure_t *failure, const char *message);
bool unavailable(failure_t *failure, const char *message);
bool failed(failure_t *failure, const char *message);

// Returns the value of the only argument of a tool, which is a text. If the call has others, makes a failure and returns NULL.
char *only_argument(const char *arguments, const char *name, failure_t *failure);

// Returns a text that is made as printf makes it.
char *format(const char *form, ...) __attribute__((format(printf, 1, 2)));

// Returns bytes as a text.
char *text_of(const uint8_t *bytes, size_t length);
