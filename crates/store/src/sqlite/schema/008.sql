-- What a stage is and what is shown of it, deflated (zlib, RFC 1950). Older stages have text.
ALTER TABLE stage ADD COLUMN packed_summary BLOB;
ALTER TABLE stage ADD COLUMN packed_detail BLOB;
-- Events of a deploy that were written down together: a JSON array, deflated like these. What `event`
-- holds of older deploys is read before.
CREATE TABLE events (
    deploy INTEGER NOT NULL REFERENCES deploy (id) ON DELETE CASCADE,
    -- The number of the first of them.
    first  INTEGER NOT NULL,
    count  INTEGER NOT NULL,
    packed BLOB NOT NULL,
    PRIMARY KEY (deploy, first)
) STRICT;
