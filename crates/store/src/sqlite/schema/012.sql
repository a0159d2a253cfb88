-- Rollouts of groups. The header and the steps are JSON; the steps are rows of their own, so that
-- an event writes only the step that it changes.
CREATE TABLE rollout (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    deploy INTEGER NOT NULL,
    state TEXT NOT NULL,
    began INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    header TEXT NOT NULL
) STRICT;
CREATE INDEX rollout_by_name ON rollout (name, id);
CREATE TABLE rollout_step (
    rollout INTEGER NOT NULL REFERENCES rollout (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    step TEXT NOT NULL,
    PRIMARY KEY (rollout, position)
) STRICT, WITHOUT ROWID;
