"""Figures, each as a ratio against its reference in the same run."""
