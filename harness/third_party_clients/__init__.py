"""Third-party clients, as programs with one contract (README.md), and which of them this machine can run."""
