"""Print the plan."""

print("1. agenda\n2. room\n3. people")
