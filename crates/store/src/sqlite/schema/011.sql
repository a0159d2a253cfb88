-- Selections that were saved under a name, for any stage of the workspace.
CREATE TABLE saved_selection (
    name      TEXT PRIMARY KEY,
    at        INTEGER NOT NULL,
    -- Addresses of the selected changes, as JSON.
    addresses TEXT NOT NULL
) STRICT;
