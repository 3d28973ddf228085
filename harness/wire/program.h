/* The file of the program that is running, held open: workers are started from it, also when another file has
 * taken its place since. Opened before the first worker, closed after the last one; by the thread that starts
 * them. */
#ifndef TB_PROGRAM_H
#define TB_PROGRAM_H

enum { TB_PROGRAM_PATH = 40 };

struct tb_program {
  int fd;                     /* -1: the system's own name of it has to do */
  char path[TB_PROGRAM_PATH]; /* to start workers from */
};

void tb_program_open(struct tb_program *program);
/* The Python that runs the adapters of peers: what TBENCH_PYTHON names, or python3. */
const char *tb_program_python(void);
void tb_program_close(struct tb_program *program);

#endif
