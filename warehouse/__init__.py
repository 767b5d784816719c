"""The warehouse: rows, tables, views, checks, charts and the report; the only package that knows DuckDB."""
