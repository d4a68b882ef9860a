"""Stage 1: from what was asked, as spelled and hostile, to one action bound to real objects."""
