"""Charts of records as Plotly figures, in one style. Pure functions: no page, no browser, no files."""
