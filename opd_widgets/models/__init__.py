"""Who is asked: models, and teachers with what they are told."""
