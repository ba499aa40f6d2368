"""What an order costs, in cents."""
