-- What operators changed in the state by hand (imported, forgotten), and what that settled: JSON of a StateChange.
CREATE TABLE state_change (
    id   INTEGER PRIMARY KEY AUTOINCREMENT,
    at   INTEGER NOT NULL,
    data TEXT NOT NULL
) STRICT;
