"""What a record says: times, metrics, series, identities and tables. Pure functions of what was run."""
