"""Numerics tests of one component at a time, each with a reference, a bound and negative controls."""
