-- The policy of a gate: what has to hold for it to pass. This is the default, which `tbench gate` uses where policy=FILE names no other.
-- Copy it, change it, and keep it beside your baseline.
--
-- FIELD = value             holds for all cases
-- FIELD["pattern"] = value  holds for the cases whose id matches: * is any text, ? one character, [ab] one of those.
--                           Of several patterns that match, the last one in this file counts.
-- Ids are those that tbench prints: suite/workload/backend/mode/device/dtype/bBATCH/topology/tTHREADS.

-- A case is SLOWER when the whole interval of head/base lies above 1 + max(threshold, noise floor), the floor being what the same
-- program against itself shows in the same run. Changes up to the threshold are none.
threshold = 0.01
-- threshold["*/cpu/f32/b1/*"] = 0.02

-- Above this noise floor nothing worth telling can be found: the case is not measurable (exit 3), whatever its figures say.
floor_limit = 0.05

-- A required case that is missing fails the gate (exit 4); one that is UNSURE makes it not measurable (exit 3). A pattern that no case
-- matches is a missing case too. Of cases that are not required only what is known to be worse fails: SLOWER, an exact figure that is
-- worse, a wrong result, a crash.
required = true
-- required["experiments/*"] = false

-- Calls after which compiling has to have paid for itself. No limit by default.
-- pays_off_after_calls["mlp/*"] = 1000

-- Seconds that tbench gate may spend on fresh pairs, for all flagged cases together; what reading results takes comes on top. In tbench ab
-- each case is confirmed within its seconds=.
budget = 1800

-- Fresh pairs of processes for each case that was flagged: it counts only if they say so too. More are taken where so many cases are
-- flagged that this number could not tell. 0: no confirmation.
confirmation_pairs = 24

-- Exact figures do not vary from run to run, so they need no statistics: more is a regression (exit 1), less is a proposal, none where
-- the baseline had one is not measurable (exit 3), and an instruction count that falls by more than a fifth was not counted (exit 4).
-- A number is the tolerance as a share; false: the figure is not looked at.
exact.graphs = 0
exact.breaks = 0
exact.recompiles = 0
exact.guards = 0
exact.fallbacks = 0
exact.kernels = 0
exact.library_calls = 0
exact.bytes_moved = 0.001
exact.peak_bytes = 0.001
exact.code_bytes = 0.01
exact.artifact = true -- another hash is told, and fails nothing
exact.instructions = 0.01
exact.cold_instructions = 0.01
exact.disk_instructions = 0.01
exact.memory_instructions = 0.01
exact.stage_instructions = 0.02
