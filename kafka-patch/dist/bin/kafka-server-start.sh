#!/usr/bin/env bash
# Starts a broker or controller: kafka-server-start.sh [-daemon] server.properties [--override KEY=VALUE]...
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
daemon=()
if [ "${1:-}" = -daemon ]; then daemon=(-daemon); shift; fi
if [ $# -eq 0 ]; then
  echo "usage: $(basename "$0") [-daemon] server.properties [--override KEY=VALUE]..." >&2
  exit 2
fi
home=$(cd "$here/.." && pwd -P)
export KAFKA_HEAP_OPTS=${KAFKA_HEAP_OPTS:--Xmx1g -Xms1g}
export KAFKA_LOG4J_OPTS=${KAFKA_LOG4J_OPTS:--Dlog4j2.configurationFile=$home/config/log4j2.yaml}
exec "$here/kafka-run-class.sh" ${daemon[@]+"${daemon[@]}"} -name kafkaServer kafka.Kafka "$@"
