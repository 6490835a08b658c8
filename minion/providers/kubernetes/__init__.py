"""Clusters of Kubernetes as their API server is asked and told."""
