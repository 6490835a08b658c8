"""Execution functions of Elasticsearch and OpenSearch."""
