"""What several stages need: strict JSON and digests, text escaping, POSIX descriptors."""
