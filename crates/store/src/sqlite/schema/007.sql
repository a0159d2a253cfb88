-- What a state file has that is not known here: kept, and given back.
ALTER TABLE state_resource ADD COLUMN rest TEXT NOT NULL DEFAULT '';
ALTER TABLE state_output ADD COLUMN rest TEXT NOT NULL DEFAULT '';
-- Where the state of record lives, and what was last seen or written there.
CREATE TABLE home (
    one     INTEGER PRIMARY KEY CHECK (one = 1),
    place   TEXT NOT NULL,
    digest  TEXT NOT NULL,
    -- The serial of the state here that it has.
    serial  INTEGER NOT NULL,
    -- It was being written: what is there may be half of it.
    writing INTEGER NOT NULL
) STRICT;
