"""Public formulas applied by Saltern and by real Salt on fresh roots, each then asked about the other's work."""
