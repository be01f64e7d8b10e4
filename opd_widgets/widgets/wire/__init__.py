"""What travels to the browser, and in what form."""
