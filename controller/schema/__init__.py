"""The types of the API: requests, answers, streams and errors. The server makes them, the command line reads them."""
