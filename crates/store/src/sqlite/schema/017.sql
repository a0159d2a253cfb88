-- Newest observation of each object, and the changes of its facts, oldest first. `drift` is a JSON
-- list of aspects.
CREATE TABLE observation (
    address TEXT NOT NULL,
    deposed TEXT NOT NULL,
    type TEXT NOT NULL,
    at INTEGER NOT NULL,
    existing INTEGER NOT NULL,
    readiness TEXT,
    status TEXT,
    since INTEGER NOT NULL,
    drift TEXT NOT NULL,
    PRIMARY KEY (address, deposed)
) STRICT, WITHOUT ROWID;
CREATE TABLE observation_change (
    id INTEGER PRIMARY KEY,
    address TEXT NOT NULL,
    deposed TEXT NOT NULL,
    type TEXT NOT NULL,
    at INTEGER NOT NULL,
    existing INTEGER NOT NULL,
    readiness TEXT,
    status TEXT,
    since INTEGER NOT NULL,
    drift TEXT NOT NULL,
    cause TEXT NOT NULL
) STRICT;
CREATE INDEX observation_change_by_address ON observation_change (address, id);
