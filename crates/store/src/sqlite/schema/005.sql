-- What an object's configuration needed itself, by instance as far as that was known: a JSON array of addresses.
ALTER TABLE state_resource ADD COLUMN needs TEXT NOT NULL DEFAULT '[]';
