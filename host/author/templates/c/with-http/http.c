// HTTP requests, by the bindings of wasi:http.

#include "http.h"

#include <strings.h>

// The most bytes that the host takes at once, and that are read at once.
static const size_t PIECE = 4096;
static const uint64_t READ = 64 << 10;

typedef wasi_http_types_own_future_incoming_response_t future_t;

static plugin_string_t string(const char *text) {
  plugin_string_t string;
  plugin_string_set(&string, text);
  return string;
}

static bool refused(failure_t *failure, const wasi_http_types_error_code_t *error) {
  switch (error->tag) {
    case WASI_HTTP_TYPES_ERROR_CODE_HTTP_REQUEST_DENIED:
      return denied(failure, "the plugin was not granted requests to this destination");
    case WASI_HTTP_TYPES_ERROR_CODE_DNS_TIMEOUT:
    case WASI_HTTP_TYPES_ERROR_CODE_DNS_ERROR:
      return unavailable(failure, "the name of the server cannot be resolved");
    case WASI_HTTP_TYPES_ERROR_CODE_CONNECTION_REFUSED:
      return unavailable(failure, "the server refuses the connection");
    case WASI_HTTP_TYPES_ERROR_CODE_CONNECTION_TIMEOUT:
    case WASI_HTTP_TYPES_ERROR_CODE_CONNECTION_READ_TIMEOUT:
    case WASI_HTTP_TYPES_ERROR_CODE_CONNECTION_WRITE_TIMEOUT:
    case WASI_HTTP_TYPES_ERROR_CODE_HTTP_RESPONSE_TIMEOUT:
      return unavailable(failure, "the server does not answer in time");
    case WASI_HTTP_TYPES_ERROR_CODE_TLS_PROTOCOL_ERROR:
    case WASI_HTTP_TYPES_ERROR_CODE_TLS_CERTIFICATE_ERROR:
    case WASI_HTTP_TYPES_ERROR_CODE_TLS_ALERT_RECEIVED:
      return unavailable(failure, "no secure connection to the server can be made");
    default:
      // The numbers are the places in the variant error-code of wasi:http.
      return failed(failure, format("the request failed with error %d of wasi:http", error->tag));
  }
}

// Makes the request without its body. Returns false, with a failure, if the host does not take it.
static bool prepare(const request_t *request, wasi_http_types_own_outgoing_request_t *made, failure_t *failure) {
  const char *rest = strstr(request->url, "://");
  bool is_secure = strncmp(request->url, "https://", 8) == 0;
  if (!rest || !(is_secure || strncmp(request->url, "http://", 7) == 0))
    return failed(failure, format("%s does not begin with http:// or https://", request->url));
  const char *host = rest + 3;
  size_t length = strcspn(host, "/?#");
  const char *path = host + length;
  char *authority = text_of((const uint8_t *)host, length);
  char *target = format("%s%s", *path == '/' ? "" : "/", path);
  target[strcspn(target, "#")] = 0;

  wasi_http_types_own_fields_t fields = wasi_http_types_constructor_fields();
  wasi_http_types_borrow_fields_t headers = wasi_http_types_borrow_fields(fields);
  for (size_t index = 0; index < request->header_count; index++) {
    plugin_string_t name = string(request->headers[index].name), value = string(request->headers[index].value);
    wasi_http_types_field_value_t bytes = {.ptr = value.ptr, .len = value.len};
    wasi_http_types_header_error_t error;
    if (!wasi_http_types_method_fields_append(headers, &name, &bytes, &error))
      return failed(failure, format("the header %s cannot be sent", request->headers[index].name));
  }
  *made = wasi_http_types_constructor_outgoing_request(fields);
  wasi_http_types_borrow_outgoing_request_t outgoing = wasi_http_types_borrow_outgoing_request(*made);
  wasi_http_types_method_t method = {.tag = WASI_HTTP_TYPES_METHOD_OTHER, .val.other = string(request->method)};
  wasi_http_types_scheme_t scheme = {.tag = is_secure ? WASI_HTTP_TYPES_SCHEME_HTTPS : WASI_HTTP_TYPES_SCHEME_HTTP};
  plugin_string_t authority_text = string(authority), target_text = string(target);
  if (!wasi_http_types_method_outgoing_request_set_method(outgoing, &method) ||
      !wasi_http_types_method_outgoing_request_set_scheme(outgoing, &scheme) ||
      !wasi_http_types_method_outgoing_request_set_authority(outgoing, &authority_text) ||
      !wasi_http_types_method_outgoing_request_set_path_with_query(outgoing, &target_text))
    return failed(failure, "the request is not valid: look at its method and its URL");
  return true;
}

// Writes the body. If the request fails meanwhile, the response has the reason.
static void write_body(wasi_http_types_own_outgoing_body_t body, const char *text) {
  wasi_http_types_own_output_stream_t stream;
  if (text && wasi_http_types_method_outgoing_body_write(wasi_http_types_borrow_outgoing_body(body), &stream)) {
    plugin_list_u8_t piece = {.ptr = (uint8_t *)text, .len = 0};
    wasi_io_streams_stream_error_t error;
    for (size_t left = strlen(text); left > 0; left -= piece.len) {
      piece.ptr += piece.len;
      piece.len = left < PIECE ? left : PIECE;
      if (!wasi_io_streams_method_output_stream_blocking_write_and_flush(
              wasi_io_streams_borrow_output_stream(stream), &piece, &error))
        break;
    }
    wasi_io_streams_output_stream_drop_own(stream);
  }
  wasi_http_types_error_code_t error;
  wasi_http_types_static_outgoing_body_finish(body, NULL, &error);
}

static bool read_body(wasi_http_types_borrow_incoming_response_t incoming, size_t max, response_t *response,
                      failure_t *failure) {
  wasi_http_types_own_incoming_body_t body;
  wasi_http_types_own_input_stream_t stream;
  if (!wasi_http_types_method_incoming_response_consume(incoming, &body) ||
      !wasi_http_types_method_incoming_body_stream(wasi_http_types_borrow_incoming_body(body), &stream))
    return failed(failure, "the response has no body");
  response->body = calloc(1, max + 1);
  if (!response->body) abort();
  for (;;) {
    plugin_list_u8_t piece;
    wasi_io_streams_stream_error_t error;
    if (!wasi_io_streams_method_input_stream_blocking_read(
            wasi_io_streams_borrow_input_stream(stream), READ, &piece, &error)) {
      if (error.tag == WASI_IO_STREAMS_STREAM_ERROR_CLOSED) return true;
      return failed(failure, "the connection broke before the end of the response");
    }
    if (piece.len > max - response->length) return failed(failure, format("the response has more than %zu bytes", max));
    memcpy(response->body + response->length, piece.ptr, piece.len);
    response->length += piece.len;
    plugin_list_u8_free(&piece);
  }
}

bool http_send(const request_t *request, response_t *response, failure_t *failure) {
  wasi_http_types_own_outgoing_request_t outgoing;
  if (!prepare(request, &outgoing, failure)) return false;
  wasi_http_types_own_outgoing_body_t body;
  if (!wasi_http_types_method_outgoing_request_body(wasi_http_types_borrow_outgoing_request(outgoing), &body))
    return failed(failure, "the request takes no body");
  wasi_http_types_own_request_options_t options = wasi_http_types_constructor_request_options();
  if (request->timeout_ms > 0) {
    wasi_http_types_borrow_request_options_t times = wasi_http_types_borrow_request_options(options);
    wasi_http_types_duration_t nanoseconds = request->timeout_ms * 1000000;
    wasi_http_types_method_request_options_set_connect_timeout(times, &nanoseconds);
    wasi_http_types_method_request_options_set_first_byte_timeout(times, &nanoseconds);
    wasi_http_types_method_request_options_set_between_bytes_timeout(times, &nanoseconds);
  }
  future_t future;
  wasi_http_types_error_code_t error;
  if (!wasi_http_outgoing_handler_handle(outgoing, &options, &future, &error)) return refused(failure, &error);
  write_body(body, request->body);

  wasi_http_types_borrow_future_incoming_response_t waiting = wasi_http_types_borrow_future_incoming_response(future);
  wasi_io_poll_own_pollable_t ready = wasi_http_types_method_future_incoming_response_subscribe(waiting);
  wasi_io_poll_method_pollable_block(wasi_io_poll_borrow_pollable(ready));
  wasi_io_poll_pollable_drop_own(ready);
  wasi_http_types_result_result_own_incoming_response_error_code_void_t got;
  if (!wasi_http_types_method_future_incoming_response_get(waiting, &got) || got.is_err)
    return failed(failure, "there is no response");
  if (got.val.ok.is_err) return refused(failure, &got.val.ok.val.err);
  wasi_http_types_borrow_incoming_response_t incoming = wasi_http_types_borrow_incoming_response(got.val.ok.val.ok);
  memset(response, 0, sizeof *response);
  response->status = wasi_http_types_method_incoming_response_status(incoming);
  wasi_http_types_own_headers_t headers = wasi_http_types_method_incoming_response_headers(incoming);
  wasi_http_types_method_fields_entries(wasi_http_types_borrow_fields(headers), &response->headers);
  return read_body(incoming, request->max_response, response, failure);
}

char *http_header(const response_t *response, const char *name) {
  for (size_t index = 0; index < response->headers.len; index++) {
    const wasi_http_types_tuple2_field_name_field_value_t *header = &response->headers.ptr[index];
    if (header->f0.len == strlen(name) && strncasecmp((const char *)header->f0.ptr, name, header->f0.len) == 0)
      return text_of(header->f1.ptr, header->f1.len);
  }
  return NULL;
}
