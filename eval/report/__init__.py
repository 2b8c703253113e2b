"""Reports: figures of duels, decisions and runs as one self-contained HTML page with plots."""
