"""Adapters that translate between our neutral terms and a model service's wire. Importing one opens nothing."""
