"""How likely each candidate is to end in a correct answer, and how sure that is."""
