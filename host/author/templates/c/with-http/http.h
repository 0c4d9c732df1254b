// HTTP requests to the destinations that the operator grants.

#pragma once

#include "tools.h"

// A name and a value.
typedef struct {
  const char *name;
  const char *value;
} header_t;

// A request.
typedef struct {
  // The method, in capital letters.
  const char *method;
  // http:// or https://, a host, and what follows it.
  const char *url;
  // The headers, and how many there are.
  const header_t *headers;
  size_t header_count;
  // The body; NULL: none.
  const char *body;
  // The longest time to connect, and the longest time without any byte, in milliseconds; 0: as long as the call may take.
  uint64_t timeout_ms;
  // The most bytes of the body of the response.
  size_t max_response;
} request_t;

// A response.
typedef struct {
  uint16_t status;
  wasi_http_types_list_tuple2_field_name_field_value_t headers;
  // The body, with 0 behind its last byte.
  char *body;
  size_t length;
} response_t;

// Sends a request, and reads the whole response. A response of any status is one. If there is none, makes a failure and returns false.
bool http_send(const request_t *request, response_t *response, failure_t *failure);

// Returns the first header of this name, which is in small letters; NULL: there is none.
char *http_header(const response_t *response, const char *name);
