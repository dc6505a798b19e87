#!/usr/bin/env bash
# Starts the node of a container, or runs the command that is given. The storage is formatted when it is new.
# Settings: server.properties in /mnt/shared/config, else what KAFKA_ variables say (KAFKA_MIN_INSYNC_RACKS is min.insync.racks; __ is _,
# ___ is -), else the server.properties beside this script. Variables win. kafka.docker.KafkaDockerWrapper of Apache Kafka reads them.
# Environment: CLUSTER_ID; KAFKA_...; what kafka-run-class.sh reads; and the folders RACKSPAN_SETTINGS, RACKSPAN_MOUNTED, RACKSPAN_SECRETS
# and RACKSPAN_DATA in place of the image's.
set -euo pipefail
if [ $# -gt 0 ]; then exec "$@"; fi

here=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd -P)
home=${here%/*}
settings=${RACKSPAN_SETTINGS:-/tmp/kafka}
mounted=${RACKSPAN_MOUNTED:-/mnt/shared/config}
secrets=${RACKSPAN_SECRETS:-/etc/kafka/secrets}
data=${RACKSPAN_DATA:-/var/lib/kafka/data}
TRIAL=Tdz3cQn2QO2BkcVmYh0f5w # the cluster id of a node that is a cluster by itself, where none is given
umask 077                    # settings may hold passwords
trap 'exit 143' TERM         # the first process of a container has no other way to end by it; the server has its own

# refuse CODE TEXT: ends with one error.
refuse() {
  echo "error: $2" >&2
  exit "$1"
}

# secret VARIABLE: the file in the folder of secrets that it names.
secret() {
  [ -r "$secrets/${!1}" ] || refuse 2 "$1 is '${!1}', and there is no readable file $secrets/${!1}. Mount it, or correct the variable."
  echo "$secrets/${!1}"
}

# value KEY: a setting, of its variable or else of the file.
value() {
  local name=KAFKA_${1^^}
  name=${name//./_}
  if [ -n "${!name+set}" ]; then
    echo "${!name}"
  elif [ -f "$settings/base/server.properties" ]; then
    sed -n "s/^[[:space:]]*${1//./\\.}[[:space:]]*[=:][[:space:]]*//p" "$settings/base/server.properties" | tail -n 1
  fi
}

# As in the official image: files by name, passwords by the name of a file.
for store in KEYSTORE TRUSTSTORE; do
  name=KAFKA_SSL_${store}_FILENAME
  if [ -n "${!name:-}" ]; then
    file=$(secret "$name")
    export "KAFKA_SSL_${store}_LOCATION=$file"
  fi
  unset "$name"
done
for password in KEYSTORE KEY TRUSTSTORE; do
  name=KAFKA_SSL_${password}_CREDENTIALS
  if [ -n "${!name:-}" ]; then
    file=$(secret "$name")
    export "KAFKA_SSL_${password}_PASSWORD=$(cat "$file")"
  fi
  unset "$name"
done

rm -rf "$settings/base"
mkdir -p "$settings/base"
for file in server.properties log4j2.yaml tools-log4j2.yaml; do
  if [ -f "$mounted/$file" ]; then cat "$mounted/$file" > "$settings/base/$file"; fi
done
if [ ! -f "$settings/base/server.properties" ] && [ -z "${KAFKA_PROCESS_ROLES:-}" ]; then
  cat "$here/server.properties" > "$settings/base/server.properties"
fi
roles=$(value process.roles | tr -d ' ')
if [ "$roles" != controller ] && [ -n "${KAFKA_ADVERTISED_LISTENERS:-}" ] && [ -z "$(value listeners)" ]; then
  KAFKA_LISTENERS=$(sed 's|://[^,]*:|://0.0.0.0:|g' <<< "$KAFKA_ADVERTISED_LISTENERS")
  export KAFKA_LISTENERS
fi
# Kafka's own default is in /tmp, which goes with the container.
if [ -z "$(value log.dirs)$(value log.dir)" ]; then export KAFKA_LOG_DIRS=$data; fi

folders=$(value log.dirs)
IFS=, read -r -a folders <<< "${folders:-$(value log.dir)},$(value metadata.log.dir)"
known=''
for folder in "${folders[@]}"; do
  folder=${folder// /}
  if [ -z "$folder" ]; then continue; fi
  if ! mkdir -p "$folder" 2> /dev/null || [ ! -w "$folder" ]; then
    refuse 1 "cannot write to $folder as user $(id -u), groups $(id -G). Give the folder or volume to that user (chown; in Kubernetes fsGroup)."
  fi
  if [ -f "$folder/meta.properties" ]; then known=$(sed -n 's/^cluster\.id=//p' "$folder/meta.properties" | tr -d '\\'); fi
done

case ",$roles," in *,broker,*) alone=yes ;; *) alone='' ;; esac
case ",$roles," in *,controller,*) ;; *) alone='' ;; esac
case $(value controller.quorum.voters) in *,*) alone='' ;; esac
if [ -z "${CLUSTER_ID:-}" ]; then
  CLUSTER_ID=${known:-${alone:+$TRIAL}}
  [ -n "$CLUSTER_ID" ] || refuse 2 "CLUSTER_ID is not set, and this node is one of several (process.roles=$roles, controller.quorum.voters=$(
    value controller.quorum.voters)): nodes of one cluster need the same id. Print one with kafka-storage.sh random-uuid and set it for all of them."
elif [ -n "$known" ] && [ "$known" != "$CLUSTER_ID" ]; then
  refuse 1 "CLUSTER_ID is $CLUSTER_ID, but the data of this node belongs to cluster $known. Set that id, or start with an empty volume."
fi
export CLUSTER_ID

# Writes the settings and formats; in a small JVM, without the agents and ports of the node.
if ! output=$(env -u JMX_PORT KAFKA_HEAP_OPTS=-Xmx256M KAFKA_OPTS='' KAFKA_LOG4J_OPTS='' KAFKA_JVM_PERFORMANCE_OPTS='-XX:+UseSerialGC -XX:TieredStopAtLevel=1' \
  "$home/bin/kafka-run-class.sh" kafka.docker.KafkaDockerWrapper setup \
  --default-configs-dir "$home/config" --mounted-configs-dir "$settings/base" --final-configs-dir "$settings" 2>&1); then
  case $known:$output in
    ?*:*"already formatted"*) output='' ;;
    *) refuse 1 "cannot prepare this node: $output" ;;
  esac
fi
if [ -n "$output" ]; then echo "$output"; fi
export KAFKA_LOG4J_OPTS=${KAFKA_LOG4J_OPTS:--Dlog4j2.configurationFile=$settings/log4j2.yaml}
exec "$home/bin/kafka-server-start.sh" "$settings/server.properties"
