"""The log: append-only, chained, its head signed; session state is replayed from it."""
