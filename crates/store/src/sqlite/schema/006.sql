-- How long calls take, by the type of resource and by what is done to it: that of a method over all types tells nothing.
DROP TABLE call_stat;
CREATE TABLE call_stat (
    plugin        TEXT NOT NULL,
    method        TEXT NOT NULL,
    resource_type TEXT NOT NULL,
    action        TEXT NOT NULL,
    count         INTEGER NOT NULL,
    errors        INTEGER NOT NULL,
    max_ms        INTEGER NOT NULL,
    durations     TEXT NOT NULL,
    PRIMARY KEY (plugin, method, resource_type, action)
) STRICT, WITHOUT ROWID;
