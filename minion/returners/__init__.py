"""Returners: stores and services outside that get what functions return, and events. Controller and minion use them."""
