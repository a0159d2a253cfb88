-- The order of attempts: the clock by which they began may have gone back. Older rows have 0, and are ordered by their time.
ALTER TABLE launch_attempt ADD COLUMN seq INTEGER NOT NULL DEFAULT 0;
