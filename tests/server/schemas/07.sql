CREATE TABLE site (id TEXT NOT NULL) STRICT;
INSERT INTO site VALUES (lower(hex(randomblob(8))));
