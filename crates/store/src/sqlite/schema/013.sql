-- Requests of operators about rollouts that a process runs, with its answers; and committed
-- specifications of groups, oldest first. The content of a commit is JSON: its members and the
-- files that flightdeck wrote.
CREATE TABLE rollout_request (
    id INTEGER PRIMARY KEY,
    rollout INTEGER NOT NULL REFERENCES rollout (id) ON DELETE CASCADE,
    verb TEXT NOT NULL,
    member TEXT,
    who TEXT NOT NULL,
    requested INTEGER NOT NULL,
    taken INTEGER,
    answered INTEGER,
    refusal TEXT
) STRICT;
CREATE INDEX rollout_request_open ON rollout_request (rollout) WHERE taken IS NULL;
CREATE TABLE group_commit (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    committed INTEGER NOT NULL,
    who TEXT NOT NULL,
    hash TEXT NOT NULL,
    spec TEXT NOT NULL,
    content TEXT NOT NULL,
    taken INTEGER,
    freed INTEGER
) STRICT;
CREATE INDEX group_commit_by_name ON group_commit (name, id);
