CREATE INDEX artefacts_by_path ON artefacts (path);
