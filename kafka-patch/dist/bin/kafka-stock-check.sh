#!/usr/bin/env bash
# Lists what topics and the cluster have set that stock Kafka does not know, and the level of rackspan.version, or takes it away: the
# step before going back to it.
# kafka-stock-check.sh --bootstrap-server HOST:PORT [--command-config FILE] [--remove]
# Exit codes: 0 nothing is set, 1 something is, 2 usage, else that of the tool that failed.
set -euo pipefail

bin=$(dirname "${BASH_SOURCE[0]}")
settings=(min.insync.racks min.insync.replicas.inconsistent.action acks.all.scope)
connect=() remove=
while [ $# -gt 0 ]; do
  case $1 in
    --bootstrap-server | --command-config)
      if [ $# -lt 2 ]; then echo "$1 needs a value" >&2; exit 2; fi
      connect+=("$1" "$2"); shift 2 ;;
    --remove) remove=1; shift ;;
    *) connect=(); break ;;
  esac
done
if [ ${#connect[@]} -eq 0 ]; then
  echo "usage: $(basename "$0") --bootstrap-server HOST:PORT [--command-config FILE] [--remove]" >&2
  exit 2
fi

# Lines `TYPE NAME SETTING=VALUE ...`; a name of `-` is the cluster's default.
listed() {
  local type
  for type in topics brokers; do
    "$bin/kafka-configs.sh" "${connect[@]}" --describe --entity-type "$type" | awk -v type="$type" -v wanted="${settings[*]}" '
      function flush() { if (set != "") print type, name set; set = "" }
      BEGIN { split(wanted, names, " "); for (i in names) known[names[i]] = 1 }
      /^Default configs for / { flush(); name = "-"; next }
      /^Dynamic configs for / { flush(); name = $5; next }
      { split($1, pair, "="); if (pair[1] in known) set = set " " $1 }
      END { flush() }'
  done
  "$bin/kafka-features.sh" "${connect[@]}" describe | awk '
    $2 == "rackspan.version" { for (i = 1; i < NF; i++) if ($i == "FinalizedVersionLevel:" && $(i + 1) > 0) print "feature", $2 "=" $(i + 1) }'
}

found=$(listed)
if [ -z "$found" ]; then
  echo "nothing is set that stock Kafka does not know"
  exit 0
fi
if [ -z "$remove" ]; then
  echo "$found"
  echo "stock Kafka does not know these settings. Stop clients that send acks=min.insync.replicas, then: $(basename "$0") ... --remove" >&2
  exit 1
fi
while read -r type name pairs; do
  if [ "$type" = feature ]; then
    "$bin/kafka-features.sh" "${connect[@]}" downgrade --feature "${name%=*}=0" < /dev/null
    continue
  fi
  if [ "$name" = - ]; then entity=(--entity-default); else entity=(--entity-name "$name"); fi
  names=$(for pair in $pairs; do printf '%s,' "${pair%%=*}"; done)
  "$bin/kafka-configs.sh" "${connect[@]}" --alter --entity-type "$type" "${entity[@]}" --delete-config "${names%,}" < /dev/null
done <<< "$found"
found=$(listed)
if [ -n "$found" ]; then
  echo "$found"
  echo "still set: a stock controller does not know what it is to take away. Start the active controller from this distribution again, then run this" >&2
  exit 1
fi
