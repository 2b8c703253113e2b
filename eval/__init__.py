"""Measuring strength: adapters to other programs, paired matches, statistics, reports."""
