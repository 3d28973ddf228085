/* Seeds of fuzz_http: `make_requests FOLDER` writes requests for each route, and documents that are sent in
 * the ways that there are. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "tests/dashboard/documents.h"
#include "tests/fuzz/requests.h"

enum { PATH = 4096, MOST_PACKED = 4096, GZIP_WINDOW = 15 + 16, DEFLATE_MEMORY = 8 };

static const char *const asked[] = {
    "/",
    "/cases?match=load*&limit=2",
    "/cases?after=load/case1/inductor/default/cpu/f32/b8/machine/t2&after_machine=h1%20%C2%B7%20cpu",
    "/cases?before=z&before_machine=m&limit=1000",
    "/case?case=load/case0/inductor/default/cpu/f32/b8/machine/t2",
    "/case?case=load/case0/inductor/default/cpu/f32/b8/machine/"
    "t2&machine=h1%20%C2%B7%20cpu&before=1735689600000",
    "/regressions?state=all&skip=1",
    "/compare?base=commit0&head=commit1&machine=h1%20%C2%B7%20cpu",
    "/compare?base=commit0&head=commit2&base_machine=m&head_machine=n",
    "/ablation?figure=start_cold",
    "/result?key=0000000000000000000000000000000000000000000000000000000000000000",
    "/static/style.css",
    "/static/page.js",
    "/health",
    "/metrics",
    "/nothing%00here",
    "/api/v1/results/0000000000000000000000000000000000000000000000000000000000000000",
    "/api/v1/overview?limit=3",
    "/api/v1/cases?match=%2A&limit=5",
    "/api/v1/series?case=load/case0/inductor/default/cpu/f32/b8/machine/"
    "t2&figures=steady,cold,value&format=csv&limit=7",
    "/api/v1/series?case=load/case0/inductor/default/cpu/f32/b8/machine/t2&before=99999999999999",
    "/api/v1/latest?case=load/case0/inductor/default/cpu/f32/b8/machine/t2",
    "/api/v1/changes?case=load/case0/inductor/default/cpu/f32/b8/machine/t2",
    "/api/v1/compare?base=commit0&head=commit1&format=csv",
    "/api/v1/regressions?state=open&limit=2&skip=0",
    "/api/v1/ablation?format=csv",
    "/api/v1/commits?limit=2",
    "/api/v1/machines",
    "/api/v1/figures",
};

struct seeds {
  const char *folder;
  int count;
  bool failed;
};

static void write_seed(struct seeds *seeds, char first, const char *head, const void *body, size_t length) {
  char path[PATH];
  snprintf(path, sizeof path, "%s/request%d", seeds->folder, seeds->count++);
  FILE *file = fopen(path, "we");
  if (!file) {
    seeds->failed = true;
    return;
  }
  fputc(first, file);
  fwrite(head, 1, strlen(head), file);
  fwrite(body, 1, length, file);
  if (fclose(file)) seeds->failed = true;
}

static void write_queries(struct seeds *seeds) {
  char text[1024];
  for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
    snprintf(text, sizeof text, "GET %s HTTP/1.1\r\n" REQUEST_HOST "\r\n", asked[i]);
    write_seed(seeds, (char)(i % 8), text, "", 0);
  }
  write_seed(seeds, 0, "HEAD / HTTP/1.0\r\n\r\n", "", 0);
  write_seed(seeds, 1,
             "GET /health HTTP/1.1\r\n" REQUEST_HOST "\r\nGET /api/v1/machines HTTP/1.1\r\n" REQUEST_HOST
             "Connection: close\r\n\r\n",
             "", 0);
  write_seed(seeds, 2,
             "GET / HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nAuthorization: Basic "
             "eDp0Yl93cml0ZV8wMTIzNDU2Nzg5YWJjZGVm\r\nAccept: text/html\r\nCookie: a=b; c=d\r\n\r\n",
             "", 0);
  write_seed(seeds, 4, "OPTIONS * HTTP/1.1\r\nHost: [::1]\r\nOrigin: http://evil.example\r\n\r\n", "", 0);
  write_seed(seeds, 0, "DELETE /api/v1/results HTTP/1.1\r\n" REQUEST_HOST "Expect: 100-continue\r\n\r\n", "",
             0);
}

static size_t pack(const char *text, size_t length, unsigned char *out) {
  z_stream z = {.next_in = (unsigned char *)(uintptr_t)text,
                .avail_in = (unsigned)length,
                .next_out = out,
                .avail_out = MOST_PACKED};
  const bool good = deflateInit2(&z, Z_BEST_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, DEFLATE_MEMORY,
                                 Z_DEFAULT_STRATEGY) == Z_OK &&
                    deflate(&z, Z_FINISH) == Z_STREAM_END;
  deflateEnd(&z);
  return good ? z.total_out : 0;
}

static void write_documents(struct seeds *seeds) {
  static const char post[] =
      "POST /api/v1/results HTTP/1.1\r\n" REQUEST_HOST REQUEST_BEARER "Content-Type: application/json\r\n";
  static char text[DOCUMENT_HEAD + DOCUMENT_CASE], chunked[sizeof text + 64];
  unsigned char packed[MOST_PACKED];
  char head[REQUEST_HEAD];
  const size_t length = document_write(text, 5, 1), packed_length = pack(text, length, packed);
  snprintf(head, sizeof head, "%sContent-Length: %zu\r\n\r\n", post, length);
  write_seed(seeds, 0, head, text, length);
  write_seed(seeds, 3, head, text, length);
  snprintf(head, sizeof head, "%sContent-Encoding: gzip\r\nContent-Length: %zu\r\n\r\n", post, packed_length);
  write_seed(seeds, 0, head, packed, packed_length);
  snprintf(head, sizeof head, "%sTransfer-Encoding: chunked\r\n\r\n", post);
  const int n = snprintf(chunked, sizeof chunked, "%zx\r\n%s\r\n0\r\n\r\n", length, text);
  write_seed(seeds, 1, head, chunked, (size_t)n);
  snprintf(head, sizeof head, "%sExpect: 100-continue\r\nIdempotency-Key: 0\r\nContent-Length: 2\r\n\r\n",
           post);
  write_seed(seeds, 2, head, "{}", 2);
  write_seed(seeds, 0,
             "POST /api/v1/results HTTP/1.1\r\n" REQUEST_HOST
             "Authorization: Bearer no\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n",
             "{}", 2);
}

int main(int argc, char **argv) {
  struct seeds seeds = {.folder = argv[argc - 1]};
  if (argc != 2) return 2;
  write_queries(&seeds);
  write_documents(&seeds);
  return seeds.failed;
}
