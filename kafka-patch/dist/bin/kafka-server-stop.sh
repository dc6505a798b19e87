#!/usr/bin/env bash
# Stops this user's servers that were started from this distribution; of several, those of one folder of settings, one id or one role:
# kafka-server-stop.sh [server.properties] [--node-id=ID] [--process-role=broker|controller]
# Sends SIGTERM; brokers hand over their leaders and then end.
set -euo pipefail
home=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd -P)
file='' id='' role=''
usage() {
  echo "usage: $(basename "$0") [server.properties] [--node-id=ID] [--process-role=broker|controller]" >&2
  exit 1
}
while [ $# -gt 0 ]; do
  case $1 in
    --node-id=?*) id=${1#*=} ;;
    --process-role=broker | --process-role=controller) role=${1#*=} ;;
    --node-id | --process-role) [ $# -gt 1 ] || usage; set -- "$1=$2" "${@:3}"; continue ;;
    -*) usage ;;
    *) [ -z "$file" ] || usage; file=$1 ;;
  esac
  shift
done

# value FILE KEY: the last value of the key in a file of settings.
value() { sed -n "s/^[[:space:]]*${2//./\\.}[[:space:]]*[=:][[:space:]]*//p" "$1" 2> /dev/null | tail -n 1; }

stopped=0
for folder in /proc/[0-9]*; do
  [ -O "$folder" ] && [ -r "$folder/cmdline" ] || continue
  mapfile -d '' -t words < "$folder/cmdline" 2> /dev/null || continue
  line=" ${words[*]:-} "
  case $line in *" kafka.Kafka "*) ;; *) continue ;; esac
  case $line in *"$home/libs/"*) ;; *) continue ;; esac
  if [ -n "$file" ]; then
    case $line in *" $file "*) ;; *) continue ;; esac
  fi
  settings=${line#* kafka.Kafka } settings=${settings%% *}
  case $settings in /*) ;; *) settings=$(readlink "$folder/cwd")/$settings ;; esac
  if [ -n "$id" ] && [ "$(value "$settings" node.id)" != "$id" ]; then continue; fi
  if [ -n "$role" ]; then
    case ",$(value "$settings" process.roles | tr -d ' ')," in *",$role,"*) ;; *) continue ;; esac
  fi
  kill -TERM "${folder#/proc/}" && stopped=$((stopped + 1))
done
if [ "$stopped" -eq 0 ]; then
  echo "no server of this distribution is running${file:+ with $file}${id:+ with node.id $id}${role:+ as $role}" >&2
  exit 1
fi
echo "asked $stopped server(s) to stop"
