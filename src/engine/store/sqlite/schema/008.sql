-- What a stage is and what is shown of it, deflated (zlib, RFC 1950). Older stages have text.
ALTER TABLE stage ADD COLUMN packed_summary BLOB;
ALTER TABLE stage ADD COLUMN packed_detail BLOB;
