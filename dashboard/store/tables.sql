CREATE TABLE meta(name TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID;
CREATE TABLE dictionaries(id INTEGER PRIMARY KEY, bytes BLOB NOT NULL);
CREATE TABLE tokens(id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, scope INTEGER NOT NULL, created INTEGER NOT NULL);
-- latest_started: of its newest document; NULL: it has none.
CREATE TABLE commits(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, latest_started INTEGER);
CREATE INDEX commits_latest ON commits(latest_started) WHERE latest_started IS NOT NULL;
CREATE TABLE machines(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);

-- Times are milliseconds since 1970. `body` is the document as it came, compressed with that dictionary. `machine`: that of its first environment, of
-- `machines` in all.
CREATE TABLE documents(id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, received INTEGER NOT NULL, started INTEGER NOT NULL,
  commit_id INTEGER NOT NULL, machine INTEGER NOT NULL, cases INTEGER NOT NULL, bytes INTEGER NOT NULL, dictionary INTEGER NOT NULL, body BLOB NOT NULL,
  machines INTEGER NOT NULL DEFAULT 1);
CREATE INDEX documents_started ON documents(started);
CREATE INDEX documents_commit ON documents(commit_id, machine, started);
CREATE INDEX documents_machines ON documents(commit_id) WHERE machines > 1;

-- A case on a machine: its newest point, and what the analyst found. dirty: since when there are points that it has not looked at.
-- point_ and step_: what the newest value and the newest step say by themselves (analysis.h); what is shown of them (verdict to score) depends on all
-- series together (movers.h). outcome_started: since when its runs have had the outcome of the newest one; it stays when
-- retention removes that run.
CREATE TABLE series(id INTEGER PRIMARY KEY, name TEXT NOT NULL, machine INTEGER NOT NULL, points INTEGER NOT NULL DEFAULT 0, first_started INTEGER,
  latest_started INTEGER, latest_document INTEGER, latest_position INTEGER, latest_commit INTEGER, latest_outcome INTEGER, latest_steady REAL,
  latest_speedup REAL, latest_lo REAL, latest_hi REAL, latest_cold REAL,
  dirty INTEGER, verdict INTEGER, basis INTEGER, move REAL, move_lo REAL, move_hi REAL, moved_started INTEGER, moved_commit INTEGER, score REAL,
  point_verdict INTEGER, point_move REAL, point_p REAL, point_error REAL, point_freedom REAL, point_started INTEGER, point_commit INTEGER,
  step_move REAL, step_lo REAL, step_hi REAL, step_started INTEGER, step_commit INTEGER,
  outcome_started INTEGER, UNIQUE(name, machine));
CREATE INDEX series_score ON series(score) WHERE score > 0;
CREATE INDEX series_dirty ON series(dirty) WHERE dirty IS NOT NULL;
CREATE INDEX series_verdict ON series(verdict);
CREATE INDEX series_outcome ON series(latest_outcome);
CREATE INDEX series_failing ON series(outcome_started) WHERE latest_outcome > 0 AND latest_outcome <> 5;
CREATE INDEX series_first ON series(first_started);

-- Of a run that was not right (outcome) there is neither a value nor a figure.
-- value: the compiled time over the probe's of the same run where there is a probe of that version, else nanoseconds (probe 0).
CREATE TABLE points(series INTEGER, started INTEGER, document INTEGER, position INTEGER, commit_id INTEGER, outcome INTEGER, probe INTEGER, value REAL,
  FIGURES, PRIMARY KEY(series, started, document, position)) WITHOUT ROWID;

-- Change points. A slower one is closed by a later one that takes it back.
CREATE TABLE changes(series INTEGER, started INTEGER, commit_id INTEGER, slower INTEGER NOT NULL, before_value REAL, after_value REAL, p REAL,
  closed INTEGER, closed_commit INTEGER, PRIMARY KEY(series, started)) WITHOUT ROWID;
CREATE INDEX changes_slower ON changes(slower, started);
CREATE INDEX changes_open ON changes(started) WHERE slower = 1 AND closed IS NULL;
