"""Schemas as descriptors that others take: those of protoc, and those that a registry gives."""
