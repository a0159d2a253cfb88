-- Inputs of stages beside the configuration files: directories of modules, results of file functions
-- and values of variables. Needed to stage the configuration of an earlier deploy. Stored once for
-- each digest.
CREATE TABLE stage_inputs (
    digest TEXT PRIMARY KEY,
    packed BLOB NOT NULL
) STRICT, WITHOUT ROWID;
ALTER TABLE stage ADD COLUMN inputs_digest TEXT;
