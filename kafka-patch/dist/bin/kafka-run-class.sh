#!/usr/bin/env bash
# Runs one class of the distribution: kafka-run-class.sh [-daemon] [-name NAME] [-loggc] CLASS [ARG...]
# Environment: JAVA_HOME, CLASSPATH (put first), KAFKA_HEAP_OPTS, KAFKA_JVM_PERFORMANCE_OPTS, KAFKA_OPTS,
# KAFKA_LOG4J_OPTS, KAFKA_JMX_OPTS, LOG_DIR, DAEMON_NAME.
set -euo pipefail

home=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
daemon= name=${DAEMON_NAME:-} gc=()
while [ $# -gt 0 ]; do
  case $1 in
    -daemon) daemon=1; shift ;;
    -name) name=$2; shift 2 ;;
    -loggc) gc=(1); shift ;;
    *) break ;;
  esac
done
if [ $# -eq 0 ]; then
  echo "usage: $(basename "$0") [-daemon] [-name NAME] [-loggc] CLASS [ARG...]" >&2
  exit 2
fi

if [ -n "${JAVA_HOME:-}" ]; then java=$JAVA_HOME/bin/java; else java=$(command -v java || true); fi
if [ ! -x "${java:-}" ]; then
  echo "no java: JAVA_HOME is '${JAVA_HOME:-}' and PATH has none. Install a JDK 17 or later, or set JAVA_HOME." >&2
  exit 4
fi

# Every jar by name and in one order: a wildcard has neither, and a class data archive needs both.
path=${CLASSPATH:-}
for jar in "$home"/libs/*.jar; do
  case $jar in *jmx_prometheus_javaagent*) continue ;; esac
  path=${path:+$path:}$jar
done

logs=${LOG_DIR:-$home/logs}
read -r -a heap <<< "${KAFKA_HEAP_OPTS:--Xmx256m}"
read -r -a performance <<< "${KAFKA_JVM_PERFORMANCE_OPTS:--server -XX:+UseG1GC -XX:MaxGCPauseMillis=20 -XX:InitiatingHeapOccupancyPercent=35 -XX:+ExplicitGCInvokesConcurrent}"
read -r -a log4j <<< "${KAFKA_LOG4J_OPTS:--Dlog4j2.configurationFile=$home/config/tools-log4j2.yaml}"
read -r -a jmx <<< "${KAFKA_JMX_OPTS:-}"
read -r -a more <<< "${KAFKA_OPTS:-}"
if [ ${#gc[@]} -gt 0 ]; then
  mkdir -p "$logs"
  gc=("-Xlog:gc*:file=$logs/${name:-kafka}-gc.log:time,tags:filecount=10,filesize=100M")
fi

command=("$java" "${heap[@]}" "${performance[@]}" ${gc[@]+"${gc[@]}"} ${jmx[@]+"${jmx[@]}"} -Djava.awt.headless=true
  "-Dkafka.logs.dir=$logs" "${log4j[@]}" ${more[@]+"${more[@]}"} -cp "$path" "$@")
if [ -n "$daemon" ]; then
  mkdir -p "$logs"
  nohup "${command[@]}" > "$logs/${name:-kafka}.out" 2>&1 < /dev/null &
else
  exec "${command[@]}"
fi
