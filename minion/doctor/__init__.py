"""`saltern doctor`: looks at a machine, and says what to do about what is wrong there."""
