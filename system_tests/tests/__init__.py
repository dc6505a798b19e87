"""Tests of what system tests share; no cluster."""
