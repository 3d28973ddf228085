/* Switches, one row each in config.def. A tc_config is a plain value: copy it to change it for one
 * compile. TEXT values are owned by whoever set them and must outlive the config. */
#ifndef TC_BASE_CONFIG_H
#define TC_BASE_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/strbuf.h"

enum { TC_CONFIG_UNLIMITED = -1 }; /* of an INT that takes UNITS */
enum tc_config_type { TC_CONFIG_BOOL, TC_CONFIG_INT, TC_CONFIG_TEXT };

struct tc_config {
#define TC_CONFIG_CTYPE_BOOL                                       bool
#define TC_CONFIG_CTYPE_INT                                        int64_t
#define TC_CONFIG_CTYPE_TEXT                                       const char *
#define TC_CONFIG(field, name, type, dflt, key, acts, takes, help) TC_CONFIG_CTYPE_##type field;
#include "base/config.def"
#undef TC_CONFIG
};

struct tc_config_takes {
  const char *words;   /* of a TEXT: "a, b"; NULL: any text. Of an INT that takes UNITS: the word for
                          TC_CONFIG_UNLIMITED; else NULL */
  bool list;           /* several words, joined by commas, or none */
  int64_t least, most; /* of an INT; most is INT64_MAX where there is no upper end */
};

struct tc_config_row {
  const char *name, *help, *default_text;
  enum tc_config_type type;
  bool in_key;
  bool in_run;     /* changes how an artifact is run, and not the artifact */
  bool aside;      /* changes neither the artifact nor what a benchmark measures */
  bool at_opening; /* read once, when the module opens */
  struct tc_config_takes takes;
};

int tc_config_count(void);
const struct tc_config_row *tc_config_row(int index);
int tc_config_find(const char *name); /* index, or -1 */

void tc_config_default(struct tc_config *config);
/* Reads TB_* of the environment. TC_ARG names the variable and what it takes. */
tc_status tc_config_from_environment(struct tc_config *config, struct tc_error *err);
/* Sets one switch from text; `text` must outlive the config when the switch is TEXT. */
tc_status tc_config_set(struct tc_config *config, const char *name, const char *text, struct tc_error *err);
/* Value of a switch as text, appended. */
void tc_config_get(const struct tc_config *config, int index, struct tc_strbuf *out);
bool tc_config_is_default(const struct tc_config *config, int index);
/* Hash over the rows that enter the cache key; and over those that change how an artifact is run. */
uint64_t tc_config_key(const struct tc_config *config);
uint64_t tc_config_run_key(const struct tc_config *config);

#endif
