"""Networks of namespaces: a bridge a rack, delays and cuts between racks, and what was measured of them."""
