"""Looks at what came back before the agent sees it."""
