"""State modules of RabbitMQ."""
