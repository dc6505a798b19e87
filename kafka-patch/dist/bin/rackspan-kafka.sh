#!/usr/bin/env bash
# Prints which build this is, from rackspan.json.
set -euo pipefail
if [ "${1:-}" != --version ] || [ $# -ne 1 ]; then
  echo "usage: rackspan-kafka.sh --version" >&2
  exit 2
fi
home=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd -P)
sed -nE '
  /^  "base": \{/,/^  \}/ s/^    "(name|version)": "(.*)",$/\2/p
  s/^  "build": ([0-9]+),$/\1/p
  s/^    "(.*\.patch)": .*/\1/p' "$home/rackspan.json" | {
  read -r name; read -r version; read -r build
  patches=0
  while read -r _; do patches=$((patches + 1)); done
  echo "rackspan-kafka $version-$build: $name $version with $patches patches"
}
