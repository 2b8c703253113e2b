"""Compiled parts of training: self-play, targets, and the sparse first layer of the learner."""
