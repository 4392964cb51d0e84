"""What every HTTP door shares."""
