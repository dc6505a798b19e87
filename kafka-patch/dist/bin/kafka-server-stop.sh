#!/usr/bin/env bash
# Stops this user's servers that were started from this distribution; of several, those of one folder of settings:
# kafka-server-stop.sh [server.properties]. Sends SIGTERM; brokers hand over their leaders and then end.
set -euo pipefail
home=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
stopped=0
for folder in /proc/[0-9]*; do
  [ -O "$folder" ] && [ -r "$folder/cmdline" ] || continue
  mapfile -d '' -t words < "$folder/cmdline" 2>/dev/null || continue
  line=" ${words[*]:-} "
  case $line in *" kafka.Kafka "*) ;; *) continue ;; esac
  case $line in *"$home/libs/"*) ;; *) continue ;; esac
  if [ $# -gt 0 ]; then
    case $line in *" $1 "*) ;; *) continue ;; esac
  fi
  kill -TERM "${folder#/proc/}" && stopped=$((stopped + 1))
done
if [ "$stopped" -eq 0 ]; then
  echo "no server of this distribution is running${1:+ with $1}" >&2
  exit 1
fi
echo "asked $stopped server(s) to stop"
