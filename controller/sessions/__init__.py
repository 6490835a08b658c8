"""Connected minions: who is there, what they say, jobs and files for them."""
