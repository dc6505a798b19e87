"""Measures of a record beside its ideal quorum, in µs."""

# From the send to the moment of the ideal, from the send to the answer, and from the ideal to the answer.
IDEAL, FROM_SEND, AFTER = "ideal_us", "from_send_us", "after_us"
