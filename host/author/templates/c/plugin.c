// {{name}}: a plugin for Toolhost.

#include "tools.h"

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

static bool call(const char *arguments, reply_t *reply, failure_t *failure) {
  const char *text = only_argument(arguments, "text", failure);
  if (!text) return false;
  return reply_json(reply, format("{\"words\": %zu}", count_words(text)));
}

static const tool_t WORD_COUNT = {
    .name = "{{name}}",
    .description = "Counts the words of a text.",
    .input_schema =
        "{\"type\": \"object\","
        " \"properties\": {\"text\": {\"type\": \"string\", \"description\": \"The text.\"}},"
        " \"required\": [\"text\"], \"additionalProperties\": false}",
    .hints = READ_ONLY,
    .call = call,
};

{{#processes}}
extern const tool_t DISK_USAGE;
{{/processes}}
{{#files}}
extern const tool_t FIRST_LINE;
{{/files}}
{{#http}}
extern const tool_t PAGE_TITLE;
{{/http}}
{{#grants}}

{{/grants}}
const tool_t *const TOOLS[] = {
    &WORD_COUNT,
{{#processes}}
    &DISK_USAGE,
{{/processes}}
{{#files}}
    &FIRST_LINE,
{{/files}}
{{#http}}
    &PAGE_TITLE,
{{/http}}
    NULL,
};
