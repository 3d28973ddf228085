/* Lines of JSON over a file descriptor. A line longer than memory is a failed read, never a crash. */
#include "harness/wire/protocol.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/wire/stream.h"

static const char *const request_names[TB_REQUEST_COUNT] = {
#define TB_REQUEST(name, fields, reply) #name,
#include "harness/wire/requests.def"
#undef TB_REQUEST
};

const char *tb_request_name(enum tb_request request) { return request_names[request]; }

bool tb_request_parse(const char *name, enum tb_request *request) {
  for (int i = 0; i < TB_REQUEST_COUNT; i++)
    if (!strcmp(request_names[i], name)) return *request = (enum tb_request)i, true;
  return false;
}

bool tb_message_write(int fd, const cJSON *message) {
  char *text = message ? cJSON_PrintUnformatted(message) : NULL;
  if (!text) return false;
  size_t left = strlen(text);
  text[left++] = '\n'; /* in place of the terminating zero */
  const bool good = tb_write_all(fd, text, left);
  cJSON_free(text);
  return good;
}

cJSON *tb_message_take(struct tc_strbuf *buffer, bool *bad) {
  *bad = false;
  char *end = buffer->len ? memchr(buffer->data, '\n', buffer->len) : NULL;
  if (!end) return NULL;
  const size_t line = (size_t)(end - buffer->data) + 1;
  cJSON *message = cJSON_ParseWithLength(buffer->data, line - 1);
  *bad = !message;
  memmove(buffer->data, buffer->data + line, buffer->len - line);
  buffer->len -= line;
  return message;
}

cJSON *tb_message_read(int fd, struct tc_strbuf *buffer) {
  for (;;) {
    bool bad;
    cJSON *message = tb_message_take(buffer, &bad);
    if (message || bad) return message;
    char chunk[4096];
    const ssize_t got = read(fd, chunk, sizeof chunk);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return NULL;
    tc_strbuf_bytes(buffer, chunk, (size_t)got);
    if (buffer->failed) return NULL;
  }
}

double tb_json_number(const cJSON *object, const char *name, double otherwise) {
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
  return cJSON_IsNumber(item) ? item->valuedouble : otherwise;
}

const char *tb_json_text(const cJSON *object, const char *name, const char *otherwise) {
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
  return cJSON_IsString(item) ? item->valuestring : otherwise;
}

bool tb_json_bool(const cJSON *object, const char *name, bool otherwise) {
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
  return cJSON_IsBool(item) ? cJSON_IsTrue(item) : otherwise;
}
