"""Learning by self-play: torch model, TD(lambda) targets, schedule, resuming."""
