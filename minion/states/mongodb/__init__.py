"""States of MongoDB: users, and databases that are not to be there."""
