CREATE INDEX ranks_by_host ON ranks (host, device_uuid);
