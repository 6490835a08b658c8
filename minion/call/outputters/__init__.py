"""Salt's outputters: values as text for people and programs. Pure; called by `saltern call`."""
