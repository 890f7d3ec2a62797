"""Archivist: a self-hosted memory that every AI assistant of its owner shares."""

__version__ = "0.1.0"
