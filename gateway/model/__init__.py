"""Frozen values that travel the road: request, action, decision, permit, outcome.

Trust is in the types: `ActionRequest` is hostile, `Action` is normalized, `Decision` is judged,
`Permit` is decided, approved and recorded. Nothing here does I/O.
"""
