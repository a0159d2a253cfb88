-- Hashes of the configurations of groups' members: each that a rollout has changed, or that a stage
-- has found unchanged.
CREATE TABLE group_member (
    name TEXT NOT NULL,
    member TEXT NOT NULL,
    hash TEXT NOT NULL,
    PRIMARY KEY (name, member)
) STRICT, WITHOUT ROWID;
