"""Where the next targeted rollouts go. Each strategy sees what has been drawn, and never a draw's random numbers."""
