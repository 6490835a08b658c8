"""The shapes of salt-api's rest_cherrypy on the API's port, at `/salt`: for programs that were made for it."""
