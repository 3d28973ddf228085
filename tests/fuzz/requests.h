/* What the target fuzz_http and its seeds agree on. */
#ifndef TESTS_FUZZ_REQUESTS_H
#define TESTS_FUZZ_REQUESTS_H

/* A token for writing that the target's server knows. */
#define REQUEST_TOKEN  "tb_write_0123456789abcdef"
#define REQUEST_BEARER "Authorization: Bearer " REQUEST_TOKEN "\r\n"
#define REQUEST_HOST   "Host: localhost\r\n"
/* Up to a document's body; takes its length, as %zu. */
#define REQUEST_POST                                                                                         \
  "POST /api/v1/results HTTP/1.1\r\n" REQUEST_HOST REQUEST_BEARER                                            \
  "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n"

enum { REQUEST_HEAD = 512 };

#endif
