-- Objects that are forgotten instead of destroyed, as their configuration said when it was last deployed.
ALTER TABLE state_resource ADD COLUMN skip_destroy INTEGER NOT NULL DEFAULT 0;
