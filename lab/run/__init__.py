"""Lanes at work: the loop, the race, the record they leave, and the process that hosts them."""
