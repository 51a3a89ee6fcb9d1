"""What a device is asked and what it answers."""
