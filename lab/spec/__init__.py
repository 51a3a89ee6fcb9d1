"""Facts that need no device: what a model's configuration implies."""
