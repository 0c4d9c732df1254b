// Reading the members of a JSON object, and writing texts. The host has checked that the arguments are valid JSON.
//
// Nothing is freed: a call has an instance of its own, whose memory ends with it.

#pragma once

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  // The rest of the text.
  const char *at;
  // The name of the current member.
  char *key;
  // The value of the current member, as its text.
  const char *value;
} json_t;

static inline const char *json_space(const char *at) { return at + strspn(at, " \t\r\n"); }

static inline uint32_t json_hex(const char *at) {
  char digits[5] = {at[0], at[1], at[2], at[3], 0};
  return (uint32_t)strtoul(digits, NULL, 16);
}

static inline char *json_utf8(char *out, uint32_t c) {
  // Texts in C end at U+0000, which is therefore replaced.
  if (c == 0) c = 0xfffd;
  if (c < 0x80) {
    *out++ = (char)c;
  } else if (c < 0x800) {
    *out++ = (char)(0xc0 | c >> 6);
    *out++ = (char)(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    *out++ = (char)(0xe0 | c >> 12);
    *out++ = (char)(0x80 | (c >> 6 & 0x3f));
    *out++ = (char)(0x80 | (c & 0x3f));
  } else {
    *out++ = (char)(0xf0 | c >> 18);
    *out++ = (char)(0x80 | (c >> 12 & 0x3f));
    *out++ = (char)(0x80 | (c >> 6 & 0x3f));
    *out++ = (char)(0x80 | (c & 0x3f));
  }
  return out;
}

// Reads the string that begins at a quote, and moves behind it. Without escapes it is never longer than with them.
static inline char *json_text(const char **from) {
  const char *at = *from + 1;
  char *text = malloc(strlen(at) + 1), *out = text;
  if (!text) abort();
  for (; *at && *at != '"'; at++) {
    if (*at != '\\') {
      *out++ = *at;
      continue;
    }
    switch (*++at) {
      case 'b': *out++ = '\b'; break;
      case 'f': *out++ = '\f'; break;
      case 'n': *out++ = '\n'; break;
      case 'r': *out++ = '\r'; break;
      case 't': *out++ = '\t'; break;
      case 'u': {
        uint32_t c = json_hex(at + 1);
        at += 4;
        if (c >= 0xd800 && c < 0xdc00 && at[1] == '\\' && at[2] == 'u') {
          c = 0x10000 + ((c - 0xd800) << 10) + (json_hex(at + 3) - 0xdc00);
          at += 6;
        }
        out = json_utf8(out, c);
        break;
      }
      default: *out++ = *at;
    }
  }
  *out = 0;
  *from = *at ? at + 1 : at;
  return text;
}

// Begins with the members of an object.
static inline json_t json_object(const char *text) {
  const char *at = json_space(text);
  return (json_t){.at = *at == '{' ? at + 1 : at};
}

// Goes on to the next member. Returns whether there is one.
static inline bool json_next(json_t *json) {
  const char *at = json_space(json->at);
  if (*at == ',') at = json_space(at + 1);
  if (*at != '"') return false;
  json->key = json_text(&at);
  at = json_space(at);
  json->value = at = json_space(*at == ':' ? at + 1 : at);
  // The end of the value: the comma or brace that is in no string and in no bracket.
  for (int depth = 0; *at; at++) {
    if (*at == '"') {
      for (at++; *at && *at != '"'; at++)
        if (*at == '\\') at++;
    } else if (*at == '{' || *at == '[') {
      depth++;
    } else if (depth == 0 && (*at == ',' || *at == '}')) {
      break;
    } else if (*at == '}' || *at == ']') {
      depth--;
    }
  }
  json->at = at;
  return true;
}

// Returns the current value if it is a string, and NULL if not.
static inline char *json_string(const json_t *json) {
  const char *at = json->value;
  return *at == '"' ? json_text(&at) : NULL;
}

// Reads the current value if it is a number. Returns whether it is.
static inline bool json_number(const json_t *json, double *number) {
  char *end;
  if (*json->value != '-' && !isdigit((unsigned char)*json->value)) return false;
  *number = strtod(json->value, &end);
  return end != json->value;
}

// Returns a text as a JSON string.
static inline char *json_quoted(const char *text) {
  char *quoted = malloc(6 * strlen(text) + 3), *out = quoted;
  if (!quoted) abort();
  *out++ = '"';
  for (; *text; text++) {
    unsigned char c = (unsigned char)*text;
    if (c == '"' || c == '\\') {
      *out++ = '\\';
      *out++ = (char)c;
    } else if (c < 0x20) {
      out += sprintf(out, "\\u%04x", c);
    } else {
      *out++ = (char)c;
    }
  }
  *out++ = '"';
  *out = 0;
  return quoted;
}
