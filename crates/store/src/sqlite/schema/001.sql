-- The first layout of the store. Files that exist are brought forward by later numbers; this one never changes.

CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- One object of a resource instance; deposed is '' for the current one.
CREATE TABLE state_resource (
    address               TEXT NOT NULL,
    deposed               TEXT NOT NULL,
    provider              TEXT NOT NULL,
    schema_version        INTEGER NOT NULL,
    attributes            TEXT NOT NULL,
    sensitive             TEXT NOT NULL,
    private               BLOB NOT NULL,
    tainted               INTEGER NOT NULL,
    create_before_destroy INTEGER NOT NULL,
    dependencies          TEXT NOT NULL,
    identity              TEXT,
    identity_version      INTEGER NOT NULL,
    PRIMARY KEY (address, deposed)
) STRICT;

CREATE TABLE state_output (
    name      TEXT PRIMARY KEY,
    value     TEXT NOT NULL,
    type      TEXT NOT NULL,
    sensitive INTEGER NOT NULL
) STRICT;

-- Configuration files as they were, once per digest: JSON array of [name, text].
CREATE TABLE config_snapshot (
    digest TEXT PRIMARY KEY,
    files  TEXT NOT NULL
) STRICT;

CREATE TABLE stage (
    id               INTEGER PRIMARY KEY,
    name             TEXT,
    at               INTEGER NOT NULL,
    mode             TEXT NOT NULL,
    config_digest    TEXT NOT NULL REFERENCES config_snapshot (digest),
    variables_digest TEXT NOT NULL,
    plugins_digest   TEXT NOT NULL,
    state_serial     INTEGER NOT NULL,
    counts           TEXT NOT NULL,
    summary          TEXT NOT NULL,
    detail           TEXT NOT NULL,
    left_out         TEXT NOT NULL
) STRICT;

-- holder_* name the process that runs it, so that one that died is not taken for running.
CREATE TABLE deploy (
    id             INTEGER PRIMARY KEY,
    stage          INTEGER NOT NULL,
    mode           TEXT NOT NULL,
    began          INTEGER NOT NULL,
    ended          INTEGER,
    who            TEXT NOT NULL,
    host           TEXT NOT NULL,
    outcome        TEXT NOT NULL,
    operations     TEXT NOT NULL,
    counts         TEXT NOT NULL,
    config_digest  TEXT NOT NULL,
    holder_pid     INTEGER NOT NULL,
    holder_start   INTEGER NOT NULL,
    holder_boot    TEXT NOT NULL,
    events_dropped INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX deploy_outcome ON deploy (outcome);

CREATE TABLE operation (
    deploy  INTEGER NOT NULL REFERENCES deploy (id) ON DELETE CASCADE,
    idx     INTEGER NOT NULL,
    address TEXT NOT NULL,
    state   TEXT NOT NULL,
    data    TEXT NOT NULL,
    PRIMARY KEY (deploy, idx)
) STRICT, WITHOUT ROWID;
CREATE INDEX operation_address ON operation (address, deploy);

-- An intent is written before the call, its outcome after; ok is null in between.
CREATE TABLE intent (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    deploy     INTEGER NOT NULL REFERENCES deploy (id) ON DELETE CASCADE,
    idx        INTEGER NOT NULL,
    address    TEXT NOT NULL,
    deposed    TEXT NOT NULL,
    step       TEXT NOT NULL,
    at         INTEGER NOT NULL,
    detail     TEXT NOT NULL,
    ok         INTEGER,
    outcome_at INTEGER,
    settled_at INTEGER,
    settled_by TEXT
) STRICT;
CREATE INDEX intent_deploy ON intent (deploy, idx);
CREATE INDEX intent_open ON intent (address) WHERE ok IS NULL AND settled_at IS NULL;

CREATE TABLE failure (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    deploy      INTEGER NOT NULL REFERENCES deploy (id) ON DELETE CASCADE,
    at          INTEGER NOT NULL,
    fingerprint TEXT NOT NULL,
    data        TEXT NOT NULL
) STRICT;
CREATE INDEX failure_at ON failure (at);

CREATE TABLE event (
    deploy INTEGER NOT NULL REFERENCES deploy (id) ON DELETE CASCADE,
    seq    INTEGER NOT NULL,
    data   TEXT NOT NULL,
    PRIMARY KEY (deploy, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE plugin (
    id    TEXT PRIMARY KEY,
    found TEXT,
    seen  INTEGER NOT NULL
) STRICT;

CREATE TABLE launch_attempt (
    plugin TEXT NOT NULL REFERENCES plugin (id) ON DELETE CASCADE,
    began  INTEGER NOT NULL,
    number INTEGER NOT NULL,
    data   TEXT NOT NULL,
    PRIMARY KEY (plugin, began, number)
) STRICT, WITHOUT ROWID;

-- durations: JSON array of the newest durations in milliseconds, newest last.
CREATE TABLE call_stat (
    plugin    TEXT NOT NULL,
    method    TEXT NOT NULL,
    count     INTEGER NOT NULL,
    errors    INTEGER NOT NULL,
    max_ms    INTEGER NOT NULL,
    durations TEXT NOT NULL,
    PRIMARY KEY (plugin, method)
) STRICT, WITHOUT ROWID;

CREATE TABLE log (
    id     INTEGER PRIMARY KEY AUTOINCREMENT,
    plugin TEXT NOT NULL,
    at     INTEGER NOT NULL,
    level  INTEGER NOT NULL,
    stream TEXT NOT NULL,
    module TEXT,
    text   TEXT NOT NULL,
    panic  INTEGER NOT NULL
) STRICT;

-- At most one row: who works on the workspace. token tells two users within one process apart.
CREATE TABLE lock (
    one    INTEGER PRIMARY KEY CHECK (one = 1),
    token  TEXT NOT NULL,
    holder TEXT NOT NULL
) STRICT;

CREATE TABLE lock_takeover (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    at       INTEGER NOT NULL,
    previous TEXT NOT NULL,
    taken_by TEXT NOT NULL
) STRICT;
