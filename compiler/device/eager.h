/* The eager builder: executes each operation at once on a device's kernels, found by (op, device).
 *
 * Values are tensors in the builder's own list; tc_eager_take moves one out (with its storage
 * reference), tc_eager_end releases the rest. Wrapping an operand (tc_eager_wrap) borrows it. */
#ifndef TC_DEVICE_EAGER_H
#define TC_DEVICE_EAGER_H

#include "base/context.h"
#include "base/vec.h"
#include "device/device.h"
#include "ops/builder.h"

enum { TC_EAGER_INLINE = 24 };

struct tc_eager {
  struct tc_builder builder; /* first: a tc_eager is a tc_builder */
  struct tc_context *ctx;
  struct tc_device *device; /* of what is made without operands: that of the newest tensor that was wrapped */
  int count;
  TC_VEC(struct tc_eager_value *) more; /* beyond those inside */
  struct tc_eager_value {
    struct tc_tensor tensor;
    bool borrowed;
  } inline_values[TC_EAGER_INLINE];
};

void tc_eager_begin(struct tc_eager *e, struct tc_context *ctx);
struct tc_value *tc_eager_wrap(struct tc_eager *e, const struct tc_tensor *tensor); /* NULL: too many */
/* A counted reference for the caller. */
struct tc_tensor tc_eager_take(const struct tc_value *value);
void tc_eager_end(struct tc_eager *e);

/* One operation on tensors, without a builder: infers, allocates, runs. *out is the caller's. */
tc_status tc_eager_run(struct tc_context *ctx, tc_op op, int n_in, const struct tc_tensor *const *in,
                       const struct tc_attrs *attrs, struct tc_tensor *out, struct tc_error *err);

#endif
