-- Lock lease of the process that leads the reconcile loop, and the runs of the loop. The token
-- grows with each leader; the owner is empty after a release.
CREATE TABLE leader (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    owner TEXT NOT NULL,
    token INTEGER NOT NULL,
    expires INTEGER NOT NULL
) STRICT;
CREATE TABLE reconcile_run (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    run TEXT NOT NULL
) STRICT;
CREATE INDEX reconcile_run_by_name ON reconcile_run (name, id);
