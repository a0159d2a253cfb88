-- Destroy-time provisioners that ended well while their object is still there: a destroy that was cut off goes on after them.
CREATE TABLE destroy_step (
    intent  INTEGER PRIMARY KEY REFERENCES intent (id) ON DELETE CASCADE,
    -- Where the object is now; the intent has the address at which it was begun.
    address TEXT NOT NULL
) STRICT;
CREATE INDEX destroy_step_address ON destroy_step (address);
