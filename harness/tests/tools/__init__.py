"""Tests of the scripts that the distribution ships."""
