// What the host refuses about processes, as failures of a tool.

#pragma once

#include "tools.h"

// Makes a failure of what the host said about processes, and returns false.
static inline bool refused_process(failure_t *failure, const toolhost_plugin_processes_error_t *error) {
  if (error->tag == TOOLHOST_PLUGIN_PROCESSES_ERROR_NOT_FOUND) return failed(failure, "process not found");
  // All others have a text at the same place.
  const char *text = text_of(error->val.failed.ptr, error->val.failed.len);
  switch (error->tag) {
    case TOOLHOST_PLUGIN_PROCESSES_ERROR_DENIED: return denied(failure, text);
    case TOOLHOST_PLUGIN_PROCESSES_ERROR_UNAVAILABLE: return unavailable(failure, text);
    default: return failed(failure, text);
  }
}
