"""No code: the released nets, installed as data and found with importlib.resources."""
