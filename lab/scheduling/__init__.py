"""Who runs next. Pure: no torch, no clock of its own, no state between decisions."""
