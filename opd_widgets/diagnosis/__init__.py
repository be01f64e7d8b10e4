"""Where distillation points, held against where success lies."""
