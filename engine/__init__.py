"""The game and nothing else: boards, dice, legal plays, results, match state, notation."""
