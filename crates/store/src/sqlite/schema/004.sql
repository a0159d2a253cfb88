-- What judges the process of a deploy beside its pid: the namespace of that pid, and whether it held the system's lock.
ALTER TABLE deploy ADD COLUMN holder_namespace TEXT NOT NULL DEFAULT '';
ALTER TABLE deploy ADD COLUMN leased INTEGER NOT NULL DEFAULT 0;
