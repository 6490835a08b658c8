"""RabbitMQ as its own programs show and change it."""
