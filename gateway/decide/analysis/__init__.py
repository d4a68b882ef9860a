"""What a policy means as a whole: which acts its rules cover, shadow, or can never decide."""
