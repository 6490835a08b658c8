"""States of Haskell."""
