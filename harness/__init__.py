"""Rackspan's test harness: a cluster spec becomes brokers in racks, racks are taken away, and what happened is
recorded.
"""
