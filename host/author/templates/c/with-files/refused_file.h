// What the host refuses about files, as failures of a tool.

#pragma once

#include "tools.h"

// Makes a failure of what the host said about a file, and returns false.
static inline bool refused_file(failure_t *failure, const toolhost_plugin_files_error_t *error) {
  // Kinds with a text have it at the same place.
  const plugin_string_t *text = &error->val.failed;
  switch (error->tag) {
    case TOOLHOST_PLUGIN_FILES_ERROR_NOT_FOUND: return failed(failure, "no such file or directory");
    case TOOLHOST_PLUGIN_FILES_ERROR_NOT_A_FILE: return failed(failure, "not a file");
    case TOOLHOST_PLUGIN_FILES_ERROR_NOT_A_DIRECTORY: return failed(failure, "not a directory");
    case TOOLHOST_PLUGIN_FILES_ERROR_TOO_LARGE:
      return failed(failure, format("larger than %llu bytes, the most that is possible",
                                    (unsigned long long)error->val.too_large));
    case TOOLHOST_PLUGIN_FILES_ERROR_OUTSIDE_WORKSPACE:
      return failed(failure, format("%s is outside of the workspace", text_of(text->ptr, text->len)));
    case TOOLHOST_PLUGIN_FILES_ERROR_DENIED: return denied(failure, text_of(text->ptr, text->len));
    case TOOLHOST_PLUGIN_FILES_ERROR_UNAVAILABLE: return unavailable(failure, text_of(text->ptr, text->len));
    default: return failed(failure, text_of(text->ptr, text->len));
  }
}
