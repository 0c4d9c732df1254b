// The tools of the table in C: what every language must do alike. They stand in the place of the tool of the template.

#include "http.h"
#include "refused_file.h"
#include "refused_process.h"
#include "tools.h"

// Reads the member of an object that has this name. Returns whether there is one.
static bool member(const char *object, const char *name, json_t *found) {
  for (json_t json = json_object(object); json_next(&json);) {
    if (strcmp(json.key, name) != 0) continue;
    *found = json;
    return true;
  }
  return false;
}

// Returns the text of a member; NULL: there is none.
static char *text_member(const char *object, const char *name) {
  json_t json;
  return member(object, name, &json) ? json_string(&json) : NULL;
}

static double number_member(const char *object, const char *name, double otherwise) {
  json_t json;
  double number = otherwise;
  if (member(object, name, &json)) json_number(&json, &number);
  return number;
}

static char *quoted(plugin_string_t text) { return json_quoted(text_of(text.ptr, text.len)); }

static plugin_string_t string(const char *text) {
  plugin_string_t string;
  plugin_string_set(&string, text);
  return string;
}

static bool echo(const char *arguments, reply_t *reply, failure_t *failure) {
  const char *text = NULL;
  double times = 1;
  for (json_t json = json_object(arguments); json_next(&json);) {
    if (strcmp(json.key, "text") == 0) {
      text = json_string(&json);
      if (!text) return invalid(failure, "the argument text must be a string");
    } else if (strcmp(json.key, "times") == 0) {
      if (!json_number(&json, &times) || times < 1 || times > 3) return invalid(failure, "times is from 1 to 3");
    } else {
      return invalid(failure, format("there is no argument %s", json.key));
    }
  }
  if (!text) return invalid(failure, "the argument text is required");
  const char *all = "";
  for (int time = 0; time < (int)times; time++) all = format("%s%s", all, text);
  return reply_text(reply, all);
}

static bool big(const char *arguments, reply_t *reply, failure_t *failure) {
  (void)failure;
  size_t length = (size_t)number_member(arguments, "kib", 0) << 10;
  char *text = calloc(1, length + 1);
  if (!text) abort();
  memset(text, 'x', length);
  return reply_text(reply, text);
}

static bool parts(const char *arguments, reply_t *reply, failure_t *failure) {
  (void)arguments, (void)failure;
  static uint8_t image[] = {0, 255}, document[] = {'d'};
  exports_toolhost_plugin_tools_content_t *all = calloc(5, sizeof *all);
  if (!all) abort();
  reply_text(reply, "é");
  reply_json(reply, "{\"ü\":[1,null]}");
  memcpy(all, reply->content.ptr, 2 * sizeof *all);
  all[2].tag = EXPORTS_TOOLHOST_PLUGIN_TOOLS_CONTENT_IMAGE;
  plugin_string_dup(&all[2].val.image.media_type, "image/png");
  all[2].val.image.data.ptr = memcpy(malloc(sizeof image), image, sizeof image);
  all[2].val.image.data.len = sizeof image;
  all[3].tag = all[4].tag = EXPORTS_TOOLHOST_PLUGIN_TOOLS_CONTENT_DOCUMENT;
  plugin_string_dup(&all[3].val.document.uri, "docs:a");
  all[3].val.document.media_type.is_some = all[3].val.document.data.is_some = true;
  plugin_string_dup(&all[3].val.document.media_type.val, "text/plain");
  all[3].val.document.data.val.ptr = memcpy(malloc(sizeof document), document, sizeof document);
  all[3].val.document.data.val.len = sizeof document;
  plugin_string_dup(&all[4].val.document.uri, "docs:b");
  reply->content.ptr = all;
  reply->content.len = 5;
  return true;
}

static bool fail(const char *arguments, reply_t *reply, failure_t *failure) {
  const char *how = text_member(arguments, "how");
  if (!how) how = "";
  if (strcmp(how, "invalid") == 0) return invalid(failure, "é invalid");
  if (strcmp(how, "denied") == 0) return denied(failure, "é denied");
  if (strcmp(how, "unavailable") == 0) return unavailable(failure, "é unavailable");
  if (strcmp(how, "failed") == 0) return failed(failure, "é failed");
  if (strcmp(how, "reply") == 0) {
    reply->is_error = true;
    return reply_text(reply, "é reply");
  }
  if (strcmp(how, "broken") != 0) return invalid(failure, "how is none of the ways");
  fputs("é broken\n", stderr);
  abort();
}

static bool tell(const char *arguments, reply_t *reply, failure_t *failure) {
  (void)arguments, (void)failure;
  plugin_string_t told = string("told é"), half = string("half é");
  for (uint8_t level = TOOLHOST_PLUGIN_LOG_LEVEL_DEBUG; level <= TOOLHOST_PLUGIN_LOG_LEVEL_ERROR; level++)
    toolhost_plugin_log_log(level, &told);
  puts("printed é");
  // No program ends here that would do it.
  fflush(stdout);
  double total = 2;
  toolhost_plugin_progress_report(0, &total, NULL);
  toolhost_plugin_progress_report(1, &total, &half);
  toolhost_plugin_progress_report(2, &total, NULL);
  return reply_text(reply, "told");
}

static bool surroundings(const char *arguments, reply_t *reply, failure_t *failure) {
  (void)arguments, (void)failure;
  plugin_string_t chat, root, locale = {0}, setting = {0}, other, secret, reason;
  plugin_string_t names[] = {string("locale"), string("setting"), string("other"), string("key")};
  toolhost_plugin_context_chat(&chat);
  toolhost_plugin_context_workspace_root(&root);
  toolhost_plugin_context_attribute(&names[0], &locale);
  toolhost_plugin_settings_get(&names[1], &setting);
  if (!toolhost_plugin_settings_get(&names[2], &other)) other = string("default");
  if (!toolhost_plugin_settings_secret(&names[3], &secret, &reason)) secret = reason;
  uint64_t remaining = toolhost_plugin_context_remaining_ms();
  const char *form =
      "{\"chat\":%s,\"root\":%s,\"has_time\":%s,\"cancelled\":%s,\"locale\":%s,\"setting\":%s,\"other\":%s,\"secret\":%s}";
  char *json;
  asprintf(&json, form, quoted(chat), quoted(root), 0 < remaining && remaining <= 3600000 ? "true" : "false",
           toolhost_plugin_context_cancelled() ? "true" : "false", quoted(locale), quoted(setting), quoted(other),
           quoted(secret));
  return reply_json(reply, json);
}

static bool spin(const char *arguments, reply_t *reply, failure_t *failure) {
  (void)arguments, (void)reply, (void)failure;
  for (volatile unsigned count = 0;;) count = count + 1;
}

static bool hoard(const char *arguments, reply_t *reply, failure_t *failure) {
  (void)arguments, (void)reply, (void)failure;
  for (;;) {
    volatile char *memory = malloc(100000);
    if (!memory) abort();
    *memory = 1;
  }
}

static bool shell(const char *arguments, reply_t *reply, failure_t *failure) {
  double seconds = number_member(arguments, "timeout", 60);
  const char *input = text_member(arguments, "stdin");
  plugin_tuple2_string_string_t variables[8];
  toolhost_plugin_processes_start_options_t options = {
      .command = string(text_member(arguments, "command")), .env = {variables, 0}};
  if (input) {
    options.stdin_.tag = TOOLHOST_PLUGIN_PROCESSES_STDIN_BYTES;
    options.stdin_.val.bytes = (plugin_list_u8_t){(uint8_t *)input, strlen(input)};
  }
  json_t env;
  if (member(arguments, "env", &env))
    for (json_t json = json_object(env.value); json_next(&json) && options.env.len < 8;)
      variables[options.env.len++] = (plugin_tuple2_string_string_t){string(json.key), string(json_string(&json))};

  toolhost_plugin_processes_own_process_t started;
  toolhost_plugin_processes_error_t error;
  if (!toolhost_plugin_processes_start(&options, &started, &error)) return refused_process(failure, &error);
  toolhost_plugin_processes_borrow_process_t process = toolhost_plugin_processes_borrow_process(started);
  toolhost_plugin_processes_wait_options_t wait = {.timeout_ms = (uint64_t)(seconds * 1000)};
  toolhost_plugin_processes_waited_t waited;
  if (!toolhost_plugin_processes_method_process_wait(process, &wait, &waited, &error))
    return refused_process(failure, &error);
  if (waited.wake != TOOLHOST_PLUGIN_PROCESSES_WAKE_ENDED) {
    toolhost_plugin_processes_state_t state;
    toolhost_plugin_processes_method_process_signal(process, TOOLHOST_PLUGIN_PROCESSES_SIGNAL_TERMINATE, NULL, &state, &error);
    if (waited.wake == TOOLHOST_PLUGIN_PROCESSES_WAKE_CANCELLED)
      return failed(failure, "the command was ended: the call was cancelled");
    return failed(failure, format("the command was ended: it took more than %g s", seconds));
  }
  toolhost_plugin_processes_snapshot_t seen;
  if (!toolhost_plugin_processes_method_process_snapshot(process, &seen, &error)) return refused_process(failure, &error);
  size_t gap = (size_t)seen.total - seen.head.len - seen.tail.len;
  const char *head = text_of(seen.head.ptr, seen.head.len), *tail = text_of(seen.tail.ptr, seen.tail.len);
  const char *text = gap ? format("%s\n[%zu bytes left out]\n%s", head, gap, tail) : format("%s%s", head, tail);
  const toolhost_plugin_processes_exit_status_t *status = &seen.state.val.exited;
  return reply_json(reply, format("{\"code\":%s,\"signal\":%s,\"text\":%s,\"total\":%zu}",
                                  status->code.is_some ? format("%d", (int)status->code.val) : "null",
                                  status->signal.is_some ? quoted(status->signal.val) : "null", json_quoted(text),
                                  (size_t)seen.total));
}

static bool background(const char *arguments, reply_t *reply, failure_t *failure) {
  toolhost_plugin_processes_start_options_t options = {
      .command = string(text_member(arguments, "command")), .background = true};
  toolhost_plugin_processes_own_process_t started, again;
  toolhost_plugin_processes_error_t error;
  if (!toolhost_plugin_processes_start(&options, &started, &error)) return refused_process(failure, &error);
  toolhost_plugin_processes_borrow_process_t process = toolhost_plugin_processes_borrow_process(started);
  toolhost_plugin_processes_wait_options_t until = {.timeout_ms = 60000, .until = {true, string("ready")}};
  toolhost_plugin_processes_wait_options_t end = {.timeout_ms = 60000};
  toolhost_plugin_processes_waited_t matched, waited;
  toolhost_plugin_processes_chunk_t chunk;
  toolhost_plugin_processes_tuple2_list_info_u32_t listed;
  toolhost_plugin_processes_state_t state;
  toolhost_plugin_processes_info_t info;
  plugin_string_t id;
  toolhost_plugin_processes_method_process_id(process, &id);
  if (!toolhost_plugin_processes_method_process_wait(process, &until, &matched, &error) ||
      !toolhost_plugin_processes_method_process_read(process, 0, (uint32_t)matched.match_end.val, &chunk, &error) ||
      !toolhost_plugin_processes_list_processes(true, 100, &listed, &error) ||
      !toolhost_plugin_processes_method_process_signal(process, TOOLHOST_PLUGIN_PROCESSES_SIGNAL_KILL, NULL, &state, &error) ||
      !toolhost_plugin_processes_open(&id, &again, &error) ||
      !toolhost_plugin_processes_method_process_wait(toolhost_plugin_processes_borrow_process(again), &end, &waited, &error) ||
      !toolhost_plugin_processes_method_process_info(toolhost_plugin_processes_borrow_process(again), &info, &error))
    return refused_process(failure, &error);
  const char *commands = "";
  for (size_t index = 0; index < listed.f0.len; index++)
    commands = format("%s%s%s", commands, index ? "," : "", quoted(listed.f0.ptr[index].command));
  const toolhost_plugin_processes_exit_status_t *status = &info.state.val.exited;
  return reply_json(
      reply, format("{\"wake\":\"%s\",\"read\":%s,\"listed\":[%s],\"before\":\"%s\",\"after\":%s,\"cause\":\"%s\"}",
                    matched.wake == TOOLHOST_PLUGIN_PROCESSES_WAKE_MATCHED ? "matched" : "other",
                    json_quoted(text_of(chunk.data.ptr, chunk.data.len)), commands,
                    state.tag == TOOLHOST_PLUGIN_PROCESSES_STATE_RUNNING ? "running" : "other",
                    status->signal.is_some ? quoted(status->signal.val) : "null",
                    status->cause == TOOLHOST_PLUGIN_PROCESSES_CAUSE_SIGNALLED ? "signalled" : "other"));
}

static bool write(const char *path, const char *text, toolhost_plugin_files_precondition_t when,
                  toolhost_plugin_files_metadata_t *written, failure_t *failure) {
  toolhost_plugin_files_write_t one = {
      .path = string(path), .data = {(uint8_t *)text, strlen(text)}, .when = when};
  toolhost_plugin_files_list_write_t writes = {&one, 1};
  toolhost_plugin_files_list_metadata_t all;
  toolhost_plugin_files_tuple2_u32_error_t error;
  if (!toolhost_plugin_files_write_all(&writes, &all, &error)) return refused_file(failure, &error.f1);
  *written = all.ptr[0];
  return true;
}

static bool store(const char *arguments, reply_t *reply, failure_t *failure) {
  const char *path = text_member(arguments, "path"), *text = text_member(arguments, "text");
  toolhost_plugin_files_metadata_t written, again, seen, nowhere;
  toolhost_plugin_files_precondition_t absent = {.tag = TOOLHOST_PLUGIN_FILES_PRECONDITION_ABSENT};
  if (!write(path, text, absent, &written, failure)) return false;
  toolhost_plugin_files_precondition_t same = {
      .tag = TOOLHOST_PLUGIN_FILES_PRECONDITION_VERSION, .val.version = written.version};
  if (!write(path, format("%s\n", text), same, &again, failure)) return false;
  plugin_string_t name = string(path), workspace = string("."), missing = string("nowhere");
  toolhost_plugin_files_chunk_t chunk;
  toolhost_plugin_files_skipped_t skipped;
  toolhost_plugin_files_tuple2_list_entry_bool_t names;
  toolhost_plugin_files_error_t error;
  if (!toolhost_plugin_files_read(&name, 0, 4096, &chunk, &error) ||
      !toolhost_plugin_files_skip_lines(&name, 0, 99, &skipped, &error) ||
      !toolhost_plugin_files_metadata_of(&name, &seen, &error) ||
      !toolhost_plugin_files_read_directory(&workspace, NULL, 100, &names, &error))
    return refused_file(failure, &error);
  const char *listed = "";
  for (size_t index = 0; index < names.f0.len; index++)
    listed = format("%s%s%s", listed, index ? "," : "", quoted(names.f0.ptr[index].name));
  bool exists = toolhost_plugin_files_metadata_of(&missing, &nowhere, &error);
  return reply_json(
      reply, format("{\"size\":%zu,\"text\":%s,\"lines\":%zu,\"kind\":\"%s\",\"names\":[%s],\"exists\":%s}", (size_t)again.size,
                    json_quoted(text_of(chunk.data.ptr, chunk.data.len)), (size_t)skipped.lines,
                    seen.kind == TOOLHOST_PLUGIN_FILES_KIND_FILE ? "file" : "other", listed, exists ? "true" : "false"));
}

static bool get(const char *arguments, reply_t *reply, failure_t *failure) {
  const header_t headers[] = {{"X-Asked", "yes"}, {"content-type", "application/json"}};
  const request_t request = {.method = "POST",
                             .url = text_member(arguments, "url"),
                             .headers = headers,
                             .header_count = 2,
                             .body = "{\"k\":\"é\"}",
                             .max_response = 1 << 20};
  response_t response;
  if (!http_send(&request, &response, failure)) return false;
  const char *type = http_header(&response, "content-type");
  return reply_json(reply, format("{\"status\":%d,\"type\":%s,\"text\":%s}", response.status,
                                  type ? json_quoted(type) : "null", json_quoted(response.body)));
}

#define OBJECT(properties, required) \
  "{\"type\":\"object\",\"properties\":{" properties "},\"required\":[" required "],\"additionalProperties\":false}"
#define NOTHING "{\"type\":\"object\",\"additionalProperties\":false}"
#define TOOL(id, hint, says, schema) \
  &(const tool_t) { .name = #id, .description = says, .input_schema = schema, .hints = hint, .call = id }

const tool_t *const TOOLS[] = {
    TOOL(echo,
         READ_ONLY | EXPORTS_TOOLHOST_PLUGIN_TOOLS_HINTS_NON_DESTRUCTIVE | EXPORTS_TOOLHOST_PLUGIN_TOOLS_HINTS_IDEMPOTENT,
         "Repeats a text.",
         OBJECT("\"text\":{\"type\":\"string\",\"description\":\"The text.\"},"
                "\"times\":{\"type\":\"integer\",\"description\":\"How often.\",\"minimum\":1,\"maximum\":3,\"default\":1}",
                "\"text\"")),
    TOOL(big, READ_ONLY, "Replies with a text of this many KiB.", OBJECT("\"kib\":{\"type\":\"integer\"}", "\"kib\"")),
    TOOL(parts, READ_ONLY, "Replies with parts of every kind.", NOTHING),
    TOOL(fail, READ_ONLY, "Fails in one of several ways.", OBJECT("\"how\":{\"type\":\"string\"}", "\"how\"")),
    TOOL(tell, READ_ONLY, "Writes to the log, and reports progress.", NOTHING),
    TOOL(surroundings, READ_ONLY, "Says what the call sees of its host.", NOTHING),
    TOOL(spin, READ_ONLY, "Computes without end.", NOTHING),
    TOOL(hoard, READ_ONLY, "Takes memory without end.", NOTHING),
    TOOL(shell, 0, "Runs a command to its end.",
         OBJECT("\"command\":{\"type\":\"string\"},\"env\":{\"type\":\"object\"},\"stdin\":{\"type\":\"string\"},"
                "\"timeout\":{\"type\":\"number\"}",
                "\"command\"")),
    TOOL(background, 0, "Starts a command, and looks at it in all ways.",
         OBJECT("\"command\":{\"type\":\"string\"}", "\"command\"")),
    TOOL(store, 0, "Writes a file, and reads it again.",
         OBJECT("\"path\":{\"type\":\"string\"},\"text\":{\"type\":\"string\"}", "\"path\",\"text\"")),
    TOOL(get, READ_ONLY, "Gets what is at an address.", OBJECT("\"url\":{\"type\":\"string\"}", "\"url\"")),
    NULL,
};
