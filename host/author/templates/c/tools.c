// The exports of the component: what every plugin does with its tools.

#include "tools.h"

#include <stdarg.h>

static void *allocated(size_t size) {
  void *memory = calloc(1, size);
  if (!memory) abort();
  return memory;
}

char *text_of(const uint8_t *bytes, size_t length) {
  char *text = allocated(length + 1);
  memcpy(text, bytes, length);
  return text;
}

char *format(const char *form, ...) {
  va_list values, again;
  va_start(values, form);
  va_copy(again, values);
  size_t size = (size_t)vsnprintf(NULL, 0, form, values) + 1;
  char *text = allocated(size);
  vsnprintf(text, size, form, again);
  va_end(again);
  va_end(values);
  return text;
}

// Returns the length of the character at the beginning of a text; 0 if it is not UTF-8.
static size_t character(const unsigned char *at) {
  size_t length = at[0] < 0x80 ? 1 : at[0] < 0xc2 ? 0 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : at[0] < 0xf5 ? 4 : 0;
  for (size_t next = 1; next < length; next++)
    if ((at[next] & 0xc0) != 0x80) return 0;
  bool is_long = (at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xf0 && at[1] < 0x90);
  bool is_none = (at[0] == 0xed && at[1] > 0x9f) || (at[0] == 0xf4 && at[1] > 0x8f);
  return is_long || is_none ? 0 : length;
}

// Copies a text, which the host must find to be UTF-8.
static void copy(plugin_string_t *to, const char *text) {
  char *copied = allocated(3 * strlen(text) + 1), *out = copied;
  for (const char *at = text; *at;) {
    size_t length = character((const unsigned char *)at);
    memcpy(out, length ? at : "\xef\xbf\xbd", length ? length : 3);
    out += length ? length : 3;
    at += length ? length : 1;
  }
  to->ptr = (uint8_t *)copied;
  to->len = (size_t)(out - copied);
}

static exports_toolhost_plugin_tools_content_t *part(reply_t *reply, uint8_t tag) {
  size_t count = reply->content.len;
  exports_toolhost_plugin_tools_content_t *parts = allocated((count + 1) * sizeof *parts);
  if (count) memcpy(parts, reply->content.ptr, count * sizeof *parts);
  parts[count].tag = tag;
  reply->content.ptr = parts;
  reply->content.len = count + 1;
  return &parts[count];
}

bool reply_text(reply_t *reply, const char *text) {
  copy(&part(reply, EXPORTS_TOOLHOST_PLUGIN_TOOLS_CONTENT_TEXT)->val.text, text);
  return true;
}

bool reply_json(reply_t *reply, const char *json) {
  copy(&part(reply, EXPORTS_TOOLHOST_PLUGIN_TOOLS_CONTENT_JSON)->val.json, json);
  return true;
}

static bool fail(failure_t *failure, uint8_t tag, const char *message) {
  failure->tag = tag;
  // All kinds of failures have a text at the same place.
  copy(&failure->val.failed, message);
  return false;
}

bool invalid(failure_t *failure, const char *message) {
  return fail(failure, EXPORTS_TOOLHOST_PLUGIN_TOOLS_TOOL_ERROR_INVALID_ARGUMENTS, message);
}

bool denied(failure_t *failure, const char *message) {
  return fail(failure, EXPORTS_TOOLHOST_PLUGIN_TOOLS_TOOL_ERROR_DENIED, message);
}

bool unavailable(failure_t *failure, const char *message) {
  return fail(failure, EXPORTS_TOOLHOST_PLUGIN_TOOLS_TOOL_ERROR_UNAVAILABLE, message);
}

bool failed(failure_t *failure, const char *message) {
  return fail(failure, EXPORTS_TOOLHOST_PLUGIN_TOOLS_TOOL_ERROR_FAILED, message);
}

char *only_argument(const char *arguments, const char *name, failure_t *failure) {
  char *value = NULL;
  json_t json = json_object(arguments);
  while (json_next(&json)) {
    if (strcmp(json.key, name) != 0) {
      invalid(failure, format("there is no argument %s; the only argument is %s", json.key, name));
      return NULL;
    }
    value = json_string(&json);
    if (!value) {
      invalid(failure, format("the argument %s must be a string", name));
      return NULL;
    }
  }
  if (!value) invalid(failure, format("the argument %s is required", name));
  return value;
}

bool exports_toolhost_plugin_tools_list_tools(
    exports_toolhost_plugin_tools_list_tool_t *tools, plugin_string_t *error) {
  (void)error;
  size_t count = 0;
  while (TOOLS[count]) count++;
  tools->ptr = allocated(count * sizeof *tools->ptr);
  tools->len = count;
  for (size_t index = 0; index < count; index++) {
    exports_toolhost_plugin_tools_tool_t *made = &tools->ptr[index];
    copy(&made->name, TOOLS[index]->name);
    copy(&made->description, TOOLS[index]->description);
    copy(&made->input_schema, TOOLS[index]->input_schema);
    made->hints = TOOLS[index]->hints;
  }
  return true;
}

bool exports_toolhost_plugin_tools_call_tool(
    exports_toolhost_plugin_tools_call_t *call, reply_t *reply, failure_t *failure) {
  const char *name = text_of(call->tool.ptr, call->tool.len);
  memset(reply, 0, sizeof *reply);
  for (const tool_t *const *tool = TOOLS; *tool; tool++)
    if (strcmp((*tool)->name, name) == 0)
      return (*tool)->call(text_of(call->arguments.ptr, call->arguments.len), reply, failure);
  return fail(failure, EXPORTS_TOOLHOST_PLUGIN_TOOLS_TOOL_ERROR_UNKNOWN_TOOL, name);
}
