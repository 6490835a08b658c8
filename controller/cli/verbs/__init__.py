"""One module for each verb of `saltern`, imported when the verb is used."""
